"""Formats that hold text in another form, and the language of a file."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from word_files import BODY, W, paragraph, word

from operators.sources.formats import docx, json_stream, linguist
from operators.sources.formats.arrow_messages import MAGIC, message_sizes
from operators.sources.formats.docx import read_docx
from operators.sources.formats.json_stream import file_objects
from operators.sources.formats.languages import (
    code_language,
    is_generated,
    prose_format,
    script_language,
)
from operators.sources.formats.notebook import notebook_text

CORE = (
    '<c xmlns:dcterms="http://purl.org/dc/terms/"><dcterms:created>2020-01-02T03:04:05Z'
    "</dcterms:created><dcterms:modified>2021-05-06T00:00:00Z</dcterms:modified></c>"
)


def test_paragraphs_headings_breaks_and_dates_are_read() -> None:
    runs = "<w:p><w:r><w:t>one</w:t><w:br/><w:t>two</w:t><w:tab/><w:t>three</w:t></w:r></w:p>"
    table = f"<w:tbl><w:tr><w:tc>{paragraph('cell')}</w:tc></w:tr></w:tbl>"
    body = paragraph("Guide", "Title") + paragraph("Setup", "Heading2") + paragraph("") + runs
    found = read_docx(word(BODY.format(body + table), **{"docProps/core.xml": CORE}))
    assert found.text == "# Guide\n\n## Setup\n\none\ntwo\tthree\n\ncell"
    assert found.title == "Guide"
    assert found.dates == ("2020-01-02T03:04:05Z", "2021-05-06T00:00:00Z")


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "&a;" * 10}">' for n in range(9)
)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04 cut",
        b"no zip at all",
        word("<w:p>"),
        word(BODY.format("<w:p>" * 100_000)),
        word(BOMB + "]>" + f'<w:document xmlns:w="{W}">&a8;</w:document>')[:-30],
    ],
    ids=["empty", "cut", "text", "no XML", "nested", "torn"],
)
def test_what_is_damaged_or_hostile_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"docx|XML"):
        read_docx(data)


def test_entities_are_not_expanded_and_files_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    entities = f'<!ENTITY e SYSTEM "file://{tmp_path}/secret"><!ENTITY i "{"x" * 99}">'
    document = f'<w:document xmlns:w="{W}">{paragraph("a&e;&i;b")}</w:document>'
    text = read_docx(word(f"<!DOCTYPE x [{entities}]>{document}")).text
    assert text.startswith("a")
    assert "SECRET" not in text
    assert "xx" not in text


def test_a_part_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx, "MAX_XML", 1000)
    with pytest.raises(ValueError, match="unpacks to more than"):
        read_docx(word(BODY.format(paragraph("a" * 5000))))


MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"


def test_each_text_of_nested_paragraphs_and_of_a_text_box_comes_once() -> None:
    box = f"<w:txbxContent>{paragraph('in the box')}</w:txbxContent>"
    other = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    both = f'<mc:AlternateContent xmlns:mc="{MC}">{other}</mc:AlternateContent>'
    body = f"<w:p>{both}<w:r><w:t>around it</w:t></w:r></w:p>{paragraph('after')}"
    assert read_docx(word(BODY.format(body))).text == "in the box\n\naround it\n\nafter"


def test_text_in_many_nested_paragraphs_is_not_multiplied() -> None:
    body = "<w:p>" * 240 + f"<w:t>{'a' * 100_000}</w:t>" + "</w:p>" * 240
    assert len(read_docx(word(BODY.format(body))).text) == 100_000


@pytest.mark.parametrize(
    "style", ["Heading0", "Heading7", "Heading12", "Heading123456", "Heading", "Heading1 ", "1"]
)
def test_a_heading_has_a_level_from_1_to_6(style: str) -> None:
    assert read_docx(word(BODY.format(paragraph("a", style)))).text == "a"
    assert read_docx(word(BODY.format(paragraph("a", "Heading6")))).text == "###### a"


def test_a_style_that_a_tracked_change_replaced_makes_no_heading() -> None:
    before = '<w:pPrChange><w:pPr><w:pStyle w:val="Heading1"/></w:pPr></w:pPrChange>'
    body = f"<w:p><w:pPr>{before}</w:pPr><w:r><w:t>a</w:t></w:r></w:p>"
    assert read_docx(word(BODY.format(body))).text == "a"


ONE = word(BODY.format(paragraph("text")))
MEMBER, END = ONE.index(b"PK\x01\x02"), ONE.index(b"PK\x05\x06")


def packed(method: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("word/document.xml", " " * 3_000_000)
    return file.getvalue()


def patched(at: int, new: bytes) -> bytes:
    return ONE[:at] + new + ONE[at + len(new) :]


HOSTILE = {
    "packed by bzip2": packed(zipfile.ZIP_BZIP2),
    "packed by LZMA": packed(zipfile.ZIP_LZMA),
    "deep": word(BODY.format("<w:p>" * 300 + "</w:p>" * 300)),
    "deep elsewhere": word("<a>" * 1_000_000),
    "encrypted": patched(MEMBER + 8, b"\1"),
    "unknown method": patched(MEMBER + 10, b"\x63"),
    "wrong checksum": patched(MEMBER + 16, b"\0\0\0\0"),
    "size says less": patched(MEMBER + 24, b"\x05\0\0\0"),
    "offset beyond the end": patched(MEMBER + 42, b"\xff\xff\xff\x7f"),
    "ZIP64 as offset": patched(MEMBER + 42, b"\xff" * 4),
    "directory beyond the end": patched(END + 16, b"\xff\xff\xff\x7f"),
    "more entries than there are": patched(END + 12, b"\xff\xff\xff\x7f"),
    "damaged data": patched(50, b"\xff" * 20),
    "cut": ONE[: len(ONE) // 2],
    "a ZIP in a ZIP": word("", **{"word/document.xml/word.docx": ONE.hex()}),
    "another path": ONE.replace(b"word/document.xml", b"../../../etc/pass"),
    "null in the name": ONE.replace(b"word/document.xml", b"word/document\0xml"),
    "UTF-7": word('<?xml version="1.0" encoding="utf-7"?><a/>'),
    "not UTF-8": word("<a>").replace(b"<a>", b"<\xff>"),
    "attribute of entities": word(BOMB + ']><a b="&a8;&a8;"/>'),
}

LYING = {
    "size says more": patched(MEMBER + 24, b"\xff\xff\xff\x7f"),
    "packed size says more": patched(MEMBER + 20, b"\xff\xff\xff\x7f"),
    "ZIP64 without its fields": patched(MEMBER + 20, b"\xff" * 8),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_archive_is_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a readable .docx: .") as refused:
        read_docx(data)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("data", LYING.values(), ids=LYING)
def test_a_size_that_the_directory_invents_changes_nothing(data: bytes) -> None:
    assert read_docx(data).text == "text"


def test_of_two_parts_with_one_name_the_last_counts_as_in_other_zip_readers() -> None:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")
        for text in ("first", "last"):
            archive.writestr("word/document.xml", BODY.format(paragraph(text)))
    assert read_docx(file.getvalue()).text == "last"


@given(st.integers(0, len(ONE) - 1), st.binary(min_size=1, max_size=4))
def test_whatever_byte_is_damaged_there_is_a_text_or_a_refusal(at: int, new: bytes) -> None:
    with contextlib.suppress(ValueError):
        read_docx(patched(at, new))


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


def test_an_old_notebook_has_worksheets() -> None:
    cells = [{"cell_type": "code", "input": ["a = 1"]}]
    data = json.dumps({"worksheets": [{"cells": cells}]}).encode()
    assert notebook_text(data) == "```python\na = 1\n```"


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{}", b"[]", b"null", b'"x"', b"[" * 200_000, b"\xff\xfe\x00", b"{nb", b"\0"),
        *(b'{"cells": 7}', b'{"cells": "abc"}', b'{"cells": {"a": 1}}', b'{"worksheets": {}}'),
        *(b'{"cells": [], "x": ' + b"9" * 6000 + b"}", b'{"cells": [], "x": ' + b"[" * 100_000),
        *(b'{"cells": NaN}', b'{"cells": nan}', b'{"cells": [', b"<html>"),
        *(b"\xef\xbb\xbf", b"PK\x03\x04"),
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


@pytest.mark.parametrize("sheets", ['[{"cells": 7}]', '[3, {"cells": {"a": 1}}, null]'])
def test_worksheets_of_any_shape_do_no_harm(sheets: str) -> None:
    assert notebook_text(f'{{"worksheets": {sheets}}}'.encode()) == ""


@pytest.mark.parametrize("language", [["a"], {"a": 1}, "py\n```\n# Forged", "p" * 1000, "a b", 7])
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


def sizes(path: Path) -> list[tuple[int, int]]:
    with pa.memory_map(str(path)) as mapped:
        mapped.seek(len(MAGIC))
        return list(message_sizes(mapped))


def written(path: Path, compression: str | None) -> Path:
    names = pa.array(["y" * 100_000, "z"] * 10).dictionary_encode()
    table = pa.table({"text": ["x" * 1_000_000] * 20, "name": names})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(str(path), table.schema, options=options) as file:
        file.write_table(table)
    return path


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_a_message_has_the_size_to_which_its_buffers_unfold(
    compression: str | None, tmp_path: Path
) -> None:
    told = sizes(written(tmp_path / "x.arrow", compression))
    dictionary, batch = told[-2:]
    assert 100_000 < dictionary[1] < 101_000
    assert 20_000_000 < batch[1] < 20_001_000
    assert (batch[0] < 100_000) == (compression is not None)


def test_damaged_messages_are_a_value_error_or_one_of_arrow(tmp_path: Path) -> None:
    whole = written(tmp_path / "x.arrow", "zstd").read_bytes()
    chance = random.Random(3)
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(chance.randint(1, 20)):
            content[chance.randrange(8, len(content))] = chance.randrange(256)
        (tmp_path / "damaged").write_bytes(content)
        try:
            sizes(tmp_path / "damaged")
        except (ValueError, pa.ArrowException, OSError):
            continue


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/a.py", "python"),
        ("a/b/App.TSX", "typescript"),
        ("lib.hpp", "cpp"),
        ("Makefile", "make"),
        ("docker/Dockerfile.dev", "dockerfile"),
        ("CMakeLists.txt", "cmake"),
        ("requirements-dev.txt", "ini"),
        ("deploy/values.yaml", "yaml"),
        ("run.sh", "bash"),
        ("schema.sql", "sql"),
        ("vector.control", "ini"),
        (".editorconfig", "ini"),
        ("deploy/.env.example", "ini"),
        ("src/.clang-format", "yaml"),
        (".gitattributes", "ini"),
        ("app.service", "ini"),
        ("gui.pyw", "python"),
        ("Form.VB", "vb"),
        ("Index.cshtml", "razor"),
        ("show.html.erb", "erb"),
        ("schema.prisma", "prisma"),
        ("main.tf", "hcl"),
        ("PAYROLL.COB", "cobol"),
    ],
)
def test_sources_scripts_and_configuration_are_code(path: str, language: str) -> None:
    assert code_language(path) == language
    assert prose_format(path) is None


@pytest.mark.parametrize(
    ("path", "format_"),
    [
        ("README", "text"),
        ("a/b.md", "markdown"),
        ("c.rst", "rst"),
        ("notes.txt", "text"),
        ("a.qmd", "markdown"),
        ("a.Rmd", "markdown"),
        ("todo.org", "org"),
    ],
)
def test_prose_is_not_code(path: str, format_: str) -> None:
    assert prose_format(path) == format_
    assert code_language(path) is None


@pytest.mark.parametrize(
    "path",
    [
        "photo.png",
        "data.bin",
        "noextension",
        "a.tar.gz",
        ".env",
        "prod.env",
        "key.sig",
        "a.out",
        "a.lock",
        "man.1",
        "de.po",
    ],
)
def test_other_files_are_neither(path: str) -> None:
    assert (code_language(path), prose_format(path)) == (None, None)


def test_an_ending_has_one_kind_and_the_large_table_takes_none_from_the_small_one() -> None:
    tables = (linguist.CODE, linguist.PROSE)
    endings = [ending for table in tables for words in table.values() for ending in words.split()]
    endings += linguist.OWN.split()
    assert len(endings) == len(set(endings)) > 800
    for table in tables:
        assert list(table) == sorted(table)
        assert all(words.split() == sorted(words.split()) for words in table.values())
    assert code_language("a.h") == "c"
    assert code_language("a.ts") == "typescript"


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
        (b"#! /usr/bin/perl -w\n", "perl"),
        (b"#!/opt/unknown/thing\n", None),
        (b"import os\n", None),
        (b"#!\xff\xfe\n", None),
    ],
)
def test_a_script_names_its_language_in_its_first_line(line: bytes, language: str | None) -> None:
    assert script_language(line) == language
