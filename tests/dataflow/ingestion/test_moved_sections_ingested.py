"""Topics that documents name, and what becomes of sections whose text moved or ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from ingesting import ingest_documents

from dataflow.ingestion.version_discovery import verify_versions
from operators.errors import CrosscorpusError
from operators.frames import SCOPED_QUERIES
from operators.postgres.inspect.version_history import diff_versions
from operators.postgres.inspect.version_topics import lineage_named
from operators.postgres.search.chunk_reader import Wanted, fetch_chunks
from operators.postgres.store import Store
from operators.postgres.write.version_store import placed

Write = Callable[..., Path]


def page(name: str, version: str, words: str, **more: Any) -> dict[str, Any]:
    row = {"doc_id": f"{version}/{name}", "corpus": "docs", "version": version, "title": name}
    return row | {"path": f"{version}/{name}.md", "text": f"# {name}\n\n{words}\n"} | more


SETUP = [page("setup", v, "Alpha beta gamma delta epsilon.") for v in ("1.0", "2.0")]
INSTALL = [page("install", v, "Quite other words stand on this page.") for v in ("3.0", "4.0")]


def topics(store: Store) -> list[list[str]]:
    rows = placed(store, "docs").sort("lineage_id", "position")
    ids = dict(store.rows("SELECT document_key::text, document_id FROM documents"))
    of = rows.group_by("lineage_id", maintain_order=True).agg(pl.col("document_key"))
    return [[ids[key] for key in keys] for keys in of["document_key"]]


@pytest.fixture
def pages(store: Store, embedder: Any, write_lines: Write) -> Callable[..., None]:
    def read(*rows: dict[str, Any], name: str = "a.jsonl") -> None:
        ingest_documents(store, embedder, write_lines(*rows, name=name), prune=True)

    return read


def test_documents_that_name_their_topic_are_of_it_and_of_no_other(
    store: Store, pages: Callable[..., None]
) -> None:
    told = [{**SETUP[0], "topic": "begin"}, SETUP[1], {**INSTALL[0], "topic": "begin"}, INSTALL[1]]
    pages(*told)
    assert topics(store) == [["1.0/setup", "3.0/install"]]


OTHERS = ("Nothing is kept for a user who left.", "Each error has a number and a text in English.")
START = "The server reads its settings once, when it starts, from the file beside it."
LIMITS = "At most a hundred entries are kept for each user, and older ones make room for new ones."


def section(version: str, title: str, words: str) -> dict[str, Any]:
    row = {"doc_id": f"{version}#{title}", "corpus": "docs", "version": version, "title": title}
    return row | {"path": "guide.md", "text": words}


def guide(version: str, **sections: str) -> list[dict[str, Any]]:
    return [section(version, title, words) for title, words in sections.items()]


@pytest.fixture
def merged(pages: Callable[..., None]) -> Callable[..., None]:
    """A guide whose section on limits goes into another one, and that loses one."""
    whole = {"Start": START, "Limits": LIMITS, "Users": OTHERS[0], "Errors": OTHERS[1]}

    def read(**newest: str) -> None:
        told = {"Start": f"{START}\n\n{LIMITS}", "Errors": OTHERS[1], **newest}
        pages(*guide("1.0", **whole), *guide("1.1", **whole), *guide("1.2", **told))

    return read


def found(store: Store) -> dict[str, tuple[str, str | None]]:
    """What became of the passages of the sections that ended, by title."""
    rows = store.rows(
        "SELECT d.title || ' ' || d.version, s.relation, n.text FROM superseded_chunks s"
        " JOIN documents d USING (document_key) LEFT JOIN chunks n"
        " ON n.corpus = s.corpus AND n.chunk_id = s.by_chunk WHERE d.version = '1.1'"
    )
    return {title: (relation, text) for title, relation, text in rows}


def test_a_merged_section_is_answered_by_the_one_that_has_its_text(
    store: Store, merged: Callable[..., None]
) -> None:
    merged()
    relation, text = found(store)["Limits 1.1"]
    assert relation == "same"
    assert LIMITS in str(text)
    assert found(store)["Users 1.1"] == ("gone", None)
    assert verify_versions(store).is_empty()


def test_only_a_section_whose_text_stands_nowhere_later_is_read_as_removed(
    store: Store, merged: Callable[..., None]
) -> None:
    merged()
    ids = pl.Series([chunk for (chunk,) in store.rows("SELECT chunk_id FROM chunks")])
    scope = {"query_id": 0, "texts": ["x"], "version_policy": "all"}
    chunks = fetch_chunks(
        store, [Wanted("docs", ids, pl.DataFrame([scope], schema=SCOPED_QUERIES))]
    )
    read = chunks.select(pl.concat_str("title", "version", separator=" "), "removed").rows()
    # the last version of Limits went to Start, and the first one of Users was still there in 1.1
    assert [name for name, removed in read if removed] == ["Users 1.1"]


def test_a_section_of_one_version_that_ended_has_none_to_be_compared_with(
    store: Store, pages: Callable[..., None]
) -> None:
    old = guide("1.0", Start=START, Limits=LIMITS, Errors=OTHERS[1])
    pages(*old, *guide("1.1", Start=START, Errors=OTHERS[1]))
    assert lineage_named(store, "1.0#Limits")["version"].to_list() == ["1.0"]
    with pytest.raises(CrosscorpusError, match=r"version 1\.0 is the oldest of"):
        diff_versions(store, "1.0#Limits")


def test_where_a_text_went_is_found_again_when_that_section_changes(
    store: Store, merged: Callable[..., None]
) -> None:
    merged()
    merged(Start=START)
    assert found(store)["Limits 1.1"] == ("gone", None)
    merged(Start=f"A new first line.\n\n{START}\n\n{LIMITS}")
    relation, text = found(store)["Limits 1.1"]
    assert relation == "same"
    assert LIMITS in str(text)
    assert verify_versions(store).is_empty()
