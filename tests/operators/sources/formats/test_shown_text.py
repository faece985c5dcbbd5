"""What a reader does not see is no text: comments, and pictures written as base64."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.sources.formats.notebook import notebook_text
from operators.sources.formats.shown_text import shown_text

DATA = "iVBORw0KGgo" * 60
PICTURE = f"data:image/png;base64,{DATA}"


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        ("markdown", f"![mast]({PICTURE}) up", "![mast]() up"),
        ("markdown", f'<img src="{PICTURE}" alt="mast">', '<img src="" alt="mast">'),
        ("markdown", f"![a](data:image/png;name=a.png;base64,{DATA})", "![a]()"),
        ("rst", f".. image:: {PICTURE}\n   :alt: mast", ".. image:: \n   :alt: mast"),
        ("asciidoc", f"image::{PICTURE}[mast]", "image::[mast]"),
        ("markdown", f"```css\n{PICTURE}\n```\n", "```css\ndata:image/png;base64,\n```\n"),
    ],
)
def test_of_a_picture_as_base64_its_description_stays(kind: str, text: str, shown: str) -> None:
    assert shown_text(text, kind) == shown


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("markdown", "`data:image/png;base64,AAAA` is a picture"),
        ("markdown", "```\ndata:image/png;base64,AAAA\n```\n"),
        ("markdown", "metadata:image/png;base64,AAAA and data: a/b, c"),
        ("javascript", 'const pixel = "data:image/gif;base64,R0lGODlhAQABAIAAAAUEBAAA"'),
    ],
)
def test_a_short_address_in_code_and_an_example_stay(kind: str, text: str) -> None:
    assert shown_text(text, kind) == text


@pytest.mark.parametrize(
    ("kind", "path", "text", "shown"),
    [
        ("markdown", "", "<!-- a\n\nb -->\n\nc", "\n\n\n\nc"),
        ("markdown", "", "a <!-- b\nc --> d", "a \n d"),
        ("markdown", "", "a\n\n<!-- b\n\n# c\n", "a\n\n\n\n\n"),
        ("markdown", "", "[//]: # (a)\n\n[comment]: <> (b\nc)\n[_]: # 'd'\n", "\n\n\n\n\n"),
        ("markdown", "a.mdx", "{/* a\nb */}\n\n# c {/* d */}", "\n\n\n# c "),
        ("rst", "", ".. a\n   b\n\n   c\n\nd", "\n\n\n\n\nd"),
        ("rst", "", "..\n   a\n\n.. note::\n\n   b\n   .. c\n", "\n\n\n.. note::\n\n   b\n\n"),
        ("asciidoc", "", "// a\n////\nb\n////\nc", "\n\n\n\nc"),
    ],
)
def test_comments_are_no_text_and_lines_keep_their_places(
    kind: str, path: str, text: str, shown: str
) -> None:
    assert shown_text(text, kind, path) == shown


@pytest.mark.parametrize(
    ("kind", "path", "text"),
    [
        ("markdown", "", "`<!-- a -->` and ``<!-- ` -->``"),
        ("markdown", "", "a:\n\n    <!-- b -->\n\n- c\n\n  ~~~\n  <!-- d -->\n  ~~~\n"),
        ("markdown", "", "\\<!-- a --> and <!-- never closed\n\nb"),
        (
            "rst",
            "",
            "a::\n\n   .. b\n\n.. code:: rst\n\n   .. c\n\n.. _d: e\n.. [1] f\n.. |g| image:: h\n",
        ),
        ("asciidoc", "", "----\n// a\n----\nhttp://b\n"),
        ("wikitext", "", "<nowiki><!-- a --></nowiki>"),
        ("html", "", "<!-- in code -->"),
    ],
)
def test_a_comment_in_code_is_text(kind: str, path: str, text: str) -> None:
    assert shown_text(text, kind, path) == text


@given(
    st.text(alphabet="<!->`~[]:#(/ *{}\n.ad\r", max_size=120),
    st.sampled_from(["markdown", "rst", "asciidoc", "wikitext", "python"]),
    st.sampled_from(["", "a.mdx"]),
)
def test_any_text_keeps_its_lines(text: str, kind: str, path: str) -> None:
    shown = shown_text(f"{text}<!-- {PICTURE}", kind, path)
    assert shown.count("\n") == text.count("\n")


@pytest.mark.parametrize("kind", ["markdown", "rst"])
@pytest.mark.parametrize(
    "hostile",
    [
        "<!--\n" * 100_000, '[a]: # "' * 50_000, "`<!--" * 100_000, "(data:a/b," * 50_000,
        "{/*" * 100_000,
    ],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_a_hostile_text_costs_no_more_than_its_length(hostile: str, kind: str) -> None:
    began = time.process_time()
    shown_text(hostile, kind, "a.mdx")
    shown_text(hostile, kind)
    assert time.process_time() - began < 5


def test_a_notebook_is_read_as_it_is_shown() -> None:
    cells = [
        {"cell_type": "markdown", "source": [f"![mast]({PICTURE})\n", "<!-- hidden"]},
        {"cell_type": "code", "source": f"show('{PICTURE}')  # <!-- kept -->"},
    ]
    text = notebook_text(json.dumps({"cells": cells}).encode())
    code = "```python\nshow('data:image/png;base64,')  # <!-- kept -->\n```"
    assert text == f"![mast]()\n\n\n{code}"
