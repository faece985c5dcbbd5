"""An open collection, and what it keeps of what it read."""

from __future__ import annotations

import contextvars
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from pgvector import SparseVector
from psycopg.conninfo import make_conninfo
from vector_indexes import build_vector_indexes

from operators.errors import CrosscorpusError, UnknownName
from operators.foundation.cancellation import Cancelled, Switch, waiting
from operators.postgres.errors import DatabaseError
from operators.postgres.row_writer import copy_rows, insert_rows, vector_bytes
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.search.text_search import bm25_search
from operators.postgres.search.vector_search import search_vectors
from operators.postgres.server_cursor import ROWS_AT_ONCE, over_rows
from operators.postgres.state_cache import VersionedCache
from operators.postgres.store import (
    CollectionInfo,
    ModelMismatch,
    Store,
    collection_info,
    collections,
    drop_collection,
    open_store,
    schema_of,
    set_model,
)
from operators.postgres.superseded_counts import SupersededCounts

Make = Callable[..., Store]

# Makes, with the other processes that run it, each collection that a line of its input names.
INGESTING = """
import sys
import polars as pl
from operators.postgres.errors import DatabaseError
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.store import open_store, set_model
from operators.postgres.write.document_writer import write_documents

dsn, documents, chunks = sys.argv[1], pl.read_ipc(sys.argv[2]), pl.read_ipc(sys.argv[3])
print("ready", flush=True)
for line in sys.stdin:
    with open_store(dsn, line.strip(), create=True, max_size=2) as store:
        set_model(store, "test", "test-space", 8)
        write_documents(store, documents, chunks)
        make_searchable(store)
    print("done", flush=True)
"""


def test_processes_that_make_a_collection_and_its_first_corpus_at_once_all_write(
    server_dsn: str, tmp_path: Path, filling: Any
) -> None:
    processes = []
    for number in range(5):
        chunks = filling.chunks([{"chunk_id": number + 1}])
        written = tmp_path / f"documents{number}", tmp_path / f"chunks{number}"
        for frame, path in zip((filling.documents(chunks), chunks), written, strict=True):
            frame.write_ipc(path)
        processes.append(
            subprocess.Popen(
                [sys.executable, "-c", INGESTING, server_dsn, *map(str, written)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    assert all(p.stdout is not None and p.stdin is not None for p in processes)
    try:
        assert [p.stdout.readline() for p in processes] == ["ready\n"] * 5
        for name in (f"at-once-{number}" for number in range(6)):
            for process in processes:
                process.stdin.write(name + "\n")
                process.stdin.flush()
            answers = [p.stdout.readline() for p in processes]
            assert answers == ["done\n"] * 5, [p.communicate()[1] for p in processes if p.poll()]
            with open_store(server_dsn, name) as store:
                assert collection_info(store).corpora == {"code": 5}
            drop_collection(server_dsn, name)
    finally:
        for process in processes:
            process.communicate()


def test_an_unknown_collection_is_an_error_with_the_nearest_name(
    server_dsn: str, store: Store
) -> None:
    with pytest.raises(UnknownName, match=f"did you mean '{store.collection}'"):
        open_store(server_dsn, store.collection + "x")


@pytest.mark.parametrize("name", ["", "a b", "é", 'x"; DROP SCHEMA public; --', "-x", "x" * 201])
def test_a_name_that_is_no_name_is_refused(server_dsn: str, name: str) -> None:
    with pytest.raises(CrosscorpusError, match="collection name"):
        open_store(server_dsn, name, create=True)


def test_a_long_name_is_hashed_and_still_listed_by_its_own(server_dsn: str) -> None:
    name = "long-" + "x" * 150
    assert len(schema_of(name)) == 63
    assert schema_of(name) != schema_of(name + "y")
    open_store(server_dsn, name, create=True).close()
    assert name in collections(server_dsn)
    with open_store(server_dsn, name) as store:
        assert store.collection == name
    drop_collection(server_dsn, name)
    assert name not in collections(server_dsn)


def test_the_extension_may_be_in_a_schema_off_the_search_path(
    server_dsn: str, filling: Any
) -> None:
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute("CREATE DATABASE elsewhere")
    dsn = make_conninfo(server_dsn, dbname="elsewhere")
    try:
        with psycopg.connect(dsn) as admin:
            admin.execute('CREATE SCHEMA "of types"; CREATE EXTENSION vector SCHEMA "of types"')
        with open_store(dsn, create=True, max_size=2) as store:
            set_model(store, "test", "test-space", 8)
            chunks = filling.write(store, [{"chunk_id": 1}])
            build_vector_indexes(store)
            found = search_vectors(
                store,
                "code",
                filling.queries([{}]),
                filling.embeddings(chunks["embedding"].to_list()),
                k=1,
            )
        assert found["chunk_id"].to_list() == [1]
    finally:
        with psycopg.connect(server_dsn, autocommit=True) as admin:
            admin.execute("DROP DATABASE elsewhere WITH (FORCE)")


def test_collections_do_not_see_each_other(make_store: Make, filling: Any) -> None:
    one, two = make_store(), make_store()
    filling.write(one, [{"chunk_id": 1}])
    assert collection_info(one).corpora == {"code": 1}
    assert collection_info(two).corpora == {}


def test_dropping_an_unknown_collection_is_an_error(server_dsn: str) -> None:
    with pytest.raises(UnknownName):
        drop_collection(server_dsn, "never-made")


def test_a_collection_that_was_dropped_in_use_is_said_to_be_gone(server_dsn: str) -> None:
    with open_store(server_dsn, "dropped-in-use", create=True) as opened:
        drop_collection(server_dsn, "dropped-in-use")
        opened.forget_info()
        with pytest.raises(CrosscorpusError, match=r"the collection is gone .*dropped meanwhile"):
            collection_info(opened)


def test_a_drop_that_meets_a_question_begins_again(server_dsn: str) -> None:
    name = "dropped-beside-a-question"
    with open_store(server_dsn, name, create=True):
        pass
    schema = psycopg.sql.Identifier(schema_of(name))
    read = psycopg.sql.SQL("SELECT FROM {}.{} LIMIT 1")
    tables = [psycopg.sql.Identifier(one) for one in ("chunks", "documents", "corpora")]
    with psycopg.connect(server_dsn) as reader, ThreadPoolExecutor(1) as pool:
        reader.execute("SET deadlock_timeout = '1min'")  # so that the drop is what ends
        reader.execute(read.format(schema, tables[0]))
        dropped = pool.submit(drop_collection, server_dsn, name)
        while not reader.execute(
            "SELECT FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
            " AND relation = %s::regclass",
            (f'"{schema_of(name)}".chunks',),
        ).fetchall():
            time.sleep(0.01)
        for table in tables[1:]:
            reader.execute(read.format(schema, table))
        reader.rollback()
        dropped.result(timeout=60)
    assert name not in collections(server_dsn)


def test_an_open_collection_says_that_its_vectors_were_lost(
    server_dsn: str, store: Store, filling: Any
) -> None:
    filling.write(store, [{"text": "flush the cache"}])
    make_searchable(store)
    queries = filling.queries([{"texts": ["cache"]}])
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f'ALTER TABLE "{store.schema}".chunks DROP COLUMN embedding')
        admin.execute(f'ALTER TABLE "{store.schema}".postings DROP COLUMN bm25')
    for search in (
        lambda: search_vectors(store, "code", queries, filling.embeddings([[1.0] * 8]), k=1),
        lambda: bm25_search(store, "code", queries, k=1),
        lambda: filling.write(store, [{}]),
        lambda: open_store(server_dsn, store.collection),
    ):
        with pytest.raises(DatabaseError, match="lost its vectors") as caught:
            search()
        assert caught.value.kind == "lost_vectors"


def test_another_model_is_an_error_that_names_both(store: Store) -> None:
    set_model(store, "test", "test-space", 8)
    with pytest.raises(ModelMismatch, match=r"'test'.*'other'"):
        set_model(store, "other", "other-space", 8)


@pytest.mark.parametrize(
    ("held", "given", "way"),
    [
        ("static", "minilm", r"set embedding: static \(when ingesting --model\)"),
        ("onnx:bge", "minilm", r"set embedding: onnx:DIR \(the directory of 'bge'\)"),
        ("onnx:bge", "onnx:bge", "weights, pooling, prefixes or window differ: bring it over"),
    ],
)
def test_the_way_back_to_the_collections_model_can_be_followed(
    make_store: Make, held: str, given: str, way: str
) -> None:
    store = make_store(None)
    set_model(store, held, "one-space", 8)
    with pytest.raises(ModelMismatch, match=f"space one-space.*space other-space.*: {way}"):
        set_model(store, given, "other-space", 8)


def test_the_model_is_stored_with_the_collection(server_dsn: str, store: Store) -> None:
    with open_store(server_dsn, store.collection) as again:
        info = collection_info(again)
    assert (info.model, info.space, info.dimensions) == ("test", "test-space", 8)


def test_settings_end_with_their_transaction(store: Store) -> None:
    with store.transaction({"statement_timeout": "1234"}) as conn:
        assert conn.execute("SHOW statement_timeout").fetchone() == ("1234ms",)
        assert conn.execute("SELECT current_schema()").fetchone() == (store.schema,)
    with store.pool.connection() as conn:
        assert conn.execute("SHOW statement_timeout").fetchone() == ("0",)


def test_a_store_does_not_print_its_dsn(store: Store) -> None:
    assert store.dsn not in repr(store)


def test_what_a_collection_holds_is_read_at_most_once_a_second(store: Store, filling: Any) -> None:
    filling.write(store, [{}])
    assert collection_info(store).corpora == {"code": 1}
    store.execute("DELETE FROM repos")
    store.execute("DELETE FROM documents")
    assert collection_info(store).corpora == {"code": 1}
    store.forget_info()
    assert collection_info(store).corpora == {}


def test_settings_hold_where_the_tables_are(store: Store) -> None:
    """On a cluster too: the function runs on the node that holds the table."""
    read = "SELECT current_setting('hnsw.ef_search'), current_setting('work_mem') FROM collection"
    with store.transaction({"hnsw.ef_search": "123", "work_mem": "61MB"}) as conn:
        assert conn.execute(read).fetchone() == ("123", "61MB")
    with store.transaction({"hnsw.ef_search": "7"}) as conn:
        found = conn.execute(read).fetchone()
        assert found[0] == "7"
        assert found[1] != "61MB"


def test_a_reader_may_search_and_is_told_that_it_may_not_write(
    server_dsn: str, store: Store, filling: Any
) -> None:
    filling.write(store, [{}])
    role = f"reader_{store.collection}"
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute("SET citus.multi_shard_modify_mode = 'sequential'")
        admin.execute(f'CREATE ROLE "{role}" LOGIN')
        admin.execute(f'GRANT USAGE ON SCHEMA "{store.schema}" TO "{role}"')
        admin.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{store.schema}" TO "{role}"')
    dsn = f"{server_dsn} options='-c role={role}'"
    try:
        with open_store(dsn, store.collection) as reader:
            assert collection_info(reader).corpora == {"code": 1}
            with pytest.raises(CrosscorpusError, match=r"privilege|permission|may"):
                filling.write(reader, [{}])
    finally:
        with psycopg.connect(server_dsn, autocommit=True) as admin:
            admin.execute(f'DROP OWNED BY "{role}"')
            admin.execute(f'DROP ROLE "{role}"')


@pytest.mark.parametrize(
    ("repos", "many"),
    [
        ({}, False),
        ({"code": {"o/a": 3}, "wiki": {"": 2}}, False),
        ({"code": {"o/a": 3}, "wiki": {"o/a": 2}}, False),
        ({"code": {"o/a": 3}, "wiki": {"o/b": 2}}, True),
        ({"code": {"o/a": 3, "": 1}}, True),
    ],
)
def test_a_path_needs_its_repository_where_there_are_several(
    repos: dict[str, dict[str, int]], many: bool
) -> None:
    assert CollectionInfo(None, None, None, {}, repos).many_repos is many


def test_a_server_without_collections_says_how_to_name_another(
    server_dsn: str, database: str
) -> None:
    with pytest.raises(UnknownName, match="has none: CROSSCORPUS_HOME and CROSSCORPUS_DSN say"):
        open_store(make_conninfo(server_dsn, dbname=database), "team")


def test_a_collection_that_a_replica_lacks_or_has_in_an_older_version_is_one_line(
    replicated: Any,
) -> None:
    name = "follows"
    with pytest.raises(UnknownName, match=r"this replica has it some time later\)$"):
        open_store(replicated.replica, name)
    with open_store(replicated.primary, name, create=True) as made:
        made.execute("DELETE FROM migrations WHERE name LIKE '0100%'")
        replicated.catch_up()
        with pytest.raises(CrosscorpusError, match="if this is a replica, on its primary"):
            open_store(replicated.replica, name)
        drop_collection(made.dsn, name)


def test_work_that_a_replica_interrupts_starts_again(replicated: Any) -> None:
    with (
        open_store(replicated.primary, "again", create=True) as primary,
        ThreadPoolExecutor(1) as other,
    ):
        replicated.catch_up()
        holds, calls = threading.Event(), []

        def work(conn: Any) -> int:
            calls.append(conn.execute("SELECT FROM chunks").fetchall())
            holds.set()
            conn.execute("SELECT pg_sleep(%s)", (20 if len(calls) == 1 else 0,))
            return len(calls)

        with open_store(replicated.replica, "again", max_size=1) as replica:
            answer = other.submit(replica.run, work)
            assert holds.wait(10)
            primary.execute("LOCK TABLE chunks IN ACCESS EXCLUSIVE MODE")
            assert answer.result(timeout=30) > 1
        drop_collection(primary.dsn, "again")


def test_a_statement_for_which_nobody_waits_ends_and_its_connection_is_used_again(
    store: Store,
) -> None:
    switch = Switch()
    context = contextvars.copy_context()
    context.run(waiting.set, switch)
    threading.Timer(0.3, switch.throw).start()
    began = time.monotonic()
    with pytest.raises(CrosscorpusError):
        context.run(store.row, "SELECT pg_sleep(30)")
    assert time.monotonic() - began < 10
    with pytest.raises(Cancelled):
        context.run(store.row, "SELECT 1")
    assert [store.row("SELECT 1") for _ in range(20)] == [(1,)] * 20


def test_an_answer_is_looked_up_once_while_the_state_stays() -> None:
    kept, asked = VersionedCache[int](), list[int]()

    def look_up() -> int:
        asked.append(1)
        return len(asked)

    assert [kept.get("a", state, look_up, most=2) for state in (1, 1, 2, 2)] == [1, 1, 2, 2]


def test_nothing_is_kept_while_the_state_changes() -> None:
    kept = VersionedCache[int]()
    assert [kept.get("a", None, lambda n=n: n, most=2) for n in (1, 2)] == [1, 2]  # type: ignore[misc]
    assert len(kept) == 0


def test_the_latest_answers_stay() -> None:
    kept = VersionedCache[str]()
    for most, left in ((2, "cd"), (1, "d")):
        for key in "abcd":
            kept.get(key, 1, lambda key=key: key, most=most)  # type: ignore[misc]
        assert len(kept) == most
        again = [kept.get(key, 1, lambda: "new", most=9) for key in left]
        assert again == list(left)


def test_a_row_without_a_vector_gets_none_and_the_next_vector_goes_to_the_next_row() -> None:
    one, two = vector_bytes([[1.0], [2.0]], [True, True])
    assert vector_bytes([[1.0], [2.0]], [False, True, False, True]) == [None, one, None, two]
    assert one != two


def test_vectors_arrive_as_the_server_s_own_text_form_gives_them(store: Store) -> None:
    vectors = np.array([[1.5, -2.0, 65504.0], [0.0, 0.25, 1.0]], np.float32)
    halves = vector_bytes(vectors, [True, True])
    sparse = SparseVector({0: 0.5, 6: 2.0}, 10).to_binary()

    def work(conn):
        conn.execute("CREATE TEMP TABLE made (n int, h halfvec(3), s sparsevec(10))")
        columns = {"n": "int4", "h": "bytea", "s": "bytea"}
        copy_rows(conn, "made", columns, [(1, halves[0], sparse), (2, halves[1], None)])
        return conn.execute("SELECT n, h::text, s::text FROM made ORDER BY n").fetchall()

    assert store.run(work) == [
        (1, "[1.5,-2,65504]", "{1:0.5,7:2}/10"),
        (2, "[0,0.25,1]", None),
    ]


def test_integers_and_none_are_inserted_as_they_are(store: Store) -> None:
    rows = [(1, 2**63 - 1, "a"), (-2, None, None), (None, -(2**63), '{"')]

    def work(conn):
        conn.execute("CREATE TEMP TABLE made (n int4, big int8, word text)")
        insert_rows(conn, "made", {"n": "int4", "big": "int8", "word": "text"}, rows)
        insert_rows(conn, "made", {"n": "int4", "big": "int8", "word": "text"}, [])
        return conn.execute("SELECT * FROM made ORDER BY n").fetchall()

    assert store.run(work) == sorted(rows, key=lambda row: (row[0] is None, row[0] or 0))


NUMBERS = "SELECT n FROM generate_series(1, %s) AS n ORDER BY n"


def test_every_row_comes_once_and_in_order_beyond_one_piece(store: Store) -> None:
    count = 2 * ROWS_AT_ONCE + 1
    found = over_rows(store, NUMBERS, (count,), lambda rows: [row[0] for row in rows])
    assert found == list(range(1, count + 1))


def test_who_stops_early_leaves_the_connection_usable(store: Store) -> None:
    assert over_rows(store, NUMBERS, (10 * ROWS_AT_ONCE,), lambda rows: next(rows)[0]) == 1
    assert over_rows(store, NUMBERS, (3,), lambda rows: len(list(rows))) == 3


def test_a_mistake_of_the_statement_is_one_line(store: Store) -> None:
    with pytest.raises(DatabaseError) as error:
        over_rows(store, "SELECT 1 / n FROM generate_series(0, 0) AS n", (), list)
    assert "\n" not in str(error.value)


DAY = datetime(2024, 5, 1, tzinfo=UTC)
KNOWN = SupersededCounts((DAY, DAY + timedelta(days=3)), (4, 9))


@pytest.mark.parametrize(
    ("moment", "chunks"),
    [
        (None, 9),
        (DAY - timedelta(seconds=1), 0),
        (DAY, 4),
        (DAY + timedelta(days=2), 4),
        (DAY + timedelta(days=3), 9),
    ],
)
def test_a_moment_has_what_was_replaced_by_the_end_of_the_days_before_it(
    moment: datetime | None, chunks: int
) -> None:
    assert KNOWN.by(moment) == chunks


def test_where_nothing_is_replaced_there_is_none_at_any_moment() -> None:
    assert (SupersededCounts().by(None), SupersededCounts().by(DAY)) == (0, 0)
