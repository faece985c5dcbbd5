from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from operators.postgres.errors import DatabaseError
from operators.postgres.inspect.status import status
from operators.postgres.schema import indexes
from operators.postgres.schema.indexes import build_vector_index, make_searchable, pending_corpora
from operators.postgres.schema.partitions import ensure_partitions
from operators.postgres.store import Store


def test_an_index_that_the_server_refuses_is_an_error_of_one_line(store: Store) -> None:
    ensure_partitions(store, ["code"])
    with pytest.raises(DatabaseError, match="no_such_column") as refused:
        build_vector_index(store, "code", "an_index", "no_such_column", rows=1)
    assert "\n" not in str(refused.value)


def test_two_that_build_the_same_indexes_at_once_both_end_well(
    store: Store, filling: Any, server_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "EXACT_SCAN_MAX_ROWS", 0)
    filling.write(store, [{}, {}])
    waiting = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    with (
        ThreadPoolExecutor(2) as threads,
        psycopg.connect(server_dsn) as writer,
        psycopg.connect(server_dsn, autocommit=True) as watch,
    ):
        writer.execute(f'LOCK TABLE "{store.schema}".postings_code IN ROW EXCLUSIVE MODE')
        loads = [threads.submit(make_searchable, store, ["code"]) for _ in range(2)]
        while watch.execute(waiting).fetchone() != (2,):
            assert not any(load.done() for load in loads)
        writer.rollback()
        for load in loads:
            load.result()
    assert status(store)["vector_index"].to_list() == [True]


def test_finishing_builds_the_vector_index_only_beyond_what_is_scanned_exactly(
    store: Store, filling: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    filling.write(store, [{} for _ in range(30)])

    def made() -> set[str]:
        with store.transaction() as conn:
            rows = conn.execute(
                "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()"
            )
            return {name for (name,) in rows}

    monkeypatch.setattr(indexes, "EXACT_SCAN_MAX_ROWS", 30)
    make_searchable(store, ["code", "never written"])
    assert "chunks_code__hnsw" not in made()
    assert "postings_code__terms" in made()
    monkeypatch.setattr(indexes, "EXACT_SCAN_MAX_ROWS", 29)
    make_searchable(store)
    make_searchable(store)
    assert "chunks_code__hnsw" in made()


def test_a_corpus_is_unfinished_until_its_load_is_finished(store: Store, filling: Any) -> None:
    assert pending_corpora(store) == []
    filling.write(store, [{"corpus": "wiki"}, {"corpus": "code"}])
    assert pending_corpora(store) == ["code", "wiki"]
    make_searchable(store, ["code"])
    assert pending_corpora(store) == ["wiki"]
    make_searchable(store)
    assert pending_corpora(store) == []


def test_weights_of_an_old_average_length_are_unfinished(store: Store, filling: Any) -> None:
    filling.write(store, [{"text": "two words"}])
    make_searchable(store)
    filling.write(store, [{"text": "many more words than two " * 9} for _ in range(9)])
    assert pending_corpora(store) == ["code"]
    make_searchable(store)
    assert pending_corpora(store) == []


def test_a_corpus_that_outgrew_the_exact_scan_lacks_its_vector_index(
    store: Store, filling: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    filling.write(store, [{} for _ in range(5)])
    make_searchable(store)
    monkeypatch.setattr(indexes, "EXACT_SCAN_MAX_ROWS", 4)
    assert pending_corpora(store) == ["code"]
    make_searchable(store)
    assert pending_corpora(store) == []
