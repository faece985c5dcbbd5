from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pytest
from ingesting import ingest_documents, ingest_git
from working_tree import WorkingTree

from dataflow.ingestion import version_discovery as step
from dataflow.ingestion.version_discovery import find_versions, verify_versions
from operators.frames import SCOPED_QUERIES
from operators.postgres.search.known_versions import known_versions
from operators.postgres.search.text_search import bm25_search
from operators.postgres.store import Connection, Store, open_store
from operators.postgres.write import version_store
from operators.postgres.write.document_classes import classify

INTRO = "The cache keeps whatever was asked for lately, and forgets the rest when memory is short."
LIMIT = "A cache of at most {} entries is kept for each user of the machine by the server process."
ODD = "Printing goes through the spooler on the second floor, which nobody has seen for years."

FILLER = (
    "An unrelated paragraph about the weather in the mountains where snow fell all of the night."
)

Write = Callable[..., Path]


def _page(
    version: str, *parts: str, date: str | None = None, name: str = "cache"
) -> dict[str, Any]:
    row = {
        "doc_id": f"{version}/{name}",
        "corpus": "docs",
        "title": f"The {name}",
        "path": f"manual/{version}/{name}.md",
        "version": version,
        "text": "\n\n".join(f"# Part {part[:12]}\n\n{part}" for part in parts),
    }
    return row | ({"created_at": date} if date else {})


OLD = _page("1.9", INTRO, LIMIT.format(100), ODD, date="2020-01-01")
NEW = _page("1.10", INTRO, LIMIT.format(250), date="2021-01-01")


def _superseded(store: Store) -> list[tuple[Any, ...]]:
    return store.rows(
        "SELECT c.version, s.relation, left(n.text, 5), s.superseded_at::date::text,"
        " s.last_version FROM superseded_chunks s JOIN chunks c USING (corpus, chunk_id)"
        " LEFT JOIN chunks n ON n.corpus = s.corpus AND n.chunk_id = s.by_chunk"
        " ORDER BY c.version, c.ordinal"
    )


@pytest.fixture
def small(new_embedder: Any) -> Any:
    """An embedder whose window holds one part of a page."""
    embedder = new_embedder()
    embedder.max_tokens = 30
    return embedder


def test_a_run_says_what_became_of_each_old_passage(
    store: Store, small: Any, write_lines: Write
) -> None:
    ingest_documents(store, small, write_lines(OLD, NEW))
    assert known_versions(store)["version"].to_list() == ["1.9", "1.10"]
    rows = _superseded(store)
    assert {row[1] for row in rows} == {"same", "revised", "gone"}
    assert {row[0] for row in rows} == {"1.9"}
    assert {row[3] for row in rows} == {"2021-01-01"}
    assert {row[4] for row in rows if row[1] == "gone"} == {"1.9"}


def test_a_deleted_newest_version_leaves_the_one_before_it_current(
    store: Store, small: Any, write_lines: Write
) -> None:
    other = _page("1.10", FILLER, name="weather")
    ingest_documents(store, small, write_lines(OLD, NEW, other))
    ingest_documents(store, small, write_lines(OLD, other), prune=True, allow_mass_delete=True)
    assert known_versions(store).is_empty()
    assert _superseded(store) == []


def test_a_passage_is_superseded_from_the_first_date_that_a_later_version_has(
    store: Store, small: Any, write_lines: Write
) -> None:
    pages = [
        _page("16", INTRO, FILLER, date="2021-01-01"),
        _page("18", INTRO, FILLER, date="2025-03-27"),
        _page("22", INTRO, FILLER, date="2025-02-11"),
    ]
    ingest_documents(store, small, write_lines(*pages))
    assert {(row[0], row[3]) for row in _superseded(store)} == {
        ("16", "2025-02-11"),
        ("18", "2025-02-11"),
    }


def test_code_in_folders_v1_and_v2_is_no_topic_with_versions(
    store: Store, small: Any, write_lines: Write
) -> None:
    files = [
        {"doc_id": f"v{n}", "corpus": "code", "path": f"api/v{n}/h.py", "text": f"def f(): {INTRO}"}
        for n in (1, 2)
    ]
    ingest_documents(store, small, write_lines(*files))
    assert known_versions(store).is_empty()


def test_verify_finds_rows_of_chunks_that_are_gone(
    store: Store, small: Any, write_lines: Write
) -> None:
    ingest_documents(store, small, write_lines(OLD, NEW))
    before = _superseded(store)
    store.execute("UPDATE superseded_chunks SET by_chunk = 17 WHERE by_chunk IS NOT NULL")
    assert step.verify_versions(store, repair=True)["kind"].to_list() == ["wrong_versions"]
    assert step.verify_versions(store).is_empty()
    assert _superseded(store) == before


def _seen(store: Store, *moments: str) -> list[list[tuple[str, str]]]:
    """Version and last word of what a search sees at each of these days."""
    rows = [
        {
            "query_id": n,
            "texts": ["word"],
            "version_policy": "newest",
            "as_of": datetime.fromisoformat(moment).replace(tzinfo=UTC),
        }
        for n, moment in enumerate(moments)
    ]
    found = bm25_search(store, "docs", pl.DataFrame(rows, schema=SCOPED_QUERIES), k=50)
    said = {
        row[0]: (row[1], row[2].split()[-1])
        for row in store.rows(
            "SELECT c.chunk_id, coalesce(v.version, ''), c.text FROM chunks c"
            " LEFT JOIN document_versions v USING (document_key)"
        )
    }
    return [
        sorted(said[chunk] for chunk in found.filter(pl.col("query_id") == n)["chunk_id"])
        for n in range(len(moments))
    ]


def test_a_version_that_was_committed_after_its_date_replaces_from_its_commit_on(
    store: Store, small: Any, tmp_path: Path
) -> None:
    tree = WorkingTree(tmp_path / "app")
    for name, stated, committed in (
        ("v1", "2024-01-01", "2024-01-01"), ("v2", "2024-02-01", "2024-03-01"),
    ):  # fmt: skip
        page = f"---\ndate: {stated}\n---\n# Guide\n\n{INTRO} A word: {name}\n"
        when = datetime.fromisoformat(f"{committed}T00:00:00Z").timestamp()
        tree.commit(name, int(when), **{f"docs/{name}/guide.md": page})
    ingest_git(store, small, tree.path)
    assert _seen(store, "2024-01-15", "2024-02-15", "2024-03-15") == [
        [("1", "v1")], [("1", "v1")], [("2", "v2")],
    ]  # fmt: skip


def test_a_passage_that_comes_again_is_replaced_by_the_version_that_has_it_and_not_before(
    store: Store, small: Any, write_lines: Write
) -> None:
    again = f"{ODD} One more word: again"
    pages = [
        _page("1.0", f"{INTRO} word: one", again, date="2020-01-01"),
        _page("2.0", f"{INTRO} word: two", date="2021-01-01"),
        _page("3.0", f"{INTRO} word: three", again, date="2022-01-01"),
        _page("4.0", f"{INTRO} word: four", again, date="2023-01-01"),
    ]
    for known in range(2, 5):
        ingest_documents(store, small, write_lines(*pages[:known]))
        seen = _seen(store, "2020-06-01", "2021-06-01", "2022-06-01", "2023-06-01")
        assert seen[:known] == [
            [("1.0", "again"), ("1.0", "one")],
            [("1.0", "again"), ("2.0", "two")],
            [("3.0", "again"), ("3.0", "three")],
            [("4.0", "again"), ("4.0", "four")],
        ][:known]  # fmt: skip


NAME = "killed"

WORDS = {
    name: [
        " ".join(f"{name}{part}word{n}" for n in range(25)) for part in ("intro", "limit", "ends")
    ]
    for name in ("cache", "queue", "index", "store", "route", "table")
}

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


STEP = 1 if "CROSSCORPUS_TEST_EXAMPLES" in os.environ else 2
"""A run dies at every second point; make test-kills: at each."""


def versions_points(met: list[str]) -> list[int]:
    """The points that the step itself has, counted from 1."""
    return [n for n, name in enumerate(met, 1) if "version_store.py:" in name]


def test_no_topic_is_half_built_wherever_a_run_is_killed_and_the_next_run_ends_it(
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
    with open_store(copies(None, "kill_base"), NAME, create=True) as store:
        ingest_documents(store, new_embedder(), first, prune=True)
        assert len(topics(placed(store))) == len(names)
    order = {"collection": NAME, "source": str(second)}
    whole = copies("kill_base", "kill_whole")
    met = dying(dsn=whole, point=0, **order)["met"]
    points = versions_points(met)
    assert len(points) >= 10, met
    with open_store(whole, NAME) as store:
        after = placed(store)
    found = {"cache", "queue", "index", "store", "table"}
    assert {document.split("/")[1] for document in after} == found

    before: State | None = None
    seen: set[str] = set()
    for point, dsn in deaths(order, points[::STEP]):
        with open_store(dsn, NAME, create=True, max_size=2) as store:
            between = placed(store)
            before = between if before is None else before
            old, new, now = topics(before), topics(after), topics(between)
            for name in old.keys() | new.keys() | now.keys():
                assert now.get(name) in (old.get(name), new.get(name)), (met[point - 1], name)
            seen.add(repr(sorted(now.items(), key=repr)))
            report = ingest_documents(
                store, new_embedder(), second, prune=True, allow_mass_delete=True
            )
            assert report.ok
            assert placed(store) == after, met[point - 1]
            assert verify_versions(store).is_empty()
            assert not any(find_versions(store).values())
    assert STEP * len(seen) >= len(topics(after))


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
        rows = store.rows(
            "SELECT DISTINCT document_id FROM chunks WHERE chunk_id = ANY(%s) ORDER BY 1",
            (found["chunk_id"].to_list(),),
        )
        return [row[0] for row in rows]

    with open_store(copies(None, "kill_base"), NAME, create=True) as store:
        ingest_documents(store, new_embedder(), first)
        assert answering(store) == ["11.1/cache", "11.1/queue"]
    order = {"collection": NAME, "source": str(second)}
    met = dying(dsn=copies("kill_base", "kill_whole"), point=0, **order)["met"]
    written = met.index("after the commit of document_writer.py:write_documents") + 1
    for point, dsn in deaths(order, range(written, versions_points(met)[0] + 1, STEP)):
        with open_store(dsn, NAME, max_size=2) as store:
            assert answering(store) == ["11.1/cache", "11.1/queue"], met[point - 1]


def _limits(version: str | None, text: str = "") -> dict[str, Any]:
    path = f"manual/{version}/limits.md" if version else "manual/limits.md"
    text = f"{text} {' '.join(WORDS['cache'])}"
    return {"doc_id": path, "path": path, "corpus": "docs", "title": "Limits", "text": text}


def _order(store: Store) -> list[tuple[str, bool]]:
    return store.rows(
        "SELECT d.document_id, v.newest FROM document_versions v JOIN documents d"
        " USING (document_key) ORDER BY v.lineage_id, v.position"
    )


def test_a_page_whose_class_has_changed_is_a_version_like_another(
    store: Store, small: Any, write_lines: Write
) -> None:
    ingest_documents(store, small, write_lines(_limits(None)))
    for rule in (("1", ["ann"]), None):
        classify(store, lambda *_, rule=rule: rule, True, False)
    ingest_documents(store, small, write_lines(_limits("2.0", "Two."), _limits("2.1", "Three.")))
    pages = [f"manual/{folder}limits.md" for folder in ("2.0/", "2.1/", "")]
    assert _order(store) == [(pages[0], False), (pages[1], False), (pages[2], True)]


def _names(store: Store) -> tuple[Any, ...] | None:
    return store.row(
        "SELECT s.path, s.indexed_at = d.indexed_at FROM document_sketches s JOIN documents d"
        " USING (document_key)"
    )


def _move(conn: Connection, path: str) -> None:
    """Write the only document again, at another path, as a run does."""
    row = conn.execute(
        "UPDATE documents SET path = %s, indexed_at = now()"
        " RETURNING document_key, NULL, corpus, path, document_id, version",
        (path,),
    ).fetchone()
    assert row is not None
    version_store.keep_names(conn, [row])


def test_a_writer_that_is_overtaken_by_another_and_by_the_step_leaves_its_names(
    store: Store, small: Any, write_lines: Write
) -> None:
    ingest_documents(store, small, write_lines(_limits("2.0")))
    with store.transaction() as writer:
        writer.execute("SELECT now()")  # the time that its rows will have
        store.run(partial(_move, path="other/page.md"))
        store.execute("UPDATE document_sketches SET rules = 0")
        ((*unnamed,),) = version_store.unnamed(store, "docs")
        _move(writer, "third/page.md")
    store.run(partial(version_store.keep_names, documents=unnamed))
    assert _names(store) == ("third/page.md", True)


def test_a_writer_that_waits_for_the_step_leaves_its_names(
    store: Store, small: Any, write_lines: Write, server_dsn: str
) -> None:
    ingest_documents(store, small, write_lines(_limits("2.0")))
    store.execute("UPDATE document_sketches SET rules = 0")
    ((*unnamed,),) = version_store.unnamed(store, "docs")
    waiting = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    with ThreadPoolExecutor(1) as thread, psycopg.connect(server_dsn, autocommit=True) as watch:
        with store.transaction() as step:
            version_store.keep_names(step, unnamed)
            writer = thread.submit(store.run, partial(_move, path="other/page.md"))
            while watch.execute(waiting).fetchone() == (0,):
                assert not writer.done()
                time.sleep(0.01)
        writer.result()
    assert _names(store) == ("other/page.md", True)
