from __future__ import annotations

from typing import Any

import pytest

from operators.postgres.inspect.verify import verify
from operators.postgres.store import Store

DAMAGE = {
    "lost_chunks": "DELETE FROM chunks WHERE document_id = 'd1' AND ordinal = 1",
    "no_posting": "DELETE FROM postings WHERE chunk_id = 10",
    "wrong_posting": "UPDATE postings SET language = 'cobol' WHERE chunk_id = 10",
    "stray_posting": "UPDATE postings SET chunk_id = 99 WHERE chunk_id = 10",
    "wrong_terms": "UPDATE postings SET terms = trim_array(terms, 1),"
    " counts = trim_array(counts, 1)",
    "wrong_df": "UPDATE terms SET df = df + 1 WHERE term_id = (SELECT min(term_id) FROM terms)",
    "wrong_totals": "UPDATE corpora SET chunks = chunks + 3, total_length = total_length + 7",
}


def damaged(store: Store, statement: str) -> None:
    with store.transaction() as conn:
        conn.execute(statement)


def held(store: Store) -> dict[str, Any]:
    """What searches read."""
    with store.transaction() as conn:
        return {
            table: sorted(conn.execute(f"SELECT {columns} FROM {table}").fetchall())
            for table, columns in {
                "chunks": "corpus, chunk_id, text, embedding::text",
                "postings": "corpus, chunk_id, repo, coalesce(language, ''), bm25::text",
                "terms": "corpus, term_id, df",
                "corpora": "corpus, chunks, total_length, average_length",
            }.items()
        } | {
            "repos": sorted(conn.execute("SELECT * FROM repos WHERE chunks > 0").fetchall()),
        }


@pytest.mark.parametrize(
    "kind",
    ["no_posting", "wrong_posting", "stray_posting", "wrong_terms", "wrong_df", "wrong_totals"],
)
def test_what_follows_from_the_chunks_is_made_again_as_it_was(whole: Store, kind: str) -> None:
    before = held(whole)
    damaged(whole, DAMAGE[kind])
    verify(whole, repair=True)
    assert held(whole) == before


@pytest.mark.parametrize(
    "damage",
    [
        "length = length + 1",
        "bm25 = '{1:0.5}/1000000000'",
        "terms = '{7}', counts = '{1}', length = 1",
    ],
)
def test_terms_lengths_and_weights_are_computed_again_from_the_text(
    whole: Store, damage: str
) -> None:
    before = held(whole)
    damaged(whole, f"UPDATE postings SET {damage} WHERE chunk_id = 10")
    found = verify(whole, repair=True).filter(kind="wrong_terms")
    assert found["says"].to_list() == [
        "text search knows 1 chunks by other terms than their text has"
    ]
    assert held(whole) == before
    assert verify(whole).is_empty()


def test_a_repaired_text_index_counts_what_was_taken_out_no_more(whole: Store) -> None:
    damaged(whole, DAMAGE["lost_chunks"])
    damaged(whole, DAMAGE["wrong_df"])
    verify(whole, repair=True)
    assert verify(whole).is_empty()
    assert {row[1] for row in held(whole)["postings"]} == {1, 2}
