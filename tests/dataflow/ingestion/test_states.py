"""Whatever happens to a source and to the runs over it: the collection is as one built afresh."""

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

from dataflow.ingestion import graph as ingestion_graph
from dataflow.ingestion import ingest
from dataflow.ingestion.model_migration import migrate_model
from operators.postgres.inspect.verify import verify
from operators.postgres.store import Store, collection_info, drop_collection
from operators.sources.chunking import chunker
from operators.sources.folder import folder_source

Read = Callable[[Store], dict[str, Any]]

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
                migrate_model(self.store, model, chunks_at_once=3)
            self.check_whole()
            if collection_info(self.store).space != model.space:
                migrate_model(self.store, model, chunks_at_once=3)
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
            drop_collection(store, store.collection)
            store.close()

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
