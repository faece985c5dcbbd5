from __future__ import annotations

from typing import Any

from operators.postgres.schema.plain_text import index_plain_text, words_of
from operators.postgres.search.text_search import plain_search
from operators.postgres.store import Store

INDEXES = "SELECT indexname FROM pg_indexes WHERE schemaname = %s AND indexdef LIKE '%%tsvector%%'"


def test_the_index_changes_no_answer_and_is_made_once(store: Store, filling: Any) -> None:
    filling.write(
        store, [{"chunk_id": n, "text": t} for n, t in enumerate(["flush it", "the cache"])]
    )
    queries = filling.queries([{"texts": ["flush"]}])
    before = plain_search(store, "code", queries, k=5)
    for _ in range(2):
        index_plain_text(store, ["code", "absent"])
    indexes = store.run(lambda conn: conn.execute(INDEXES, (store.schema,)).fetchall())
    assert len(indexes) == 1
    assert plain_search(store, "code", queries, k=5).equals(before)
    assert before["chunk_id"].to_list() == [0]


def test_a_new_collection_keeps_no_words(store: Store) -> None:
    assert "to_tsvector" in store.run(lambda conn: words_of(conn, "c"))
