from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from operators.errors import CrosscorpusError
from operators.postgres.store import Store
from operators.postgres.write.ledger import record_failure
from operators.postgres.write.source_ownership import take_ownership

SCOPES = [("docs", "app"), ("code", "app")]


def fill(store: Store, reader: str = "git/1") -> None:
    record_failure(store, "docs", "app", "d", "no text", fingerprint=f"{reader} rest")


def test_a_source_is_known_again_by_any_address_it_had_the_last_time(store: Store) -> None:
    for addresses in (["/a", "host/app"], ["/b", "host/app"], ["/b"], ["/b", "/c"]):
        take_ownership(store, "git/1", SCOPES, addresses)
        fill(store)
    with pytest.raises(CrosscorpusError, match=r"'app' in docs .* from /b \(/c\), .* this is /a"):
        take_ownership(store, "git/2", SCOPES, ["/a"])


def test_a_refused_source_takes_nothing_of_what_it_asked_for(store: Store) -> None:
    take_ownership(store, "git/1", SCOPES, ["/a"])
    fill(store)
    with pytest.raises(CrosscorpusError):
        take_ownership(store, "git/1", [*SCOPES, ("history", "app")], ["/b"])
    take_ownership(store, "git/1", [("history", "app")], ["/a"])
    take_ownership(store, "git/1", SCOPES, ["/a"])


def test_sources_of_other_kinds_names_and_no_address_are_not_in_the_way(store: Store) -> None:
    take_ownership(store, "git/1", SCOPES, ["/a"])
    fill(store)
    take_ownership(store, "folder/1", SCOPES, ["/b"])
    take_ownership(store, "git/1", [("docs", "other")], ["/b"])
    take_ownership(store, "git/1", SCOPES, [])


def test_several_that_come_first_at_once_do_not_fail(store: Store) -> None:
    with ThreadPoolExecutor(2) as threads:
        for _ in threads.map(lambda _: take_ownership(store, "git/1", SCOPES, ["/a"]), range(8)):
            pass
