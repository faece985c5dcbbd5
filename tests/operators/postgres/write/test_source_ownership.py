"""One run at a time reads a source."""

from __future__ import annotations

from operators.postgres.store import Store
from operators.postgres.write.source_ownership import source_turn


def test_the_lock_on_a_source_does_not_keep_deleted_rows_from_being_removed(store: Store) -> None:
    held = "SELECT backend_xmin FROM pg_stat_activity WHERE application_name ^@ 'process '"
    with source_turn(store, "git/4", [("code", "org/app")]):
        assert store.rows(held) == [(None,)]
