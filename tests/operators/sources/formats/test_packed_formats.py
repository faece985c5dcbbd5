"""Formats that hold text in another form, and the language of a file."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from operators.sources.formats import json_stream
from operators.sources.formats.json_stream import file_objects
from operators.sources.formats.languages import (
    code_language,
    is_generated,
    prose_format,
    script_language,
)
from operators.sources.formats.notebook import notebook_text


def notebook(*cells: tuple[str, object], **more: object) -> bytes:
    made = [{"cell_type": kind, "source": source, "outputs": ["x" * 999]} for kind, source in cells]
    return json.dumps({"cells": made, "nbformat": 4, **more}).encode()


def test_prose_stays_and_code_stands_in_fences_without_outputs() -> None:
    data = notebook(
        ("markdown", ["# Title\n", "text"]),
        ("code", "print(1)"),
        ("raw", "  "),
        metadata={"kernelspec": {"language": "julia"}},
    )
    assert notebook_text(data) == "# Title\ntext\n\n```julia\nprint(1)\n```"


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{}", b"[]", b"null", b'"x"', b"[" * 200_000, b"\xff\xfe\x00", b"{nb", b"\0"),
        *(b'{"cells": 7}', b'{"cells": "abc"}', b'{"cells": {"a": 1}}', b'{"worksheets": [{}]}'),
        *(b'{"cells": [], "x": ' + b"9" * 6000 + b"}", b'{"cells": [], "x": ' + b"[" * 100_000),
    ],
)
def test_what_is_no_notebook_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a notebook|the notebook is no JSON") as refused:
        notebook_text(data)
    assert "\n" not in str(refused.value)


def test_outputs_may_have_what_json_has_not() -> None:
    assert notebook_text(notebook(("raw", "a"), outputs=[float("nan")])) == "a"


def test_cells_of_any_shape_do_no_harm() -> None:
    cells = b'[1, null, [], {}, {"source": 5}, {"source": [1, null, "a", {}]}]'
    assert notebook_text(b'{"cells": ' + cells + b"}") == "a"


@pytest.mark.parametrize("language", [["a"], "py\n```\n# Forged", "p" * 1000])
def test_a_language_that_is_no_word_is_not_taken(language: object) -> None:
    data = notebook(("code", "x"), metadata={"kernelspec": {"language": language}})
    assert notebook_text(data) == "```python\nx\n```"


def test_code_does_not_end_its_own_fence() -> None:
    assert notebook_text(notebook(("code", "```\n# Forged"))) == ("````python\n```\n# Forged\n````")


A: dict[str, Any] = {"a": 1, "deep": {"b": [1, {"c": '}]["\\'}]}}
B: dict[str, Any] = {"b": "Füße\n\u2028[{", "e": ""}


def read(text: str | bytes) -> list[Any]:
    raw = text.encode() if isinstance(text, str) else text
    found = file_objects(Path("x.json"), io.BytesIO(raw))
    return [item for _, item in found]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([A, B]),
        json.dumps([A]) + json.dumps([B]),
        json.dumps([A]) + "\n" + json.dumps([B]) + "\n",
        json.dumps([[A], [], [B]]),
        json.dumps(A) + "\n\n" + json.dumps(B) + "\n",
        json.dumps(A) + json.dumps(B),
        json.dumps([A, B], indent=2, ensure_ascii=False),
        "\ufeff" + json.dumps([A, B]).replace(", ", ",\r\n"),
    ],
    ids=["array", "pages", "pages-by-line", "slurped", "lines", "bare", "pretty", "bom-crlf"],
)
def test_every_form_gives_the_same_objects(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(text) == [A, B]
    assert read(gzip.compress(text.encode())) == [A, B]
    monkeypatch.setattr(json_stream, "CHUNK", 1)
    assert read(text) == [A, B]


@pytest.mark.parametrize("text", ["", "[[]]\n"])
def test_nothing_in_it_is_nothing(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ('{"a": }', "not JSON"),
        ('{"a": NaN}', "NaN is no JSON number"),
        ('{"a": ' + "9" * 6000 + "}", "a number has more than 4000 digits"),
        ('{"a": "no end', "does not end on its line"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_line_does_not_end_the_file(bad: str, reason: str) -> None:
    first, fault, last = read(f"{json.dumps(A)}\n{bad}\n{json.dumps(B)}\n")
    assert (first, last) == (A, B)
    assert fault.where == "x.json: line 2"
    assert reason in fault.reason
    assert fault.key is None


@pytest.mark.parametrize("cut", [1, 20])
def test_a_cut_file_gives_what_is_whole_and_says_so(cut: int) -> None:
    *found, fault = read(json.dumps([A, A])[:-cut])
    assert found == [A] * (2 if cut == 1 else 1)
    assert "ends early" in fault.reason


def test_a_cut_gzip_is_told() -> None:
    raw = gzip.compress(json.dumps([A] * 5000 + [{"n": n} for n in range(9000)]).encode())
    *_, fault = read(raw[:-100])
    assert "gzip data are damaged" in fault.reason


def test_a_huge_object_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "CHUNK", 64)
    monkeypatch.setattr(json_stream, "MAX_OBJECT", 500)
    huge = json.dumps({"x": ["y"] * 1000})
    first, fault, last = read(f"{json.dumps(A)}\n{huge}\n{json.dumps(B)}\n")
    assert (first, last) == (A, B)
    assert fault.reason == "longer than 500 characters"


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/a.py", "python"),
        ("Makefile", "make"),
        ("docker/Dockerfile.dev", "dockerfile"),
        ("requirements-dev.txt", "ini"),
        ("PAYROLL.COB", "cobol"),
    ],
)
def test_sources_scripts_and_configuration_are_code(path: str, language: str) -> None:
    assert code_language(path) == language
    assert prose_format(path) is None


@pytest.mark.parametrize(
    ("path", "format_"),
    [("README", "text"), ("a/b.md", "markdown"), ("notes.txt", "text"), ("todo.org", "org")],
)
def test_prose_is_not_code(path: str, format_: str) -> None:
    assert prose_format(path) == format_
    assert code_language(path) is None


@pytest.mark.parametrize(
    "path",
    ["photo.png", "noextension", "a.tar.gz", ".env", "a.out", "a.lock"],
)
def test_other_files_are_neither(path: str) -> None:
    assert (code_language(path), prose_format(path)) == (None, None)


def test_lock_files_and_minified_output_are_generated() -> None:
    assert is_generated("web/package-lock.json")
    assert is_generated("Cargo.lock")
    assert is_generated("static/app.min.js")
    assert not is_generated("package.json")
    assert not is_generated("lock.py")


@pytest.mark.parametrize(
    ("line", "language"),
    [
        (b"#!/bin/sh\n", "bash"),
        (b"#!/usr/bin/env -S python3.11 -u\n", "python"),
        (b"#!/opt/unknown/thing\n", None),
        (b"#!\xff\xfe\n", None),
    ],
)
def test_a_script_names_its_language_in_its_first_line(line: bytes, language: str | None) -> None:
    assert script_language(line) == language
