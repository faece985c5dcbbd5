from __future__ import annotations

import pytest

from operators.postgres.store import Store
from operators.postgres.write import ingestion_runs
from operators.postgres.write.ingestion_runs import begin_run


def test_old_runs_are_forgotten(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion_runs, "KEPT", 3)
    for n in range(6):
        begin_run(store, f"source/{n}", [])
    with store.transaction() as conn:
        kept = conn.execute("SELECT source FROM runs ORDER BY run_id").fetchall()
    assert kept == [("source/3",), ("source/4",), ("source/5",)]


def test_a_command_that_is_not_utf8_is_not_kept(store: Store) -> None:
    begin_run(store, "source", [], command=["/src", "ingest", "folder", "caf\udce9"])
    begin_run(store, "source", [], command=["/src", "ingest", "folder", "café"])
    with store.transaction() as conn:
        kept = conn.execute("SELECT command FROM runs ORDER BY run_id").fetchall()
    assert kept == [(None,), (["/src", "ingest", "folder", "café"],)]
