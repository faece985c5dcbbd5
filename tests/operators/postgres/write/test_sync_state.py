from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from operators.postgres.store import Store
from operators.postgres.write import sync_state
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
