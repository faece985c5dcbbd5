"""Of an answer it is said how likely its first passages answer the question."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.frames import EVIDENCE, FUSED, SCORE_SCALE, SIGNALS
from operators.ranking.evidence_level import STRONG_FROM, evidence_levels, sureness
from operators.signals.exact_phrase import said_exactly


def hits(similarities: list[float | None], documents: list[str], query: int = 0) -> pl.DataFrame:
    rows = [
        {
            "query_id": query,
            "chunk_id": rank,
            "rank": rank,
            "corpus": "docs",
            "repo": "r",
            "document_id": document,
            "vector_distance": None if near is None else 1 - near,
        }
        for rank, (near, document) in enumerate(zip(similarities, documents, strict=True))
    ]
    return pl.DataFrame(rows, schema=FUSED)


def scale(near: float = 1.0) -> pl.DataFrame:
    rows = [{"query_id": query, "corpus": "docs", "similarity": near} for query in (0, 1)]
    return pl.DataFrame(rows, schema=SCORE_SCALE)


def level(
    frame: pl.DataFrame,
    weak: Collection[int] = (),
    near: float = 1.0,
    exact: Collection[int] = (),
) -> list[str]:
    told = evidence_levels(frame, scale(near), weak, exact, STRONG_FROM)
    assert told.schema == EVIDENCE
    return told["evidence"].to_list()


ALIKE = [0.5] * 10
OTHERS = [f"d{n}" for n in range(10)]


def test_evidence_is_strong_where_the_nearest_passage_stands_out() -> None:
    assert level(hits([0.7, *ALIKE[1:]], OTHERS)) == ["strong"]
    assert level(hits(ALIKE, OTHERS)) == ["partial"]


def test_evidence_is_strong_where_the_first_passages_are_of_one_document() -> None:
    assert level(hits(ALIKE, ["d"] * 10)) == ["strong"]
    assert level(hits(ALIKE + ALIKE, OTHERS + ["d"] * 10)) == ["partial"]


def test_evidence_is_not_strong_where_nothing_is_near() -> None:
    assert level(hits([0.7, *ALIKE[1:]], OTHERS), near=0.6) == ["partial"]


def test_weak_evidence_is_weak_however_it_stands_out() -> None:
    frame = pl.concat([hits([0.9, *ALIKE[1:]], OTHERS, query) for query in (0, 1)])
    assert level(frame, weak={1}) == ["strong", "weak"]


@pytest.mark.parametrize(
    "similarities",
    [[0.9, 0.5, 0.5], [None] * 12],
    ids=["three hits", "words alone"],
)
def test_few_hits_are_never_strong(similarities: list[float | None]) -> None:
    assert level(hits(similarities, ["d"] * len(similarities))) == ["partial"]


def test_a_passage_with_what_the_query_says_word_for_word_is_strong() -> None:
    rows = [(0, 1, "literal", "lead", 0.8, 1.0, None), (0, 1, "rare_name", "lead", 0.5, 1.0, None)]
    rows += [(1, 1, "secondary", "gain", -1.0, 0.3, None)]
    rows += [(2, 1, "rare_name", "lead", 0.25, 1.0, None)]  # one of two names
    said = pl.DataFrame(rows, schema=SIGNALS, orient="row")
    assert said_exactly(said).to_list() == [0]
    assert level(hits(ALIKE, OTHERS), near=0.1, exact=said_exactly(said)) == ["strong"]


@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(0, 100).map(lambda n: n / 100), st.sampled_from(OTHERS[:4])
        ),
        max_size=20,
    ),
    st.randoms(use_true_random=False),
)
def test_sureness_is_that_of_its_formula_in_any_order_of_rows(rows: list, draw: object) -> None:
    frame = hits([near for near, _ in rows], [document for _, document in rows])
    shuffled = frame.sample(fraction=1, shuffle=True, seed=draw.randint(0, 9))  # type: ignore[attr-defined]
    near = sorted((near for near, _ in rows if near is not None), reverse=True)
    documents = len({document for _, document in rows[:10]})
    told = sureness(shuffled, scale(0.5))["sureness"].to_list()
    if len(near) < 10:
        assert told == ([None] if rows else [])
    else:
        assert told == [pytest.approx(0.15 + near[0] - near[9] + 0.02 * (10 - documents))]
