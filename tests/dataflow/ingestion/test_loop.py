"""Whatever happens to a source and to runs over it: the collection is as one built from scratch.

Killed before and after every commit, a run leaves whole documents, and the next run ends right. The
points are not chosen but counted: an undisturbed run reports every commit that wrote something and
every file that it would write, and then one process is killed at each.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from ingested import document
from ingesting import ingest_documents

from dataflow.ingestion import graph as ingestion_graph
from dataflow.ingestion.loop import ingest
from dataflow.ingestion.model_migration import migrate_model
from operators.postgres.inspect.verify import verify
from operators.postgres.store import (
    ModelMismatch,
    Store,
    collection_info,
    drop_collection,
    open_store,
    schema_of,
)
from operators.postgres.write.chunk_vectors import try_again
from operators.sources.chunking import chunker
from operators.sources.folder import folder_source

Write = Callable[..., Path]


def test_another_model_is_refused_and_names_both(
    store: Store, embedder: Any, new_embedder: Any, write_lines: Write
) -> None:
    file = write_lines(document(1))
    ingest_documents(store, embedder, file)
    with pytest.raises(ModelMismatch, match=r"space words-1.* space words-2"):
        ingest_documents(store, new_embedder("words-2"), file)


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


def with_vectors(chunks: frozenset[Any], whole: frozenset[Any]) -> bool:
    """Whether ``chunks`` are the ``whole`` document, but that some wait for their vector."""
    known = {chunk[:2]: chunk[2] for chunk in whole}
    held = {chunk[:2]: chunk[2] for chunk in chunks}
    return held.keys() == known.keys() and all(
        vector in (None, known[chunk]) for chunk, vector in held.items()
    )


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
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("dataflow.ingestion.model_migration.CHUNKS_AT_ONCE", 8)
                patch.setattr("operators.postgres.schema.indexes.EXACT_SCAN_MAX_ROWS", 20)
                migrate_model(store, new_embedder("words-2"))
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
                held = between.get(one)
                whole = held in (before.get(one), after.get(one))
                assert whole or (held and with_vectors(held, after[one])), (name, one)
            if work != "migrate" or collection_info(store).space != "words-2":
                finish(store)
            assert contents(store) == wanted, name
    assert len(ended) > 5


NAMES = st.sampled_from([f"{folder}page{n}.md" for n in range(4) for folder in ("", "part/")])


TEXTS = st.builds(
    lambda word, count, heading: (
        ("# Part\n\n" if heading else "") + " ".join(f"{word}{n}" for n in range(count))
    ),
    st.sampled_from(["alpha", "beta", "gamma"]),
    st.sampled_from([0, 3, 60, 130]),
    st.booleans(),
)


class Crash(BaseException):
    """The process is gone: no handler of ours sees it."""


@contextmanager
def crashing(number: int, after: bool) -> Iterator[None]:
    """End whatever runs at its ``number``-th commit that wrote something, before or after it."""
    leave = psycopg.Transaction.__exit__
    met = 0

    def leaving(transaction: Any, kind: Any, error: Any, trace: Any) -> Any:
        nonlocal met
        if kind is None and not transaction.savepoint_name:
            query = "SELECT pg_current_xact_id_if_assigned()"
            met += transaction.connection.execute(query).fetchone()[0] is not None
            if met == number:
                met += 1
                died = (None, None, None) if after else (Crash, Crash(), None)
                leave(transaction, *died)
                raise Crash
        return leave(transaction, kind, error, trace)

    psycopg.Transaction.__exit__ = leaving  # type: ignore[method-assign]
    try:
        yield
    except Crash:
        pass
    finally:
        psycopg.Transaction.__exit__ = leave  # type: ignore[method-assign]


def test_a_collection_always_equals_a_fresh_full_build(
    new_store: Callable[[], Store],
    new_embedder: Any,
    contents: Read,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cut = chunker.chunk_documents
    usual = chunker.VERSION
    compared = 0

    class Collection(RuleBasedStateMachine):
        @initialize(text=TEXTS)
        def begin(self, text: str) -> None:
            self.folder = tmp_path / "wiki"
            shutil.rmtree(self.folder, ignore_errors=True)
            self.clock = 1_600_000_000
            self.write("page0.md", text)
            self.store, self.model, self.chunker = new_store(), new_embedder("words-1"), 0
            self.use_chunker(0)
            self.ingest()

        def write(self, name: str, text: str) -> None:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            self.clock += 10
            os.utime(path, (self.clock, self.clock))

        def files(self) -> list[Path]:
            return sorted(path for path in self.folder.rglob("*") if path.is_file())

        def use_chunker(self, number: int) -> None:
            monkeypatch.setattr(chunker, "VERSION", f"{usual}.{number}")
            monkeypatch.setattr(
                ingestion_graph, "chunk_documents", lambda d, c, most: cut(d, c, most - 5 * number)
            )

        def ingest(self, store: Store | None = None, **options: Any) -> Any:
            source = folder_source(self.folder, "wiki", "org/app")
            return ingest(
                store or self.store, self.model, source,
                allow_mass_delete=True, batch_documents=2, config={"embed_at_once": 2}, **options,
            )  # fmt: skip

        @rule(name=NAMES, text=TEXTS)
        def add_or_edit(self, name: str, text: str) -> None:
            self.write(name, text)

        @rule(of=st.integers(0, 9), name=NAMES)
        def rename(self, of: int, name: str) -> None:
            files = self.files()
            target = self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            files[of % len(files)].rename(target)

        @precondition(lambda self: len(self.files()) > 1)
        @rule(of=st.integers(0, 9))
        def delete(self, of: int) -> None:
            files = self.files()
            files[of % len(files)].unlink()

        @rule(at=st.integers(1, 14), after=st.booleans())
        def crash(self, at: int, after: bool) -> None:
            with crashing(at, after):
                self.ingest()
            self.check_whole()

        @rule()
        def ingest_with_a_model_that_fails(self) -> None:
            self.model.fails_on = "beta2"
            self.ingest()
            self.model.fails_on = "\0never"
            self.check_whole()

        @rule(wider=st.booleans(), at=st.integers(1, 20), after=st.booleans())
        def change_model(self, wider: bool, at: int, after: bool) -> None:
            """To one of another window and perhaps another dimension; killed once on the way."""
            model = new_embedder(f"words-{int(self.model.space.split('-')[1]) + 1}")
            model.dimensions, model.max_tokens = (48, 55) if wider else (32, 40)
            with crashing(at, after):
                migrate_model(self.store, model)
            self.check_whole()
            if collection_info(self.store).space != model.space:
                migrate_model(self.store, model)
            self.model = model
            self.check_whole()

        @rule()
        def change_chunker(self) -> None:
            self.chunker = (self.chunker + 1) % 3
            self.use_chunker(self.chunker)

        @rule()
        def compare(self) -> None:
            nonlocal compared
            compared += 1
            try_again(self.store)
            report = self.ingest()
            assert report.ok, report.failed
            fresh = new_store()
            self.ingest(fresh)
            here, there = contents(self.store), contents(fresh)
            self.forget(fresh)
            for held in (here, there):
                del held["embedding_cache"]  # keeps what it has seen
                held["repos"] = [row for row in held["repos"] if row[0] != "0"]
            assert here == there
            again = self.ingest()
            assert (again.chunks, again.embedded, again.documents_deleted) == (0, 0, 0)

        def check_whole(self) -> None:
            findings = verify(self.store)
            assert set(findings["kind"]) <= {"unfinished"}, findings

        def teardown(self) -> None:
            if hasattr(self, "store"):
                self.compare()
                self.forget(self.store)

        def forget(self, store: Store) -> None:
            drop_collection(store.dsn, store.collection)
            store.close()

    monkeypatch.setattr("dataflow.ingestion.model_migration.CHUNKS_AT_ONCE", 3)
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Collection,
        settings=settings(
            max_examples=int(os.environ.get("CROSSCORPUS_TEST_EXAMPLES", "12")),
            stateful_step_count=12,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert compared > 12
