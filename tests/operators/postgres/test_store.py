"""An open collection, and what it keeps of what it read."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from vector_indexes import build_vector_indexes

from operators.errors import CrosscorpusError, UnknownName
from operators.foundation.cancellation import Cancelled, Switch, waiting
from operators.postgres.schema.caller_views import make_views
from operators.postgres.search.vector_search import search_vectors
from operators.postgres.server_cursor import ROWS_AT_ONCE, over_rows
from operators.postgres.store import (
    CollectionInfo,
    ModelMismatch,
    Store,
    collection_info,
    collections,
    drop_collection,
    open_store,
    rename_collection,
    schema_of,
    set_model,
)
from operators.postgres.write.document_writer import write_documents

Make = Callable[..., Store]


def test_an_unknown_collection_is_an_error_with_the_nearest_name(
    server_dsn: str, store: Store
) -> None:
    with pytest.raises(UnknownName, match=f"did you mean '{store.collection}'"):
        open_store(server_dsn, store.collection + "x")


@pytest.mark.parametrize("name", ["", "a b", 'x"; DROP SCHEMA public; --', "x" * 201])
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


def test_a_collection_that_was_dropped_in_use_is_said_to_be_gone(server_dsn: str) -> None:
    with open_store(server_dsn, "dropped-in-use", create=True) as opened:
        drop_collection(server_dsn, "dropped-in-use")
        opened.forget_info()
        with pytest.raises(CrosscorpusError, match=r"the collection is gone .*dropped meanwhile"):
            collection_info(opened)


def test_a_renamed_collection_keeps_all_that_it_holds_and_its_callers_rights(
    server_dsn: str, make_store: Make, filling: Any
) -> None:
    with make_store() as store:
        chunks = filling.chunks([{"text": "flush the cache"}])
        write_documents(store, filling.documents(chunks), chunks)
        store.run(lambda conn: make_views(conn, store.schema))
        with pytest.raises(CrosscorpusError, match="already"):
            rename_collection(server_dsn, store.collection, store.collection)
        with pytest.raises(UnknownName, match="did you mean"):
            rename_collection(server_dsn, store.collection + "x", "renamed")
        rename_collection(server_dsn, store.collection, "renamed")
        assert store.collection not in collections(server_dsn)
    with open_store(server_dsn, "renamed") as again:
        assert again.row("SELECT name FROM collection") == ("renamed",)
        assert again.rows("SELECT text FROM chunks") == [("flush the cache",)]
        again.execute("UPDATE chunks SET access = 7")
        with again.seen_by([0]).transaction() as conn:
            assert conn.execute("SELECT text FROM chunks").fetchall() == []
    rename_collection(server_dsn, "renamed", store.collection)  # its fixture drops it


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


@pytest.mark.parametrize(
    ("held", "given", "way"),
    [
        ("static", "minilm", r"set embedding: static \(when ingesting --model\)"),
        (
            "onnx:bge",
            "onnx:bge",
            "weights, pooling, prefixes or window differ: .*another coll",
        ),
    ],
)
def test_the_way_back_to_the_collections_model_can_be_followed(
    make_store: Make, held: str, given: str, way: str
) -> None:
    store = make_store(None)
    set_model(store, held, "one-space", 8)
    with pytest.raises(ModelMismatch, match=f"space one-space.*space other-space.*: {way}"):
        set_model(store, given, "other-space", 8)


def test_a_store_does_not_print_its_dsn(store: Store) -> None:
    assert store.dsn not in repr(store)


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


NUMBERS = "SELECT n FROM generate_series(1, %s) AS n ORDER BY n"


def test_who_stops_early_leaves_the_connection_usable(store: Store) -> None:
    assert over_rows(store, NUMBERS, (10 * ROWS_AT_ONCE,), lambda rows: next(rows)[0]) == 1
    assert over_rows(store, NUMBERS, (3,), lambda rows: len(list(rows))) == 3
