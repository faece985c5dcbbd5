"""What is told of a collection, its versions and its indexes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl

from operators.postgres.inspect.status import (
    LONGEST_REASON,
    TOP_REASONS,
    UNREAD,
    sources,
    status,
    unread,
)
from operators.postgres.store import Store
from operators.postgres.write.document_writer import write_documents
from operators.postgres.write.ingestion_runs import begin_run
from operators.postgres.write.ledger import record_failed_version, record_failure


def test_the_most_frequent_reasons_of_failures_are_told_with_their_counts(store: Store) -> None:
    for n, reason in enumerate(["broken"] * 3 + ["late"] * 2 + ["a", "b", "c"]):
        record_failure(store, "docs", "", f"d{n}", reason)
    record_failure(store, "wiki", "", "w", "x" * 500)
    frame = status(store)
    assert frame["failed"].to_list() == [8, 1]
    assert frame["reasons"][0].to_list() == ["3 x broken", "2 x late", "1 x a"]
    assert len(frame["reasons"][0]) == TOP_REASONS
    assert frame["reasons"][1].to_list() == ["1 x " + "x" * LONGEST_REASON]


def test_a_source_of_a_repository_with_a_space_in_its_name_is_told_within_filters(
    store: Store, filling: Any
) -> None:
    repos = ["My docs", "hidden", "org/app"]
    filling.write(store, [{"corpus": "docs", "repo": one, "document_id": "d"} for one in repos])
    for named in ("folder/1 My docs", "folder/1 hidden", "github/1 hidden org/app"):
        begin_run(store, named, ["docs"])
    limited = store.showing({"docs": {"repos": ["My docs", "org/app"]}})
    assert sources(limited)["source"].to_list() == ["folder/1 My docs", "github/1 org/app"]


def test_documents_without_text_and_locked_ones_are_told_apart_from_failed_ones(
    store: Store, filling: Any
) -> None:
    for n, state in enumerate(["failed", "no_text", "no_text", "encrypted"]):
        record_failure(store, "docs", "", f"d{n}", "its reason", state=state)
    filling.write(store, [{"corpus": "docs", "document_id": "good"}])
    record_failed_version(store, "docs", "", "good", "its new reason", None)
    states = ["indexed", "empty", "failed", "no_text", "encrypted", "outdated"]
    assert status(store).select(states).rows() == [(1, 0, 1, 2, 1, 1)]
    assert status(store)["reasons"][0].to_list() == ["4 x its reason", "1 x its new reason"]
    assert status(store)["notes"][0].to_list() == []


def test_what_was_not_read_is_named_with_its_reason(store: Store, filling: Any) -> None:
    filling.write(store, [{"corpus": "docs", "document_id": name} for name in ("good", "old")])
    record_failed_version(store, "docs", "", "old", "its new reason", None)
    for repo, name, state in (("b", "x", "failed"), ("a", "y", "no_text"), ("b", "a", "encrypted")):
        record_failure(store, "docs", repo, name, "why", state=state)
    record_failure(store, "code", "", "z", "broken")
    found = unread(store)
    assert found.schema == UNREAD
    assert found.rows() == [
        ("code", "", "z", "failed", "broken"),
        ("docs", "", "old", "outdated", "its new reason"),
        ("docs", "a", "y", "no_text", "why"),
        ("docs", "b", "a", "encrypted", "why"),
        ("docs", "b", "x", "failed", "why"),
    ]


def test_notes_on_how_documents_were_read_are_told_with_their_counts(
    store: Store, filling: Any
) -> None:
    chunks = filling.chunks([{"document_id": f"d{n}"} for n in range(4)])
    notes = pl.Series("note", ["cut by lines", "cut by lines", "a page is missing", None])
    write_documents(store, filling.documents(chunks).with_columns(notes), chunks)
    [row] = status(store).select("notes", "reasons", "indexed").rows()
    assert row == (["2 x cut by lines", "1 x a page is missing"], [], 4)


def test_the_time_of_a_copy_is_no_date_of_a_document(store: Store, filling: Any) -> None:
    day = datetime(2020, 1, 1, tzinfo=UTC)
    copied = {"date_source": "mtime", "doc_date": datetime(2026, 1, 1, tzinfo=UTC)}
    named = {"date_source": "name", "doc_date": day}
    rows = [{"corpus": "docs", "document_id": "named", **named}]
    rows += [{"corpus": corpus, "document_id": "copied", **copied} for corpus in ("docs", "wiki")]
    filling.write(store, rows)
    assert status(store).select("oldest", "newest").rows() == [(day, day), (None, None)]
