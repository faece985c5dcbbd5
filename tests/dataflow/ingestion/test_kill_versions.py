"""`kill -9` while a run finds versions, at every commit that it makes there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pytest

from dataflow.ingestion import ingest_documents
from dataflow.ingestion.version_discovery import find_versions, verify_versions
from operators.frames import SCOPED_QUERIES
from operators.postgres.search.text_search import bm25_search
from operators.postgres.store import Store, open_store

NAME = "killed"
WORDS = {
    name: [
        " ".join(f"{name}{part}word{n}" for n in range(25)) for part in ("intro", "limit", "ends")
    ]
    for name in ("cache", "queue", "index", "store", "route", "table")
}

Write = Callable[..., Path]
State = dict[str, tuple[str, frozenset[Any]]]


def page(name: str, version: str, *parts: str) -> dict[str, Any]:
    texts = parts or [f"{part} {version}" for part in WORDS[name]]
    return {
        "doc_id": f"{version}/{name}",
        "corpus": "docs",
        "title": f"The {name}",
        "path": f"manual/{version}/{name}.md",
        "version": version,
        "created_at": f"20{version[:2]}-01-01",
        "text": "\n\n".join(f"# Part {n}\n\n{text}" for n, text in enumerate(texts)),
    }


def placed(store: Store) -> State:
    """Of each document in a topic: the topic, and all that is said of its passages."""
    found: dict[str, tuple[str, set[Any]]] = {}
    with store.transaction() as conn:
        for document, lineage, *place in conn.execute(
            "SELECT d.document_id, v.lineage_id, v.version, v.position, v.newest, v.released_at"
            " FROM document_versions v JOIN documents d USING (document_key)"
        ):
            found[document] = lineage, {tuple(place)}
        for document, *passage in conn.execute(
            "SELECT d.document_id, s.chunk_id, s.relation, s.by_chunk, s.superseded_at,"
            " s.last_version FROM superseded_chunks s JOIN documents d USING (document_key)"
        ):
            found[document][1].add(tuple(passage))
    return {document: (lineage, frozenset(of)) for document, (lineage, of) in found.items()}


def topics(state: State) -> dict[str, frozenset[tuple[str, frozenset[Any]]]]:
    """Each topic of ``state`` with its documents and all that is said of them."""
    return {
        name: frozenset((d, said) for d, (lineage, said) in state.items() if lineage == name)
        for name, _ in state.values()
    }


def versions_points(met: list[str]) -> list[int]:
    """The points that the step itself has, counted from 1."""
    return [n for n, name in enumerate(met, 1) if "version_store.py:" in name]


@pytest.mark.parametrize("work", ["create", "update"])
def test_no_topic_is_half_built_wherever_a_run_is_killed_and_the_next_run_ends_it(
    work: str,
    dying: Callable[..., dict[str, Any]],
    copies: Callable[..., str],
    deaths: Callable[..., Iterator[tuple[int, str]]],
    new_embedder: Any,
    write_lines: Write,
) -> None:
    names = ("cache", "queue", "index", "store", "route")
    first = write_lines(*(page(n, v) for n in names for v in ("10.1", "11.1", "12.1")), name="1")
    second = write_lines(
        *(page("cache", v) for v in ("10.1", "11.1", "12.1", "13.1")),  # one more
        *(page("queue", v) for v in ("10.1", "11.1")),  # the newest is gone
        page("index", "10.1"),
        page("index", "11.1", "something else altogether", WORDS["index"][1]),  # written anew
        page("index", "12.1"),
        *(page("store", v) for v in ("10.1", "11.1")),
        page("store", "12.1") | {"path": "other/12.1/news.md", "title": "News"},  # no longer of it
        page("route", "12.1"),  # a topic no more
        *(page("table", v) for v in ("10.1", "11.1")),  # new
        name="2",
    )
    source = second if work == "update" else first
    base = copies(None, "kill_base")
    if work == "create":
        psycopg.connect(base, autocommit=True).execute("CREATE EXTENSION vector").connection.close()
    else:
        with open_store(base, NAME, create=True) as store:
            ingest_documents(store, new_embedder(), first, prune=True)
            assert len(topics(placed(store))) == len(names)
    order = {"collection": NAME, "work": work, "source": str(source)}
    whole = copies("kill_base", "kill_whole")
    met = dying(dsn=whole, point=0, **order)["met"]
    points = versions_points(met)
    assert len(points) >= 10, met
    with open_store(whole, NAME) as store:
        after = placed(store)
    found = {"cache", "queue", "index", "store"} | ({"table"} if work == "update" else {"route"})
    assert {document.split("/")[1] for document in after} == found

    before: State | None = None
    seen: set[str] = set()
    for point, dsn in deaths(order, points):
        with open_store(dsn, NAME, create=True, max_size=2) as store:
            between = placed(store)
            before = between if before is None else before
            old, new, now = topics(before), topics(after), topics(between)
            for name in old.keys() | new.keys() | now.keys():
                assert now.get(name) in (old.get(name), new.get(name)), (met[point - 1], name)
            seen.add(repr(sorted(now.items(), key=repr)))
            report = ingest_documents(
                store, new_embedder(), source, prune=True, allow_mass_delete=True
            )
            assert report.ok
            assert placed(store) == after, met[point - 1]
            assert verify_versions(store).is_empty()
            assert find_versions(store).compared == 0
    assert len(seen) >= len(topics(after))


def test_a_run_over_old_versions_lets_none_of_them_answer_wherever_it_is_killed(
    dying: Callable[..., dict[str, Any]],
    copies: Callable[..., str],
    deaths: Callable[..., Iterator[tuple[int, str]]],
    new_embedder: Any,
    write_lines: Write,
) -> None:
    def mended(name: str) -> dict[str, Any]:
        more = " ".join(f"{name}more{n}" for n in range(60))  # is cut into more chunks than before
        return page(name, "10.1", *(f"{part} mended" for part in WORDS[name]), more)

    names = ("cache", "queue")
    newest = [page(name, "11.1") for name in names]
    first = write_lines(*(page(n, "10.1") for n in names), *newest, name="1")
    second = write_lines(*(mended(n) for n in names), *newest, name="2")

    def answering(store: Store) -> list[str]:
        words = [f"{name}{word}" for name in names for word in ("introword3", "more7")]
        queries = [
            {"query_id": n, "texts": [word], "version_policy": "newest"}
            for n, word in enumerate(words)
        ]
        found = bm25_search(store, "docs", pl.DataFrame(queries, schema=SCOPED_QUERIES), k=50)
        with store.transaction() as conn:
            rows = conn.execute(
                "SELECT DISTINCT document_id FROM chunks WHERE chunk_id = ANY(%s) ORDER BY 1",
                (found["chunk_id"].to_list(),),
            ).fetchall()
        return [row[0] for row in rows]

    with open_store(copies(None, "kill_base"), NAME, create=True) as store:
        ingest_documents(store, new_embedder(), first)
        assert answering(store) == ["11.1/cache", "11.1/queue"]
    order = {"collection": NAME, "work": "update", "source": str(second)}
    met = dying(dsn=copies("kill_base", "kill_whole"), point=0, **order)["met"]
    written = met.index("after the commit of document_writer.py:write_documents") + 1
    for point, dsn in deaths(order, range(written, versions_points(met)[0] + 1)):
        with open_store(dsn, NAME, max_size=2) as store:
            assert answering(store) == ["11.1/cache", "11.1/queue"], met[point - 1]
