from __future__ import annotations

from typing import Any

from operators.postgres.store import Store
from operators.postgres.write.term_statistics import Deltas

COUNTED = """SELECT (SELECT sum(df) FROM terms WHERE corpus = 'code'),
    (SELECT chunks FROM corpora WHERE corpus = 'code'),
    (SELECT sum(cardinality(terms)) FROM postings WHERE corpus = 'code'),
    (SELECT count(*) FROM postings WHERE corpus = 'code')"""


def test_what_goes_out_and_comes_in_again_changes_nothing() -> None:
    deltas = Deltas()
    deltas.count("r", 3, [1, 2], 1)
    deltas.count("r", 3, [2, 5], -1)
    assert deltas.terms() == [(1, 1), (5, -1)]
    assert deltas.length == 0
    assert deltas.repos["r"] == 0
    assert Deltas().terms() == []


def test_counts_follow_what_is_stored_when_documents_are_written_again(
    store: Store, filling: Any
) -> None:
    rows = [{"chunk_id": n, "document_id": f"d{n}", "text": f"flush {n}"} for n in range(4)]
    filling.write(store, rows)
    filling.write(store, [{**rows[0], "text": "another text altogether"}])
    terms, chunks, held, postings = store.run(lambda conn: conn.execute(COUNTED).fetchone())
    assert (terms, chunks) == (held, postings)
    assert chunks == 4
