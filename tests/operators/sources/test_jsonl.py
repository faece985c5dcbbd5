from __future__ import annotations

import gzip
import io
import json
import os
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from operators.sources import jsonl
from operators.sources.jsonl import (
    SourceError,
    documents_of,
    documents_source,
    json_rows,
    parse_moment,
)
from operators.sources.protocol import Document, Item, LazyDocument, ReadIssue, parsed
from tests.support.whole_scan import read_all


def line(**fields: Any) -> bytes:
    return json.dumps({"doc_id": "d", "corpus": "docs", "text": "t", **fields}).encode() + b"\n"


def read(*lines: bytes) -> list[Item]:
    return list(parsed(documents_of(json_rows(io.BytesIO(b"".join(lines))))))


def document(**fields: Any) -> Document:
    [item] = read(line(**fields))
    assert isinstance(item, Document), item
    return item


def fault(raw: bytes) -> ReadIssue:
    [item] = read(raw)
    assert isinstance(item, ReadIssue), item
    return item


def test_every_key_of_the_generic_form_has_its_column() -> None:
    got = document(
        title="T", path="a/b.md", url="https://x/y", version="1.10", repo="o/r", project="p",
        created_at="2020-03-01T01:30:00+02:00", topic_key="topic", language="en", state="open",
        metadata={"k": 1}, kind="page", pr_number=7,
    )  # fmt: skip
    moment = datetime(2020, 2, 29, 23, 30, tzinfo=UTC)
    assert got == Document(
        document_id="d", corpus="docs", repo="o/r", title="T", text="t", path="a/b.md",
        uri="https://x/y", language="en", state="open", created_at=moment, doc_date=moment,
        date_source="explicit", version="1.10", lineage_id="topic", source_hash=got.source_hash,
        metadata='{"k": 1, "kind": "page", "pr_number": 7, "project": "p"}',
        note="unknown fields, kept in the metadata: 'kind'; 'pr_number'",
    )  # fmt: skip


def test_comments_of_markdown_and_pictures_as_base64_are_no_text() -> None:
    text = "<!-- a\nb --> ![c](data:image/png;base64,AAAA)"
    assert document(text=text, path="a.md").text == "\n ![c]()"
    assert document(text=text, path=None, language="markdown").text == "\n ![c]()"
    assert document(text=text, path=None, language=None).text == "<!-- a\nb --> ![c]()"


def test_a_line_counts_as_changed_by_its_values_and_the_rules_not_by_the_order_of_its_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def content(raw: bytes) -> str | None:
        [item] = documents_of(json_rows(io.BytesIO(raw)))
        return item.content

    one = content(line(title="T", metadata={"a": 1, "b": [2]}))
    assert content(line(metadata={"b": [2], "a": 1}, title="T").replace(b": ", b":")) == one
    others = [{"title": "U"}, {"metadata": {"a": 1, "b": ["2"]}}, {"metadata": {"a": True}}]
    assert len({one, *(content(line(**{"title": "T", **more})) for more in others)}) == 4
    monkeypatch.setattr(jsonl, "READER", "documents/next")
    assert content(line(title="T", metadata={"a": 1, "b": [2]})) != one


def test_a_project_names_the_repo_where_there_is_none() -> None:
    got = document(project="secp256k1")
    assert (got.repo, got.metadata) == ("secp256k1", "{}")


def test_the_language_of_code_is_told_by_its_path() -> None:
    assert document(corpus="code", path="a.rs").language == "rust"
    assert document(corpus="code").language is None
    assert document(corpus="docs", path="a.rs").language is None


def test_nul_and_lone_surrogates_and_bad_bytes_are_replaced() -> None:
    raw = (
        b'{"doc_id":"d\\u0000","corpus":"docs","text":"a\\u0000b\\ud800c\xff","title":"\\udfff"}\n'
    )
    [got] = read(raw)
    assert (got.document_id, got.text, got.title) == ("d\ufffd", "a\ufffdb\ufffdc\ufffd", "\ufffd")
    assert document(text="\U0001f600").text == "\U0001f600"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"{broken\n", "not JSON"),
        (b"[" * 100_000 + b"\n", "not JSON"),
        (line(doc_id=None), "doc_id is missing"),
        (line(corpus="No Corpus"), "corpus 'No Corpus'"),
        (line(metadata="{}"), "metadata is a string, not an object"),
        (line(score=float("nan")), "NaN is no JSON number"),
        (b'{"doc_id":"d","corpus":"docs","text":"t","x":' + b"9" * 5000 + b"}\n", "4000 digits"),
        (line(pr_number="../../evil"), "pr_number is a string, not a whole number"),
        (b'{"a":' * 100_000 + b"\n", "not JSON: nested too deeply"),
        (b"\x00\x00\n", "not JSON"),
        (json.dumps({"doc_id": "d"}).encode("utf-16") + b"\n", "not JSON"),
    ],
)
def test_a_bad_line_is_a_fault_with_its_reason(raw: bytes, reason: str) -> None:
    found = fault(raw)
    assert found.where == "line 1"
    assert found.failed
    assert reason in found.reason


@pytest.mark.parametrize(
    ("more", "metadata"),
    [
        (b'"pr_number": null', "{}"),
        (b'"x": 1e999, "y": [-1e999]', '{"x": null, "y": [null]}'),
        (b'"a\\u0000b": 1, "": 2', '{"": 2, "a\ufffdb": 1}'),
        (b'"__proto__": {"x": 1}', '{"__proto__": {"x": 1}}'),
        (b'"x": "\\ud800", "x": 2', '{"x": 2}'),
        (b'"x": ' + b"[" * 900 + b"]" * 900, "{}"),
    ],
    ids=range(6),
)
def test_a_strange_value_is_kept_as_what_the_store_can_hold(more: bytes, metadata: str) -> None:
    [item] = read(line()[:-2] + b", " + more + b"}\n")
    assert item.metadata == metadata


def test_reading_goes_on_after_a_bad_line_and_counts_blank_ones() -> None:
    got = read(line(), b"\n", b"{\n", line(doc_id="e"))
    assert [getattr(i, "document_id", None) or i.where for i in got] == ["d", "line 3", "e"]  # type: ignore[union-attr]


def test_a_fault_of_a_known_document_names_it() -> None:
    assert fault(line(text=3, repo="o/r")).key == ("docs", "o/r", "d")
    assert fault(line(doc_id=None)).key is None


def test_the_first_of_two_documents_with_one_name_counts() -> None:
    first, second, elsewhere = read(line(text="1"), line(text="2"), line(text="3", repo="o/r"))
    assert isinstance(first, Document)
    assert second.reason == "doc_id 'd' was given before"
    assert isinstance(elsewhere, Document)


def test_gzip_is_told_by_its_content(tmp_path: Path) -> None:
    file = tmp_path / "any.name"
    file.write_bytes(gzip.compress(line()) + gzip.compress(line(doc_id="e")))
    source = documents_source(file)
    assert [type(item) for item in read_all(source)] == [Document, Document]
    assert source.fraction() == 1.0


def test_a_cut_gzip_gives_what_came_before_and_a_fault_without_a_key() -> None:
    body = b"".join(line(doc_id=str(n), text=os.urandom(200).hex()) for n in range(500))
    got = list(parsed(documents_of(json_rows(io.BytesIO(gzip.compress(body)[:-5000])))))
    assert len(got) > 100
    assert all(isinstance(item, Document) for item in got[:-1])
    assert isinstance(got[-1], ReadIssue)
    assert "damaged or end early" in got[-1].reason
    assert got[-1].key is None


def test_a_byte_order_mark_and_a_missing_last_newline_do_no_harm() -> None:
    got = read(b"\xef\xbb\xbf" + line(), line(doc_id="e")[:-1])
    assert [type(item) for item in got] == [Document] * 2


def test_an_endless_line_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE", 100)
    long, after = read(line(text="x" * 1000), line(doc_id="e"))
    assert long.reason == "longer than 100 bytes"
    assert after.document_id == "e"


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "big.jsonl.gz"
    with gzip.open(file, "wb", compresslevel=1) as out:
        for number in range(800):
            out.write(line(doc_id=str(number), text="word " * 4_000))
    tracemalloc.start()
    lazy = (item for item in documents_source(file).scan() if isinstance(item, LazyDocument))
    assert sum(isinstance(item.read(), Document) for item in lazy) == 800
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8e6  # of 16 MB of text


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist; give a JSONL file"):
        documents_source(tmp_path / "none.jsonl")
    with pytest.raises(SourceError, match="is not a file"):
        documents_source(tmp_path)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2020-01-02T03:04:05Z", datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2020", datetime(2020, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_moment_without_a_zone_is_utc(text: str, moment: datetime) -> None:
    assert parse_moment(text) == moment


def test_an_unknown_field_is_noted_once_with_the_one_that_was_meant() -> None:
    lines = [
        {"doc_id": n, "corpus": "docs", "text": "x", "titel": "A", "team": "core"} for n in "abc"
    ]
    lines[1]["team2"] = "x"
    items = read("\n".join(map(json.dumps, lines)).encode())
    notes = [item.note for item in items if isinstance(item, Document)]
    assert notes == [
        "unknown fields, kept in the metadata: 'team'; 'titel', did you mean 'title'?",
        "unknown fields, kept in the metadata: 'team2'",
        None,
    ]


def test_a_file_with_a_new_field_in_every_line_notes_a_few() -> None:
    lines = [{"doc_id": str(n), "corpus": "docs", "text": "x", f"f{n}": 1} for n in range(100)]
    items = read("\n".join(map(json.dumps, lines)).encode())
    assert sum(isinstance(item, Document) and item.note is not None for item in items) == 20
