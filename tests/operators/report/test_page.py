""""""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from operators.evaluation.evaluation_frames import Evaluation
from operators.foundation.escape import visible
from operators.report.evaluation import report_page
from operators.report.explanation import explanation_page
from operators.report.page import Html, element, join, page

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]))


@given(TEXTS)
def test_any_text_is_shown_as_it_is_and_becomes_no_element(text: str) -> None:
    parsed = html.fragment_fromstring(element("div", text, title=text))
    assert not list(parsed)
    assert (parsed.text or "") == parsed.get("title") == visible(text)


def test_markup_stays_markup_and_text_beside_it_is_escaped() -> None:
    assert join(["<b>", Html("<b>x</b>")], ", ") == "&lt;b&gt;, <b>x</b>"


def test_a_page_may_load_nothing() -> None:
    parsed = html.document_fromstring(page("Title", []))
    (policy,) = parsed.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy.startswith("default-src 'none'")
    assert parsed.get("lang") == "en"


_QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --enable-logging=stderr "
    "--virtual-time-budget=20000 --dump-dom"
)


def rendered(page: str, directory: Path) -> tuple[html.HtmlElement, list[str]]:
    """The page after its scripts ran, and what they wrote to the console."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next((found for name in names if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("no Chromium on this machine")
    file = directory / "page.html"
    file.write_text(page, encoding="utf-8")
    command = [program, *_QUIET.split(), f"--user-data-dir={directory / 'profile'}", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if not done.stdout:
        pytest.skip(f"Chromium does not run here: {done.stderr.strip()[-200:]}")
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return html.document_fromstring(done.stdout), said


def test_hostile_content_does_nothing_in_a_browser(
    hostile_evaluation: Evaluation, hostile: str, tmp_path: Path
) -> None:
    shown = replace(hostile_evaluation, notes=(hostile,))
    page, said = rendered(report_page(shown), tmp_path)
    assert said == []
    assert "data-acted" not in page.attrib
    assert not page.findall(".//img")


def test_hostile_passages_of_an_explanation_do_nothing(
    explained: Callable[[str], dict[str, Any]], hostile: str, tmp_path: Path
) -> None:
    page, said = rendered(explanation_page(explained(hostile)), tmp_path)
    assert said == []
    assert "data-acted" not in page.attrib
    assert not page.findall(".//img")
