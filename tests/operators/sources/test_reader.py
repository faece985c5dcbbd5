import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pytest

from operators.errors import UnknownName
from operators.sources.jsonl import SourceError
from operators.sources.protocol import Document, ReadIssue
from operators.sources.reader import named_reader, reader_source

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
    first, second, *issues = reader_source(Pages(*rows)).scan()
    assert isinstance(first, Document)
    assert isinstance(second, Document)
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
    with pytest.raises(SourceError, match=r"int is no reader: it lacks scan\(\)"):
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
