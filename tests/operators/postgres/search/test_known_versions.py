from __future__ import annotations

from collections.abc import Callable
from typing import Any

from operators.postgres.search.known_versions import known_versions
from operators.postgres.store import Store
from operators.postgres.write.document_writer import document_key
from operators.postgres.write.version_store import mark_found


def test_known_versions_go_from_the_oldest_to_the_newest(store: Store, filling: Any) -> None:
    filling.write(
        store, [{"corpus": "docs", "document_id": d, "chunk_id": n} for n, d in enumerate("ab")]
    )
    insert = (
        "INSERT INTO document_versions (document_key, corpus, lineage_id, version, position,"
        " newest, indexed_at) VALUES (%s, 'docs', 'guide', %s, %s, %s, now())"
    )
    for document, version, position in (("b", "1.10", 1), ("a", "1.9", 0)):
        row = (document_key("docs", "", document), version, position, position == 1)
        store.run(lambda conn, row=row: conn.execute(insert, row))
    found = known_versions(store)
    assert found["version"].to_list() == ["1.9", "1.10"]
    assert found["newest"].to_list() == [False, True]


def test_a_collection_without_versions_has_none(store: Store) -> None:
    assert known_versions(store).is_empty()


def test_known_versions_are_read_again_only_when_they_were_found_anew(
    make_store: Callable[..., Store], filling: Any
) -> None:
    store = make_store()
    filling.write(store, [{"chunk_id": n, "document_id": f"d{n}"} for n in range(2)])

    def place(conn: Any, number: int) -> None:
        key = document_key("code", "", f"d{number}")
        conn.execute(
            "INSERT INTO document_versions VALUES (%s, 'code', 't', %s, %s, true, NULL, now())",
            (key, f"1.{number}", number),
        )

    store.run(lambda conn: place(conn, 0))
    mark_found(store, "code", 0, 1)
    store.forget_info()
    first = known_versions(store)
    store.run(lambda conn: place(conn, 1))
    assert known_versions(store) is first
    mark_found(store, "code", 0, 1)
    store.forget_info()
    assert known_versions(store)["version"].to_list() == ["1.0", "1.1"]
