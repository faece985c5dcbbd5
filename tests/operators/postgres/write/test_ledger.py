"""What is on record of sources, runs, versions and what was left out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from ledger_rows import ledger

from operators.errors import CrosscorpusError, UnknownName
from operators.postgres.document_key import document_key
from operators.postgres.search.chunk_reader import Wanted, fetch_chunks
from operators.postgres.search.known_versions import known_versions
from operators.postgres.store import Store
from operators.postgres.undeleted_notes import LEFT_OUT
from operators.postgres.write import ingestion_runs, sync_state
from operators.postgres.write.document_writer import delete_documents, write_documents
from operators.postgres.write.ingestion_runs import begin_run
from operators.postgres.write.ledger import (
    forget_failed_version,
    record_failed_version,
    record_failure,
)
from operators.postgres.write.left_out import record_left_out
from operators.postgres.write.removal import choose_documents, delete_chosen
from operators.postgres.write.source_ownership import take_ownership
from operators.postgres.write.sync_state import (
    SyncItem,
    count_items,
    drop_item,
    item_keys,
    latest_changes,
    save_items,
    stored_items,
    sync_value,
    sync_values,
)

NO_FAILURE = (None, None)


def test_the_ledger_tells_the_state_of_each_document(store: Store, filling: Any) -> None:
    chunks = filling.chunks([{"document_id": "b", "repo": "r"}, {"document_id": "a", "repo": "r"}])
    write_documents(store, filling.documents(chunks, "hash"), chunks[1:])
    record_failure(store, "code", "r", "c", "not\0text", content_hash="x", fingerprint="f")
    record_failure(store, "code", "r", "d", "scanned", state="no_text", fingerprint="f")
    record_failure(store, "code", "r", "e", "locked", state="encrypted", fingerprint="f")
    assert ledger(store, "code", "r").rows() == [
        ("a", "hash", "f", "indexed", None, *NO_FAILURE),
        ("b", "hash", "f", "empty", None, *NO_FAILURE),
        ("c", "x", "f", "failed", "not\ufffdtext", *NO_FAILURE),
        ("d", None, "f", "no_text", "scanned", *NO_FAILURE),
        ("e", None, "f", "encrypted", "locked", *NO_FAILURE),
    ]
    assert ledger(store, "code", "other").is_empty()


def test_a_failure_deletes_what_the_document_gave_before(store: Store, filling: Any) -> None:
    filling.write(store, [{"chunk_id": 1, "document_id": "d"}])
    record_failure(store, "code", "", "d", "broken")
    assert fetch_chunks(store, [Wanted("code", pl.Series([1]), filling.queries([{}]))]).is_empty()
    with store.transaction() as conn:
        for table in ("terms", "corpora WHERE chunks <> 0", "repos WHERE chunks <> 0"):
            assert conn.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)  # type: ignore[arg-type]
    filling.write(store, [{"chunk_id": 1, "document_id": "d"}])
    assert ledger(store, "code", "")["state"].to_list() == ["indexed"]


def test_a_failed_version_stands_beside_the_good_one_until_it_is_replaced_or_taken_back(
    store: Store, filling: Any
) -> None:
    filling.write(store, [{"chunk_id": 1, "document_id": "d"}])
    whole = ("indexed", None, *NO_FAILURE)
    outdated = ("indexed", None, "h f", "broken")
    states = ledger(store, "code", "").columns[3:]
    for mend in ("taken back", "replaced"):
        record_failed_version(store, "code", "", "d", "broken", "h f")
        assert ledger(store, "code", "").select(states).rows() == [outdated]
        assert (
            len(fetch_chunks(store, [Wanted("code", pl.Series([1]), filling.queries([{}]))])) == 1
        )
        if mend == "taken back":
            forget_failed_version(store, "code", "", "d")
        else:
            filling.write(store, [{"chunk_id": 1, "document_id": "d"}])
        assert ledger(store, "code", "").select(states).rows() == [whole]


def test_a_note_on_how_a_document_was_read_is_kept_and_goes_with_the_next_version(
    store: Store, filling: Any
) -> None:
    chunks = filling.chunks([{"document_id": "d"}])
    documents = filling.documents(chunks)
    write_documents(store, documents.with_columns(note=pl.lit("cut by lines")), chunks)
    assert ledger(store, "code", "").select("state", "reason").rows() == [
        ("indexed", "cut by lines")
    ]
    write_documents(store, documents, chunks)
    assert ledger(store, "code", "").select("state", "reason").rows() == [("indexed", None)]


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


def test_an_item_changes_with_its_time_or_its_content(store: Store) -> None:
    first = item(1, second=10)
    save_items(store, "s", [first], {})
    save_items(store, "s", [first], {})
    assert [*stored_items(store, "s")] == [first]
    edited = replace(first, content_hash="h2", data={"body": "edited in the same second"})
    save_items(store, "s", [edited], {})
    save_items(store, "s", [item(1, second=9)], {})
    assert [*stored_items(store, "s")] == [edited]


def test_of_an_item_given_twice_the_later_counts(store: Store) -> None:
    later, last = item(1, second=5), replace(item(1, second=5), content_hash="last")
    save_items(store, "s", [later, last, item(1, second=4)], {})
    assert [*stored_items(store, "s")] == [last]


def test_state_is_kept_with_the_items_and_forgotten(store: Store) -> None:
    save_items(store, "s", [], {"comments": {"cursor": "x", "etag": None}, "sweep": {"done": True}})
    assert sync_value(store, "s", "comments") == {"cursor": "x", "etag": None}
    assert sync_value(store, "s", "none") == sync_value(store, "t", "sweep") == {}
    save_items(store, "t", [], {"sweep": {"done": False}})
    assert sync_values(store, "sweep") == {"s": {"done": True}, "t": {"done": False}}
    save_items(store, "s", [], {"sweep": None})
    assert sync_values(store, "sweep") == {"t": {"done": False}}


def test_all_of_a_kind_under_a_number_is_replaced(store: Store) -> None:
    save_items(store, "s", [item(1), item(2), item(3, number=2), item(4, kind="review")], {})
    save_items(store, "s", [item(2), item(5)], {"n": {"x": 1}}, instead=("comment", 1))
    assert set(item_keys(store, "s", ["comment", "review"])) == {
        ("comment", 2), ("comment", 5), ("comment", 3), ("review", 4)
    }  # fmt: skip
    assert sync_value(store, "s", "n") == {"x": 1}


def test_an_item_is_dropped_by_kind_and_id(store: Store) -> None:
    save_items(store, "s", [item(1), item(1, kind="review"), item(2, number=9)], {})
    save_items(store, "t", [item(1)], {})
    for key in (("comment", 1), ("comment", 77)):
        drop_item(store, "s", key)
    assert item_keys(store, "s", ["comment", "review"]) == {("review", 1): 1, ("comment", 2): 9}
    assert count_items(store, "t") == 1


def test_the_latest_change_of_a_number_is_told(store: Store) -> None:
    save_items(
        store, "s", [item(1, second=3), item(2, second=8), item(3, kind="issue", second=9)], {}
    )
    assert latest_changes(store, "s", ["comment"]) == {1: START + timedelta(seconds=8)}


SCOPES = [("docs", "app"), ("code", "app")]
APP = [("docs", "org/app"), ("code", "org/app")]


def fill_by(store: Store, reader: str = "git/1") -> None:
    record_failure(store, "docs", "app", "d", "no text", fingerprint=f"{reader} rest")


def test_a_source_is_known_again_by_any_address_it_had_the_last_time(store: Store) -> None:
    for addresses in (["/a", "host/app"], ["/b", "host/app"], ["/b"], ["/b", "/c"]):
        take_ownership(store, "git/1", SCOPES, addresses)
        fill_by(store)
    with pytest.raises(CrosscorpusError, match=r"'app' in docs .* from /b \(/c\), .* this is /a"):
        take_ownership(store, "git/2", SCOPES, ["/a"])


def test_a_refused_source_takes_nothing_of_what_it_asked_for(store: Store) -> None:
    take_ownership(store, "git/1", SCOPES, ["/a"])
    fill_by(store)
    with pytest.raises(CrosscorpusError):
        take_ownership(store, "git/1", [*SCOPES, ("history", "app")], ["/b"])
    take_ownership(store, "git/1", [("history", "app")], ["/a"])
    take_ownership(store, "git/1", SCOPES, ["/a"])


def test_sources_of_other_kinds_names_and_no_address_are_not_in_the_way(store: Store) -> None:
    take_ownership(store, "git/1", SCOPES, ["/a"])
    fill_by(store)
    take_ownership(store, "folder/1", SCOPES, ["/b"])
    take_ownership(store, "git/1", [("docs", "other")], ["/b"])
    take_ownership(store, "git/1", SCOPES, [])


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


def test_documents_are_chosen_by_all_filters_and_deleted_with_their_chunks(
    store: Store, filling: Any
) -> None:
    filling.write(
        store,
        [
            {"repo": "org/app", "path": "src/cache.py"},
            {"repo": "org/app", "corpus": "docs", "path": "docs/cache.md"},
            {"repo": "cc", "path": "src/cache.py"},
        ],
    )
    chosen = choose_documents(store, repo="org/app", document="src/cache.py")
    assert chosen["corpus"].to_list() == ["code"]
    delete_chosen(store, chosen)
    with pytest.raises(UnknownName, match="no document is of repo 'org/app' and document"):
        choose_documents(store, repo="org/app", document="src/cache.py")
    assert choose_documents(store, document="src/cache.py")["repo"].to_list() == ["cc"]


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


def test_a_deleted_document_takes_its_rows_along(store: Store, filling: Any) -> None:
    rows = [{"corpus": "docs", "document_id": d, "chunk_id": n} for n, d in enumerate("ab")]
    filling.write(store, rows)
    filling.place(store, "docs", {"a": "1", "b": "2"})
    store.execute(
        "INSERT INTO superseded_chunks VALUES ('docs', 0, %s, 'same', 1, NULL, NULL)",
        (document_key("docs", "", "a"),),
    )
    delete_documents(store, "docs", "", ["a"])
    assert known_versions(store)["version"].to_list() == ["2"]
    assert store.rows("SELECT * FROM superseded_chunks") == []


def test_only_documents_of_the_ledger_have_versions(store: Store, filling: Any) -> None:
    with pytest.raises(Exception, match="document_versions"):
        filling.place(store, "docs", {"nowhere": "1"})


def test_what_a_deleted_document_stood_for_is_current_again(store: Store, filling: Any) -> None:
    rows = [{"corpus": "docs", "document_id": d, "chunk_id": n} for n, d in enumerate("ab")]
    filling.write(store, rows)
    insert = "INSERT INTO superseded_chunks VALUES ('docs', 0, %s, 'same', 1, NULL, NULL)"
    key = document_key("docs", "", "a")
    store.execute(insert, (key,))
    filling.write(store, rows[1:])
    assert len(store.rows("SELECT 1 FROM superseded_chunks")) == 1
    delete_documents(store, "docs", "", ["b"])
    assert store.rows("SELECT 1 FROM superseded_chunks") == []


def test_an_old_version_that_is_written_anew_stays_old_until_versions_are_found(
    store: Store, filling: Any
) -> None:
    def chunks(document: str, ids: range) -> list[dict[str, Any]]:
        return [
            {"corpus": "docs", "document_id": document, "chunk_id": n, "ordinal": place}
            for place, n in enumerate(ids)
        ]

    def superseded() -> list[Any]:
        return store.rows(
            "SELECT chunk_id, relation, by_chunk, last_version FROM superseded_chunks"
            " ORDER BY chunk_id"
        )

    filling.write(store, [*chunks("a", range(1, 4)), *chunks("b", range(11, 13))])
    insert = "INSERT INTO superseded_chunks VALUES ('docs', %s, %s, %s, %s, NULL, %s)"
    key = document_key("docs", "", "a")
    old = [(1, "same", 11, None), (2, "gone", None, "1.0"), (3, "revised", 12, None)]
    for chunk_id, relation, *of in old:
        store.run(lambda c, row=(chunk_id, key, relation, *of): c.execute(insert, row))
    filling.write(store, chunks("b", range(11, 13)))
    assert superseded() == old
    filling.write(store, chunks("a", range(1, 6)))
    more = [(4, "revised", 12, None), (5, "revised", 12, None)]
    assert superseded() == [*old, *more]
    filling.write(store, chunks("a", range(1, 3)))
    assert superseded() == old[:2]
    filling.write(store, [*chunks("a", range(21, 22)), *chunks("c", range(31, 32))])
    assert superseded() == [(21, "gone", None, "1.0")]
