from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from operators.sources.formats import json_stream
from operators.sources.formats.json_stream import file_objects

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


@pytest.mark.parametrize("text", ["", " \n", "[]", "[][]", "[[]]\n"])
def test_nothing_in_it_is_nothing(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ('{"a": }', "not JSON"),
        ('{"a": NaN}', "NaN is no JSON number"),
        ('{"a": ' + "9" * 6000 + "}", "a number has more than 4000 digits"),
        ('{"number": 1e5e5}', "not JSON"),
        ('{"a": -Infinity}', "-Infinity is no JSON number"),
        ('{"a": "\\x"}', "not JSON"),
        ("{'a': 1}", "not JSON"),
        ("null", "not a JSON object"),
        ('{"a": "no end', "does not end on its line"),
        ('"text"', "not a JSON object"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_line_does_not_end_the_file(bad: str, reason: str) -> None:
    first, fault, last = read(f"{json.dumps(A)}\n{bad}\n{json.dumps(B)}\n")
    assert (first, last) == (A, B)
    assert fault.where == "x.json: line 2"
    assert reason in fault.reason
    assert fault.key is None


@pytest.mark.parametrize("cut", [1, 5, 20, 34])
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
