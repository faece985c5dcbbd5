"""What is on record of sources, runs, versions and what was left out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from operators.postgres.store import Store
from operators.postgres.undeleted_notes import LEFT_OUT
from operators.postgres.write import ingestion_runs, sync_state
from operators.postgres.write.ingestion_runs import begin_run
from operators.postgres.write.left_out import record_left_out
from operators.postgres.write.source_ownership import take_ownership
from operators.postgres.write.sync_state import SyncItem, count_items, save_items, stored_items

START = datetime(2024, 1, 1, tzinfo=UTC)


def item(item_id: int, number: int = 1, kind: str = "comment", second: int = 0) -> SyncItem:
    changed = START + timedelta(seconds=second)
    return SyncItem(kind, item_id, number, changed, "h", {"body": f"\x00\ud800 {item_id}"})


def test_items_come_back_by_number_kind_and_id_whatever_the_page(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [item(n, number=n % 3, kind=("review", "comment")[n % 2]) for n in range(1, 12)]
    save_items(store, "s", items, {})
    save_items(store, "other", [item(1)], {})
    expected = sorted(items, key=lambda i: (i.number, i.kind, i.item_id))
    for page in (1, 3, 11, 100):
        monkeypatch.setattr(sync_state, "PAGE", page)
        assert [*stored_items(store, "s")] == expected
    assert count_items(store, "s") == 11


SCOPES = [("docs", "app"), ("code", "app")]
APP = [("docs", "org/app"), ("code", "org/app")]


def test_several_that_come_first_at_once_do_not_fail(store: Store) -> None:
    with ThreadPoolExecutor(2) as threads:
        for _ in threads.map(lambda _: take_ownership(store, "git/1", SCOPES, ["/a"]), range(8)):
            pass


def test_old_runs_are_forgotten(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion_runs, "KEPT", 3)
    for n in range(6):
        begin_run(store, f"source/{n}", [])
    kept = store.rows("SELECT source FROM runs ORDER BY run_id")
    assert kept == [("source/3",), ("source/4",), ("source/5",)]


def test_a_command_that_is_not_utf8_is_not_kept(store: Store) -> None:
    begin_run(store, "source", [], command=["/src", "ingest", "folder", "caf\udce9"])
    begin_run(store, "source", [], command=["/src", "ingest", "folder", "café"])
    kept = store.rows("SELECT command FROM runs ORDER BY run_id")
    assert kept == [(None,), (["/src", "ingest", "folder", "café"],)]


def kept(store: Store) -> set[tuple[str, str, str, str]]:
    rows = store.rows(f"SELECT corpus, repo, document_id, reason FROM ({LEFT_OUT}) d")
    return {(corpus, repo, name, why) for corpus, repo, name, why in rows}


def test_a_scan_replaces_what_the_last_one_of_its_source_left_out(store: Store) -> None:
    other = ("docs", "org/other", "a.png")
    record_left_out(store, "git/3", [other[:2]], [(other, "binary")])
    first = [(("docs", "org/app", "a.md"), "binary"), (("code", "org/app", "b.py"), "too large")]
    record_left_out(store, "git/3", APP, first)
    assert len(kept(store)) == 3
    record_left_out(store, "git/4", APP, [(("docs", "org/app", "a.md"), "symbolic link")])
    assert kept(store) == {(*other, "binary"), ("docs", "org/app", "a.md", "symbolic link")}
    record_left_out(store, "folder/1", APP, [])
    assert len(kept(store)) == 2
    record_left_out(store, "git/4", APP, [])
    assert kept(store) == {(*other, "binary")}
