"""Damage that is found and put right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ledger_rows import ledger

from operators.postgres.inspect.verify import LOST, verify
from operators.postgres.store import Store
from operators.postgres.write.document_writer import document_key

DAMAGE = {
    "lost_chunks": "DELETE FROM chunks WHERE document_id = 'd1' AND ordinal = 1",
    "stray_chunks": "DELETE FROM documents WHERE document_id = 'd1'",
    "unfinished": "DO $$ BEGIN EXECUTE 'DROP INDEX postings_code__terms'; END $$",
}

FAILED = "UPDATE documents SET state = 'failed', chunks = 0 WHERE document_id = 'd1'"

OF_TEXT = {
    "no_posting": "DELETE FROM postings WHERE chunk_id = 10",
    "wrong_posting": "UPDATE postings SET language = 'cobol' WHERE chunk_id = 10",
    "stray_posting": "UPDATE postings SET chunk_id = 99 WHERE chunk_id = 10",
    "terms": "UPDATE postings SET terms = trim_array(terms, 1), counts = trim_array(counts, 1)",
    "df": "UPDATE terms SET df = df + 1 WHERE term_id = (SELECT min(term_id) FROM terms)",
    "totals": "UPDATE corpora SET chunks = chunks + 3, total_length = total_length + 7",
    "repos": "UPDATE repos SET chunks = 40",
}


def damaged(store: Store, statement: str) -> None:
    store.execute(statement)


def held(store: Store) -> dict[str, Any]:
    """What searches read."""
    with store.transaction() as conn:
        return {
            table: sorted(conn.execute(f"SELECT {columns} FROM {table}").fetchall())
            for table, columns in {
                "chunks": "corpus, chunk_id, text, embedding::text",
                "postings": "corpus, chunk_id, repo, coalesce(language, ''), bm25::text",
                "terms": "corpus, term_id, df",
                "corpora": "corpus, chunks, total_length",
            }.items()
        } | {
            "repos": sorted(conn.execute("SELECT * FROM repos WHERE chunks > 0").fetchall()),
        }


def test_an_empty_collection_has_no_findings(make_store: Callable[..., Store]) -> None:
    assert verify(make_store()).is_empty()
    assert verify(make_store(None)).is_empty()


@pytest.mark.parametrize(
    ("kind", "statement"),
    [
        *DAMAGE.items(),
        ("lost_chunks", FAILED),
        ("lost_chunks", "UPDATE chunks SET ordinal = 5 WHERE chunk_id = 11"),
        *(pytest.param("text_index", of, id=name) for name, of in OF_TEXT.items()),
    ],
)
def test_each_damage_is_found_then_repaired(whole: Store, kind: str, statement: str) -> None:
    damaged(whole, statement)
    found = verify(whole)
    assert kind in found["kind"].to_list()
    assert not found["repaired"].any()
    assert verify(whole).equals(found), "looking changes nothing"
    assert kind in verify(whole, repair=True)["kind"].to_list()
    assert verify(whole).is_empty()


def test_a_damaged_document_is_taken_out_whole_and_read_again(whole: Store) -> None:
    damaged(whole, DAMAGE["lost_chunks"])
    assert "lost_chunks" in verify(whole, repair=True)["kind"].to_list()
    rows = ledger(whole, "code", "a")
    assert rows.filter(document_id="d1").select("content_hash", "state", "reason").rows() == [
        (None, "failed", LOST)
    ]
    assert {row[1] for row in held(whole)["chunks"]} == {1, 2}


def test_chunks_under_another_documents_key_go_and_the_document_stays(whole: Store) -> None:
    key = document_key("code", "a", "d0")
    damaged(whole, f"UPDATE chunks SET document_key = '{key}' WHERE chunk_id = 2")
    found = verify(whole, repair=True)
    assert found.select("kind", "document_id").rows() == [
        ("lost_chunks", "d2"),
        ("stray_chunks", "d2"),
    ]
    assert {row[1] for row in held(whole)["chunks"]} == {1, 10, 11}
    assert verify(whole).is_empty()


@pytest.mark.parametrize("kind", ["no_posting", "wrong_posting", "df"])
def test_what_follows_from_the_chunks_is_made_again_as_it_was(whole: Store, kind: str) -> None:
    before = held(whole)
    damaged(whole, OF_TEXT[kind])
    verify(whole, repair=True)
    assert held(whole) == before


@pytest.mark.parametrize(
    "damage",
    ["bm25 = '{1:0.5}/1000000000'", "terms = '{7}', counts = '{1}', length = 1"],
)
def test_terms_lengths_and_weights_are_computed_again_from_the_text(
    whole: Store, damage: str
) -> None:
    before = held(whole)
    damaged(whole, f"UPDATE postings SET {damage} WHERE chunk_id = 10")
    assert verify(whole, repair=True)["kind"].to_list() == ["text_index"]
    assert held(whole) == before
    assert verify(whole).is_empty()


def test_a_repaired_text_index_counts_what_was_taken_out_no_more(whole: Store) -> None:
    damaged(whole, DAMAGE["lost_chunks"])
    damaged(whole, OF_TEXT["df"])
    verify(whole, repair=True)
    assert verify(whole).is_empty()
    assert {row[1] for row in held(whole)["postings"]} == {1, 2}
