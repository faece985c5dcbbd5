from __future__ import annotations

from typing import Any

from operators.postgres.store import Store
from operators.postgres.write.postings import average_length, count_terms, rebuild_postings

POSTINGS = "SELECT chunk_id, terms, bm25::text FROM postings WHERE corpus = 'code' ORDER BY 1"
TERMS = "SELECT * FROM terms WHERE corpus = 'code' ORDER BY 1"


def test_a_rebuilt_text_index_is_the_one_that_was_written(store: Store, filling: Any) -> None:
    rows = [{"chunk_id": n, "text": f"flush the cache {n}", "title": "Cache"} for n in range(5)]
    filling.write(store, rows)

    def read(conn):
        return conn.execute(POSTINGS).fetchall(), conn.execute(TERMS).fetchall()

    before = store.run(read)
    store.run(lambda conn: rebuild_postings(conn, "code"))
    assert store.run(read) == before
    assert len(before[0]) == 5


def test_the_terms_of_a_chunk_are_those_of_its_title_path_and_text(filling: Any) -> None:
    (counted,) = count_terms(
        filling.chunks([{"title": "Cache", "path": "a/flush.py", "text": "x1"}])
    )
    (other,) = count_terms(filling.chunks([{"title": None, "path": None, "text": "x1"}]))
    assert set(other.terms.tolist()) < set(counted.terms.tolist())


def test_a_corpus_without_totals_has_the_average_length_one(store: Store) -> None:
    assert store.run(lambda conn: average_length(conn, "nowhere")) == 1
