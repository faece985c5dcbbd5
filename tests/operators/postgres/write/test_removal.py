from __future__ import annotations

from typing import Any

import pytest
from psycopg.conninfo import make_conninfo

from operators.errors import UnknownName
from operators.postgres.store import Store
from operators.postgres.write.removal import choose_documents, delete_for_good, erase_log


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
    delete_for_good(store, chosen)
    with pytest.raises(UnknownName, match="no document is of repo 'org/app' and document"):
        choose_documents(store, repo="org/app", document="src/cache.py")
    assert choose_documents(store, document="src/cache.py")["repo"].to_list() == ["cc"]


def test_a_server_where_one_is_no_superuser_says_what_it_keeps(
    server_dsn: str, store: Store
) -> None:
    store.execute("CREATE ROLE plain_user LOGIN")
    try:
        (said,) = erase_log(make_conninfo(server_dsn, user="plain_user"))
    finally:
        store.execute("DROP ROLE plain_user")
    assert "only a superuser" in said
