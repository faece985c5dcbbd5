from __future__ import annotations

from typing import Any

import pytest

from operators.postgres.search.known_versions import known_versions
from operators.postgres.store import Store
from operators.postgres.write.document_writer import delete_documents, document_key


def _place(store: Store, document_id: str, version: str, position: int) -> None:
    store.run(
        lambda conn: conn.execute(
            "INSERT INTO document_versions (document_key, corpus, lineage_id, version, position,"
            " newest, indexed_at) VALUES (%s, 'docs', 'guide', %s, %s, %s, now())",
            (document_key("docs", "", document_id), version, position, position == 1),
        )
    )


def test_a_deleted_document_takes_its_rows_along(store: Store, filling: Any) -> None:
    filling.write(
        store, [{"corpus": "docs", "document_id": d, "chunk_id": n} for n, d in enumerate("ab")]
    )
    _place(store, "a", "1", 0)
    _place(store, "b", "2", 1)
    store.run(
        lambda conn: conn.execute(
            "INSERT INTO superseded_chunks VALUES ('docs', 0, %s, 'same', 1, NULL, NULL)",
            (document_key("docs", "", "a"),),
        )
    )
    delete_documents(store, "docs", "", ["a"])
    assert known_versions(store)["version"].to_list() == ["2"]
    assert store.run(lambda conn: conn.execute("SELECT * FROM superseded_chunks").fetchall()) == []


def test_only_documents_of_the_ledger_have_versions(store: Store) -> None:
    with pytest.raises(Exception, match="document_versions"):
        _place(store, "nowhere", "1", 0)


def test_what_a_deleted_document_stood_for_is_current_again(store: Store, filling: Any) -> None:
    rows = [{"corpus": "docs", "document_id": d, "chunk_id": n} for n, d in enumerate("ab")]
    filling.write(store, rows)
    insert = "INSERT INTO superseded_chunks VALUES ('docs', 0, %s, 'same', 1, NULL, NULL)"
    key = document_key("docs", "", "a")
    store.run(lambda conn: conn.execute(insert, (key,)))
    filling.write(store, rows[1:])
    assert len(store.run(lambda c: c.execute("SELECT 1 FROM superseded_chunks").fetchall())) == 1
    delete_documents(store, "docs", "", ["b"])
    assert store.run(lambda c: c.execute("SELECT 1 FROM superseded_chunks").fetchall()) == []


def test_an_old_version_that_is_written_anew_stays_old_until_versions_are_found(
    store: Store, filling: Any
) -> None:
    def chunks(document: str, ids: range) -> list[dict[str, Any]]:
        return [
            {"corpus": "docs", "document_id": document, "chunk_id": n, "ordinal": place}
            for place, n in enumerate(ids)
        ]

    def superseded() -> list[Any]:
        return store.run(
            lambda conn: conn.execute(
                "SELECT chunk_id, relation, by_chunk, last_version FROM superseded_chunks"
                " ORDER BY chunk_id"
            ).fetchall()
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
