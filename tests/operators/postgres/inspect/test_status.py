"""What is told of a collection, its versions and its indexes."""

from __future__ import annotations

from datetime import UTC, datetime
from math import cos, sin
from typing import Any

import polars as pl
import pytest
from vector_indexes import build_vector_indexes

from operators.errors import CrosscorpusError, UnknownName
from operators.postgres.inspect.document_homes import (
    count_documents,
    document_homes,
    document_titles,
    ids_like,
)
from operators.postgres.inspect.index_recall import index_recall, sample_text
from operators.postgres.inspect.status import (
    LONGEST_REASON,
    TOP_REASONS,
    UNREAD,
    sources,
    status,
    unread,
)
from operators.postgres.inspect.version_history import diff_versions, list_versions
from operators.postgres.inspect.version_topics import MEMBERS, TOPICS, lineage_named, topics
from operators.postgres.store import Store
from operators.postgres.write.document_writer import write_documents
from operators.postgres.write.ingestion_runs import COUNTS, begin_run, end_run, meet_corpus
from operators.postgres.write.ledger import record_failed_version, record_failure

NOTHING = dict.fromkeys(COUNTS, 0)


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
    limited = store.limited({"docs": {"repos": ["My docs", "org/app"]}})
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


def test_the_oldest_and_the_newest_date_are_the_documents_own_before_the_creation(
    store: Store, filling: Any
) -> None:
    first, second, third = (datetime(year, 1, 1, tzinfo=UTC) for year in (2019, 2020, 2026))
    rows = [{"created_at": second}, {"created_at": third, "doc_date": first}, {"corpus": "wiki"}]
    filling.write(store, rows)
    assert status(store).select("oldest", "newest").rows() == [(first, second), (None, None)]


@pytest.mark.parametrize(
    ("missing", "likely"),
    [
        ("docs/looks.md", ["docs/lock.md", "docs/deep/queue.md"]),
        ("docs/looks.md:10-42", ["docs/lock.md", "docs/deep/queue.md"]),
        ("org/app:./lock.md", ["docs/lock.md"]),
        ("queue.md", ["Locks", "docs/lock.md", "docs/deep/queue.md"]),
        ("elsewhere/queue.md", ["docs/deep/queue.md"]),
        ("src/100%_\\", []),
    ],
)
def test_ids_like_a_missing_one_are_of_its_folder_or_have_its_file_name(
    store: Store, filling: Any, missing: str, likely: list[str]
) -> None:
    names = ("docs/lock.md", "docs/deep/queue.md", "Locks")
    filling.write(store, [{"document_id": name, "repo": "org/app"} for name in names])
    assert ids_like(store, missing) == likely
    assert ids_like(store, missing, most=1) == likely[:1]


def test_the_time_of_a_copy_is_no_date_of_a_document(store: Store, filling: Any) -> None:
    day = datetime(2020, 1, 1, tzinfo=UTC)
    copied = {"date_source": "mtime", "doc_date": datetime(2026, 1, 1, tzinfo=UTC)}
    named = {"date_source": "name", "doc_date": day}
    rows = [{"corpus": "docs", "document_id": "named", **named}]
    rows += [{"corpus": corpus, "document_id": "copied", **copied} for corpus in ("docs", "wiki")]
    filling.write(store, rows)
    assert status(store).select("oldest", "newest").rows() == [(day, day), (None, None)]


def test_the_last_run_of_each_corpus_is_told_with_how_it_ended(store: Store, filling: Any) -> None:
    filling.write(store, [{"corpus": name} for name in ("code", "docs", "issue", "wiki")])
    end_run(store, begin_run(store, "git/1", ["code", "docs"]), True, NOTHING)
    end_run(store, begin_run(store, "folder/1", ["docs"]), False, NOTHING)
    killed = begin_run(store, "wiki/1", [])
    meet_corpus(store, killed, "wiki")
    meet_corpus(store, killed, "wiki")
    frame = status(store).select("corpus", "last_run_source", "last_run_state")
    assert frame.rows() == [
        ("code", "git/1", "ok"),
        ("docs", "folder/1", "failed"),
        ("issue", None, None),
        ("wiki", "wiki/1", "unfinished"),
    ]


def test_status_counts_documents_and_chunks_of_each_corpus(store: Store, filling: Any) -> None:
    filling.write(store, [{"document_id": "a"}, {"document_id": "a"}, {"corpus": "wiki"}])
    frame = status(store)
    assert frame["corpus"].to_list() == ["code", "wiki"]
    assert frame["chunks"].to_list() == [2, 1]
    assert frame["documents"].to_list() == [1, 1]
    assert frame["vector_index"].to_list() == [False, False]


TEXT = "The cache is flushed every {} seconds by a timer of its own."


@pytest.fixture
def versioned(store: Store, filling: Any) -> Store:
    """Two versions of one topic, of which one number differs."""
    versions = {"a": "1.9", "b": "1.10"}
    rows = [
        {"corpus": "docs", "document_id": name, "chunk_id": n, "path": f"{version}/guide.md"}
        | {"text": TEXT.format(30 * n)}
        for n, (name, version) in enumerate(versions.items())
    ]
    filling.write(store, rows)
    filling.place(store, "docs", versions)
    return store


def test_each_version_says_what_became_of_the_passages_of_the_one_before(versioned: Store) -> None:
    first, second = list_versions(versioned, "guide").to_dicts()
    assert first["same"] is None
    assert (second["same"], second["revised"], second["gone"], second["new"]) == (0, 1, 0, 0)


def test_the_newest_is_compared_with_the_one_before_it(versioned: Store) -> None:
    found = diff_versions(versioned, "guide")
    assert (found.before["version"], found.after["version"]) == ("1.9", "1.10")
    assert len(found.changes) == 1


def test_a_version_that_a_topic_does_not_have_is_an_error(versioned: Store) -> None:
    with pytest.raises(CrosscorpusError, match=r"1\.11"):
        diff_versions(versioned, "guide", newer="1.11")


def test_a_topic_says_how_many_versions_it_has_and_which_is_the_newest(versioned: Store) -> None:
    found = topics(versioned)
    assert found.schema == TOPICS
    row = found.row(0, named=True)
    assert (row["lineage_id"], row["versions"]) == ("guide", 2)
    assert (row["oldest"], row["newest"]) == ("1.9", "1.10")


@pytest.mark.parametrize(
    "name", ["guide", "a", "1.10/guide.md", " guide.md ", "~/handbook/1.9/guide.md", "GUI", "uid"]
)
def test_a_topic_is_named_by_itself_or_one_of_its_documents(versioned: Store, name: str) -> None:
    found = lineage_named(versioned, name)
    assert found.schema == MEMBERS
    assert found["version"].to_list() == ["1.9", "1.10"]


def test_a_name_that_no_topic_has_is_an_error(versioned: Store) -> None:
    with pytest.raises(UnknownName):
        lineage_named(versioned, "nothing like it")


DIMENSIONS = 8


def test_a_small_corpus_is_found_whole_by_its_index(store: Store, filling: Any) -> None:
    filling.write(store, [{"chunk_id": n, "document_id": f"d{n}"} for n in range(50)])
    build_vector_indexes(store)
    assert index_recall(store, "code", samples=5, k=10) == 1.0


def test_equal_vectors_at_the_end_of_a_list_cost_no_recall(store: Store, filling: Any) -> None:
    """Many commits have one message: which of its equal vectors a scan returns says nothing."""
    angles = {number: number / 10 if number < 7 else 1.5 for number in range(200)}
    rows = [
        {"chunk_id": number, "embedding": [cos(angle), sin(angle), *[0.0] * (DIMENSIONS - 2)]}
        for number, angle in angles.items()
    ]
    filling.write(store, rows[100:])
    filling.write(store, rows[:100])
    build_vector_indexes(store)
    assert index_recall(store, "code", samples=1, k=10) == 1.0


def test_a_corpus_without_vectors_has_no_recall(store: Store) -> None:
    assert index_recall(store, "absent", samples=5, k=10) is None


def test_a_sample_is_the_beginning_of_a_text_with_a_word(store: Store, filling: Any) -> None:
    filling.write(store, [{"chunk_id": 1, "text": "  ..."}, {"chunk_id": 2, "text": "  a word"}])
    assert sample_text(store, "code") == "a word"
    assert sample_text(store, "absent") == ""


def test_documents_are_counted_by_corpus_and_found_by_their_ids(store, filling):
    rows = [
        {"chunk_id": 1, "document_id": "a", "corpus": "code", "repo": "x"},
        {"chunk_id": 2, "document_id": "a", "corpus": "code", "repo": "y"},
        {"chunk_id": 3, "document_id": "b page", "corpus": "code"},
        {"chunk_id": 4, "document_id": "a", "corpus": "wiki"},
    ]
    filling.write(store, rows)
    assert count_documents(store) == {"code": 2, "wiki": 1}
    homes = document_homes(store, pl.Series(["b page", "a", "a", "gone"]))
    of = ("doc_id", "corpus")
    assert homes[of].unique(maintain_order=True).rows() == [
        ("a", "code"),
        ("a", "wiki"),
        ("b page", "code"),
    ]
    assert document_homes(store, pl.Series([], dtype=pl.String)).is_empty()
    named = document_homes(store, pl.Series(["y:a", "z:a", "b page:3-9", "x:a:1-2"]))
    assert named[of].unique(maintain_order=True).rows() == [
        ("b page:3-9", "code"),
        ("x:a:1-2", "code"),
        ("y:a", "code"),
    ]


def test_a_title_is_known_where_it_says_more_than_the_id(store, filling):
    titles = {"4f1c": "Close it", "a.md": "a.md", "b": None}
    rows = [{"chunk_id": n, "document_id": d, "title": titles[d]} for n, d in enumerate(titles)]
    filling.write(store, rows)
    assert document_titles(store, pl.Series([*titles, "gone", None])) == {"4f1c": "Close it"}
