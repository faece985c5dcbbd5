from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from whole_scan import read_all

from operators.frames import DOCUMENTS, check
from operators.sources.protocol import (
    LONGEST_TITLE,
    METADATA_VALUE_LIMIT,
    Document,
    LazyDocument,
    ReadIssue,
    Source,
    content_hash,
    document_frame,
    metadata_json,
)

DOCUMENT = Document(
    "d", "docs", "org/app", "Title", "text", created_at=datetime(2020, 1, 2, tzinfo=UTC)
)


def test_a_document_has_the_frames_columns_in_their_order() -> None:
    assert [f.name for f in fields(Document)] == [*DOCUMENTS, "source_hash", "note", "part"]


@given(title=st.text(alphabet="ab \n…é", max_size=900))
def test_a_long_title_is_the_whole_words_of_its_start(title: str) -> None:
    document = Document("d", "docs", "org/app", title, "text")
    got = replace(document, text="other").title
    assert got == document.title
    if len(title) <= LONGEST_TITLE:
        assert got == title
    else:
        assert got is not None
        assert len(got) <= LONGEST_TITLE
        assert got[-1] == "…"
        whole = title.lstrip()
        assert whole.startswith(got[:-1])
        assert " " not in whole[:LONGEST_TITLE] or whole[len(got) - 1] in " \n"


def test_documents_become_a_frame_row_by_row() -> None:
    frame = document_frame([DOCUMENT, replace(DOCUMENT, document_id="e", title=None)])
    check(frame, DOCUMENTS, "documents")
    assert frame["document_id"].to_list() == ["d", "e"]
    assert frame["created_at"].to_list() == [datetime(2020, 1, 2, tzinfo=UTC)] * 2
    check(document_frame([]), DOCUMENTS, "documents")


def test_the_hash_changes_with_every_field_of_the_document_and_with_nothing_else() -> None:
    other = {"created_at": None, "doc_date": datetime(2021, 1, 1, tzinfo=UTC), "metadata": "{ }"}
    names = [f.name for f in fields(Document) if f.name not in ("note", "part")]
    changed = [
        replace(DOCUMENT, **{name: other.get(name, "other")})  # type: ignore[arg-type]
        for name in names
    ]
    assert len({content_hash(d) for d in [DOCUMENT, *changed]}) == len(names) + 1
    assert content_hash(DOCUMENT) == content_hash(replace(DOCUMENT, note="read oddly", part=True))


def test_a_readers_own_hash_stands_for_the_fields() -> None:
    assert content_hash(replace(DOCUMENT, source_hash="abc")) == "abc"


def test_what_is_hashed_but_not_parsed_is_parsed_on_demand() -> None:
    source = Source(
        "x/1", lambda: iter([LazyDocument(DOCUMENT.key, "h", lambda: DOCUMENT)]), None, float
    )
    assert read_all(source) == [DOCUMENT]


def test_what_a_parser_raises_is_an_issue_of_its_document_until_the_content_changes() -> None:
    def parse() -> Document:
        raise RuntimeError("x" * 1000)

    reason = f"RuntimeError: {'x' * 286}"
    assert LazyDocument(DOCUMENT.key, "h", parse).read() == ReadIssue(
        DOCUMENT.document_id, reason, key=DOCUMENT.key, content="h"
    )


def test_a_null_and_an_empty_title_are_different_versions() -> None:
    assert content_hash(replace(DOCUMENT, title=None)) != content_hash(replace(DOCUMENT, title=""))


@pytest.mark.parametrize("letter", ["x", "\u6f22", "\u00e9"])
def test_metadata_leaves_out_nulls_and_texts_and_sorts_its_keys(letter: str) -> None:
    longest = letter * (METADATA_VALUE_LIMIT - 2)
    made = metadata_json({"z": 1, "a": None, "hunk": longest + "x", "kept": longest})
    assert list(json.loads(made).items()) == [("kept", longest), ("z", 1)]


def test_metadata_holds_nothing_that_the_store_cannot() -> None:
    made = metadata_json({"a\0": ["b\ud800", {"c\0": "d\0"}], "inf": float("inf")})
    assert json.loads(made) == {"a\ufffd": ["b\ufffd", {"c\ufffd": "d\ufffd"}], "inf": None}


def test_a_fault_prints_on_one_line_without_control_characters() -> None:
    shown = str(ReadIssue("a\nb\x1b[2J\u202egnp.exe", "is\todd"))
    assert shown == "a\\nb\\x1b[2J\\u202egnp.exe: is\\todd"
