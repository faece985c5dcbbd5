from __future__ import annotations

import polars as pl

from operators.dedup.hit_lookup import of_hits
from operators.dedup.similarity_index import index_similarity
from operators.dedup.token_index import index_tokens


def frame(*rows: tuple[int, str]) -> pl.DataFrame:
    schema = {"chunk_id": pl.Int64, "text": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_known_sets_are_used_and_missing_ones_made_once() -> None:
    known = [index_tokens(frame((1, "one"), (2, "two"))), index_tokens(frame((3, "three")))]
    asked = frame((3, "?"), (4, "a b"), (1, "?"), (4, "a b"))
    sets, number = of_hits(asked, known, index_tokens)
    assert number.tolist() == [2, 3, 0, 3]
    assert sets[-1].sizes.tolist() == [2]
    assert of_hits(frame((2, "?")), known, index_tokens)[0] is known


def test_a_hit_without_a_known_chunk_has_an_entry_of_its_text_alone() -> None:
    vectors = pl.Series("embedding", [[1.0], [1.0]], dtype=pl.List(pl.Float32))
    known = [index_similarity(frame((0, "a"), (1, "old")).with_columns(vectors))]
    found, number = of_hits(frame((7, "new"), (1, "old"), (7, "new")), known, index_similarity)
    assert number.tolist() == [2, 1, 2]
    assert [one.text for one in found] == [["a", "old"], ["new"]]
    assert found[1].vector.shape == (1, 0)
