"""Items of a source, findings among them, and what any reader keeps to."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.errors import UnknownName
from operators.sources.jsonl import SourceError
from operators.sources.protocol import (
    LONGEST_TITLE,
    METADATA_VALUE_LIMIT,
    Document,
    LazyDocument,
    ReadIssue,
    content_hash,
    metadata_json,
)
from operators.sources.reader import named_reader, reader_source
from tests.support.whole_scan import read_all

DOCUMENT = Document(
    "d", "docs", "org/app", "Title", "text", created_at=datetime(2020, 1, 2, tzinfo=UTC)
)


@given(title=st.text(alphabet="ab \n…é", max_size=900))
def test_a_long_title_is_the_whole_words_of_its_start(title: str) -> None:
    document = Document("d", "docs", "org/app", title, "text")
    got = replace(document, text="other").title
    assert got == document.title
    if len(title) <= LONGEST_TITLE:
        assert got == title
    else:
        assert len(got) <= LONGEST_TITLE
        assert got[-1] == "…"
        whole = title.lstrip()
        assert whole.startswith(got[:-1])
        assert " " not in whole[:LONGEST_TITLE] or whole[len(got) - 1] in " \n"


def test_the_hash_changes_with_every_field_of_the_document_and_with_nothing_else() -> None:
    other = {"created_at": None, "doc_date": datetime(2021, 1, 1, tzinfo=UTC), "metadata": "{ }"}
    names = [f.name for f in fields(Document) if f.name != "note"]
    changed = [
        replace(DOCUMENT, **{name: other.get(name, "other")})  # type: ignore[arg-type]
        for name in names
    ]
    assert len({content_hash(d) for d in [DOCUMENT, *changed]}) == len(names) + 1
    assert content_hash(DOCUMENT) == content_hash(replace(DOCUMENT, note="read oddly"))


def test_a_readers_own_hash_stands_for_the_fields() -> None:
    assert content_hash(replace(DOCUMENT, source_hash="abc")) == "abc"


def test_what_a_parser_raises_is_an_issue_of_its_document_until_the_content_changes() -> None:
    def parse() -> Document:
        raise RuntimeError("x" * 1000)

    reason = f"RuntimeError: {'x' * 286}"
    assert LazyDocument(DOCUMENT.key, "h", parse).read() == ReadIssue(
        DOCUMENT.document_id, reason, key=DOCUMENT.key, content="h"
    )


def test_metadata_leaves_out_nulls_and_texts_and_sorts_its_keys() -> None:
    longest = "\u6f22" * (METADATA_VALUE_LIMIT - 2)
    made = metadata_json({"z": 1, "a": None, "hunk": longest + "x", "kept": longest})
    assert list(json.loads(made).items()) == [("kept", longest), ("z", 1)]


def test_metadata_holds_nothing_that_the_store_cannot() -> None:
    made = metadata_json({"a\0": ["b\ud800", {"c\0": "d\0"}], "inf": float("inf")})
    assert json.loads(made) == {"a\ufffd": ["b\ufffd", {"c\ufffd": "d\ufffd"}], "inf": None}


def test_a_fault_prints_on_one_line_without_control_characters() -> None:
    shown = str(ReadIssue("a\nb\x1b[2J\u202egnp.exe", "is\todd"))
    assert shown == "a\\nb\\x1b[2J\\u202egnp.exe: is\\todd"


ROW = {"corpus": "docs", "doc_id": "a", "text": "Words.", "created_at": date(2026, 3, 1)}


class Pages:
    def __init__(self, *rows: Any, broken: str = "") -> None:
        self.rows, self.broken = rows, broken

    def scan(self) -> Iterator[Any]:
        yield from self.rows
        if self.broken:
            raise RuntimeError(self.broken)


def test_a_mapping_becomes_a_document_and_what_is_none_becomes_an_issue_with_its_place() -> None:
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    rows = [
        ROW,
        {**ROW, "doc_id": "b", "created_at": moment},
        ROW,
        7,
        {**ROW, "doc_id": "d", "text": b"x"},
    ]
    rows.append({**ROW, "doc_id": "c", "owner": {1, 2}})
    first, second, *issues = read_all(reader_source(Pages(*rows)))
    assert (first.created_at, first.text) == (datetime(2026, 3, 1, tzinfo=UTC), "Words.")
    assert second.created_at == moment
    assert [str(issue) for issue in issues if isinstance(issue, ReadIssue)] == [
        "document 3: doc_id 'a' was given before",
        "document 4: not a JSON object but a number",
        "document 5: text is a bytes",
        "document 6: metadata: Object of type set is not JSON serializable",
    ]


def test_a_source_is_whole_only_where_it_says_what_it_fills_alone() -> None:
    plain = reader_source(Pages())
    assert (plain.reader, plain.scopes, plain.whole) == ("own_pages/1", None, False)
    filled = Pages()
    filled.scopes, filled.name, filled.version = [("docs", "r")], "tickets", 2  # type: ignore[attr-defined]
    source = reader_source(filled)
    assert (source.reader, source.scopes, source.whole) == (
        "own_tickets/2",
        (("docs", "r"),),
        True,
    )


def test_what_is_no_reader_or_breaks_is_one_line() -> None:
    with pytest.raises(SourceError, match=r"int is no reader: it has no scan\(\)"):
        reader_source(7)
    scan = reader_source(Pages(ROW, broken="the file ends")).scan()
    assert isinstance(next(scan), Document)
    with pytest.raises(SourceError, match="pages: RuntimeError: the file ends"):
        next(scan)
    for name, value, said in (("name", "A b", "lower-case"), ("scopes", ["x"], "are pairs")):
        pages = Pages()
        setattr(pages, name, value)
        with pytest.raises(SourceError, match=said):
            reader_source(pages)


def test_arguments_of_a_named_reader_go_by_place_or_by_name() -> None:
    sys.modules["own_pages"] = sys.modules[Pages.__module__]
    scan = named_reader("python:own_pages:Pages", ["broken=x", "a=b"]).scan()
    assert str(next(scan)) == "document 1: not a JSON object but a string"
    with pytest.raises(SourceError, match="RuntimeError: x"):
        next(scan)
    with pytest.raises(UnknownName, match="unknown source 'pages'"):
        named_reader("pages", [])
