from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation.disk_dict import DiskDict, NoScratch

KEYS = st.binary(max_size=4)
CHANGES = st.lists(st.tuples(st.sampled_from(["set", "delete", "default"]), KEYS, st.integers()))


@pytest.fixture
def held() -> Iterator[DiskDict[int]]:
    with closing(DiskDict[int]()) as made:
        yield made


@given(CHANGES, KEYS)
def test_it_is_a_dict_in_the_order_of_its_keys(
    changes: list[tuple[str, bytes, int]], prefix: bytes
) -> None:
    usual: dict[bytes, int] = {}
    with closing(DiskDict[int]()) as held:
        for change, key, value in changes:
            if change == "set":
                usual[key] = held[key] = value
            elif change == "default":
                assert usual.setdefault(key, value) == held.setdefault(key, value)
            else:
                assert usual.pop(key, None) == held.pop(key, None)
        assert list(held.items()) == sorted(usual.items())
        assert len(held) == len(usual)
        assert all(key in held for key in usual)
        found = [(key, value) for key, value in sorted(usual.items()) if key.startswith(prefix)]
        assert list(held.starting(prefix)) == found


def test_a_key_that_is_not_there_is_an_error(held: DiskDict[int]) -> None:
    with pytest.raises(KeyError):
        held[b"none"]
    with pytest.raises(KeyError):
        del held[b"none"]


def test_what_it_holds_takes_no_memory(held: DiskDict[int]) -> None:
    def put(start: int) -> int:
        held.update((b"%20d" % n, n) for n in range(start, start + 5_000))
        return sys.getallocatedblocks()

    first = put(0)
    assert put(5_000) - first < 100
    assert len(held) == 10_000


def test_a_full_disk_is_one_line_that_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    real = sqlite3.connect

    def small(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = real(*arguments, **options)
        connection.execute("PRAGMA max_page_count = 3")
        return connection

    monkeypatch.setattr(sqlite3, "connect", small)
    with (
        closing(DiskDict[int]()) as held,
        pytest.raises(NoScratch, match="full; make room in the folder for temporary files"),
    ):
        held.update((b"%d" % n, n) for n in range(10_000))
