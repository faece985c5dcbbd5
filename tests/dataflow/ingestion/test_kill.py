"""Killed before and after every commit, a run leaves whole documents, and the next one ends right.

The points are not chosen but counted: a run that is left alone tells every commit that wrote
something and every file that it would write, and then one process is killed at each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dataflow.ingestion import ingest_documents
from dataflow.ingestion.model_migration import migrate_model
from operators.postgres.inspect.verify import verify
from operators.postgres.store import Store, collection_info, open_store, schema_of
from operators.sources.chunking import chunker

ROOT = Path(__file__).parents[3]
DYING = Path(__file__).parent / "dying.py"
NAME = "killed"
SCHEMA = schema_of(NAME)

Read = Callable[[Store], dict[str, Any]]


def lines(numbers: range, suffix: str = "") -> list[dict[str, Any]]:
    return [
        {
            "doc_id": f"d{n}", "corpus": ("docs", "wiki")[n % 2], "title": f"Page {n}",
            "text": " ".join(f"word{n}x{i}" for i in range(70)) + suffix,
        }
        for n in numbers
    ]  # fmt: skip


def read_documents(store: Store) -> dict[tuple[str, str], frozenset[Any]]:
    """What each document's chunks are, by its name."""
    if collection_info(store).space is None:
        return {}
    found: dict[tuple[str, str], set[Any]] = {}
    with store.transaction() as conn:
        for corpus, document_id, *chunk in conn.execute(
            "SELECT corpus, document_id, ordinal, text, embedding::text FROM chunks"
        ):
            found.setdefault((corpus, document_id), set()).add(tuple(chunk))
    return {name: frozenset(chunks) for name, chunks in found.items()}


def everything(dsn: str) -> str:
    """All that the database holds of the collection, clocks and the record of runs apart."""
    with psycopg.connect(dsn) as conn:
        indexes = conn.execute(
            "SELECT indexname FROM pg_indexes WHERE schemaname = %s ORDER BY 1", (SCHEMA,)
        ).fetchall()
        rows = conn.execute(
            "SELECT relname, string_agg(quote_ident(attname), ', ' ORDER BY attname)"
            " FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0"
            " AND NOT attisdropped AND atttypid <> 'timestamptz'::regtype"
            " WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r' AND relname <> 'runs'"
            " GROUP BY relname ORDER BY relname",
            (f'"{SCHEMA}"',),
        ).fetchall()
        held = [
            conn.execute(
                f"SELECT md5(string_agg(t::text, '|' ORDER BY t::text))"
                f' FROM (SELECT {columns} FROM "{SCHEMA}"."{table}") AS t'
            ).fetchone()
            for table, columns in rows
        ]
    return repr((indexes, rows, held))


@pytest.mark.parametrize("work", ["create", "update", "recut", "migrate"])
def test_wherever_a_run_is_killed_the_next_ends_as_an_undisturbed_one(
    work: str,
    dying: Callable[..., dict[str, Any]],
    copies: Callable[..., str],
    deaths: Callable[..., Iterator[tuple[int, str]]],
    new_embedder: Any,
    write_lines: Callable[..., Path],
    contents: Read,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = write_lines(*lines(range(12)), name="first.jsonl")
    renamed = [{**line, "doc_id": f"renamed {line['doc_id']}"} for line in lines(range(2))]
    second = write_lines(
        *renamed, *lines(range(2, 8)), *lines(range(8, 12), " changed"), *lines(range(20, 28)),
        name="2.jsonl",
    )  # fmt: skip
    source = second if work == "update" else first

    def finish(store: Store) -> None:
        if work == "migrate":
            migrate_model(store, new_embedder("words-2"), chunks_at_once=8, exact_scan_max_rows=20)
        else:
            embedder = new_embedder()
            if work == "recut":
                embedder.max_tokens = 25
            report = ingest_documents(store, embedder, source, prune=True, allow_mass_delete=True)
            assert report.ok, report.failed

    base = copies(None, "kill_base")
    if work == "create":
        psycopg.connect(base, autocommit=True).execute("CREATE EXTENSION vector").connection.close()
        before: dict[Any, Any] = {}
    else:
        with open_store(base, NAME, create=True) as store:
            ingest_documents(store, new_embedder(), first, prune=True)
            before = read_documents(store)
    if work == "recut":
        monkeypatch.setattr(chunker, "VERSION", f"{chunker.VERSION}.recut")
    order = {"collection": NAME, "work": work, "source": str(source)}
    whole = copies("kill_base", "kill_whole")
    met = dying(dsn=whole, point=0, **order)["met"]
    assert len(met) > 10
    assert not [name for name in met if name.startswith("failed")]
    with open_store(whole, NAME) as store:
        wanted, after = contents(store), read_documents(store)

    ended: set[str] = set()
    for point, dsn in deaths(order, range(1, len(met) + 1)):
        name = met[point - 1]
        left = everything(dsn)
        if left in ended:  # what follows depends on nothing else
            continue
        ended.add(left)
        with open_store(dsn, NAME, create=True, max_size=2) as store:
            findings = verify(store)
            assert set(findings["kind"]) <= {"unfinished"}, (name, findings)
            between = read_documents(store)
            for one in before.keys() | after.keys() | between.keys():
                assert between.get(one) in (before.get(one), after.get(one)), (name, one)
            if work != "migrate" or collection_info(store).space != "words-2":
                finish(store)
            assert contents(store) == wanted, name
    assert len(ended) > 5


def test_vectors_that_were_made_before_a_kill_are_not_made_again(
    dying: Callable[..., dict[str, Any]],
    new_store: Callable[[], Store],
    embedder: Any,
    write_lines: Callable[..., Path],
    server_dsn: str,
) -> None:
    file = write_lines(*lines(range(12)))
    met = dying(
        dsn=server_dsn, collection=new_store().collection, work="ingest", source=str(file), point=0
    )["met"]
    third = [n for n, name in enumerate(met, 1) if "after" in name and "cache_emb" in name][2]
    store = new_store()
    dying(dsn=server_dsn, collection=store.collection, work="ingest", source=str(file), point=third)
    report = ingest_documents(store, embedder, file)
    assert report.embedded == report.chunks - 10  # a batch's chunks, in calls of 4, 4 and 2
