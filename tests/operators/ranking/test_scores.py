"""From two lists a corpus to one list: normalised, merged and fused, against plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.errors import UnknownName
from operators.frames import (
    FUSED,
    LEXICAL_WEIGHT,
    MERGED,
    NORMALIZED,
    SCORE_SCALE,
    TEXT_HITS,
    VECTOR_HITS,
    check,
    empty,
)
from operators.ranking import fusion, merge
from operators.ranking.normalization import (
    NORMS,
    by_list,
    common_scale,
    near_as_its_words,
    side_by_side,
)
from operators.ranking.score_scale import score_scale

Row = tuple[int, int, float]  # query_id, chunk_id, distance or score
Make = Callable[..., pl.DataFrame]

lists = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(-3, 6), st.sampled_from([0.0, 0.25, 0.5, 0.7, 1.0, 2.0])
    ),
    max_size=30,
    unique_by=lambda row: row[:2],
)
constants = st.sampled_from([1.0, 60.0, 1e9])
NO_WORDS = empty(LEXICAL_WEIGHT)
EVEN = {"code": 0.5, "wiki": 0.5}
HALF = pl.DataFrame([(n, 0.5) for n in range(4)], schema=LEXICAL_WEIGHT, orient="row")


def hits(rows: list[Row], schema: pl.Schema, corpus: str = "code") -> pl.DataFrame:
    """A list a query of one corpus, ranked by distance or by score."""
    sign = 1 if "distance" in schema else -1
    ordered = sorted(rows, key=lambda row: (row[0], sign * row[2], row[1]))
    queries = [row[0] for row in ordered]
    ranks = [n - queries.index(query) for n, query in enumerate(queries)]
    ranked = [
        (q, corpus, c, rank, value) for (q, c, value), rank in zip(ordered, ranks, strict=True)
    ]
    return pl.DataFrame(ranked, schema=schema, orient="row")


def sides_of(vector: list[Row], text: list[Row]) -> pl.DataFrame:
    return side_by_side(hits(vector, VECTOR_HITS), hits(text, TEXT_HITS))


def scaled(vector: list[Row], text: list[Row], *, depth: int = 50, **how: Any) -> pl.DataFrame:
    near, words = hits(vector, VECTOR_HITS), hits(text, TEXT_HITS)
    sides = side_by_side(near, words)
    return common_scale(sides, score_scale(near, words), depths={"code": depth}, **how)


def values(normalized: pl.DataFrame) -> dict[int, tuple[float | None, float | None]]:
    columns = normalized["chunk_id", "vector_value", "text_value"].iter_rows()
    return {chunk: (vector, text) for chunk, vector, text in columns}


def scores(merged: pl.DataFrame) -> dict[int, float]:
    return dict(merged["chunk_id", "score"].iter_rows())


# Both lists side by side


@given(lists, lists)
def test_side_by_side_keeps_each_rank_and_value_of_both_lists(
    vector: list[Row], text: list[Row]
) -> None:
    near, words = hits(vector, VECTOR_HITS), hits(text, TEXT_HITS)
    both = check(side_by_side(near, words), NORMALIZED, "normalized")
    key = ["query_id", "corpus", "chunk_id"]
    assert not both.select(key).is_duplicated().any()
    for side, channel, value in ((near, "vector", "distance"), (words, "text", "score")):
        named = both.drop_nulls(f"{channel}_rank").sort("query_id", f"{channel}_rank")
        assert named.select(*key, f"{channel}_rank", f"{channel}_{value}").rows() == side.rows()
        raw = 1 - side[value] if channel == "vector" else side[value]
        assert named[f"{channel}_value"].to_list() == raw.to_list()


def test_a_chunk_that_a_list_names_twice_counts_at_its_best_rank() -> None:
    twice = pl.DataFrame(
        [(0, "code", 7, 0, 0.2), (0, "code", 7, 1, 0.4)], schema=VECTOR_HITS, orient="row"
    )
    (row,) = side_by_side(twice, empty(TEXT_HITS)).rows(named=True)
    assert (row["vector_rank"], row["vector_distance"], row["vector_value"]) == (0, 0.2, 0.8)


def test_a_distance_that_is_no_number_counts_as_absent() -> None:
    near = [(0, 1, math.nan), (0, 2, 0.5)]
    merged = merge.convex(scaled(near, []), NO_WORDS, EVEN)
    assert merged["score"].is_finite().all()


# Each list by itself


def test_max_divides_by_the_querys_best() -> None:
    found = by_list(sides_of([], [(0, 1, 4.0), (0, 2, 2.0), (1, 3, 8.0)]), text_norm="max")
    assert found.sort("chunk_id")["text_value"].to_list() == [1.0, 0.5, 1.0]


def test_min_max_gives_one_to_a_list_of_one_value_and_zero_to_the_last_of_more() -> None:
    found = by_list(sides_of([], [(0, 1, 4.0), (0, 2, 2.0), (0, 3, 3.0), (1, 4, 8.0)]))
    assert found.sort("chunk_id")["text_value"].to_list() == [1.0, 0.0, 0.5, 1.0]


def test_an_unknown_normalisation_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="did you mean 'min_max'"):
        by_list(sides_of([], []), vector_norm="minmax")


# One scale for all corpora


@given(lists, lists, lists, lists)
def test_similarities_and_text_scores_are_scaled_over_all_corpora(
    code_near: list[Row],
    code_text: list[Row],
    wiki_near: list[Row],
    wiki_text: list[Row],
) -> None:
    near = pl.concat([hits(code_near, VECTOR_HITS), hits(wiki_near, VECTOR_HITS, "wiki")])
    text = pl.concat([hits(code_text, TEXT_HITS), hits(wiki_text, TEXT_HITS, "wiki")])
    found = common_scale(
        side_by_side(near, text),
        check(score_scale(near, text), SCORE_SCALE, "score_scale"),
        depths={"code": 50, "wiki": 50},
    )
    assert set(found["corpus"]) == {*near["corpus"], *text["corpus"]}
    for row in found.iter_rows(named=True):
        query = row["query_id"]

        def nearest(*rows: list[Row], query: int = query) -> float:
            return max([0.0, *(1 - d for of in rows for q, _, d in of if q == query)])

        every = nearest(code_near, wiki_near)
        vector = text_value = 0.0
        if row["vector_distance"] is not None and every > 0:
            vector = max((1 - row["vector_distance"]) / every, 0.0)
        if row["text_score"] is not None:
            top = max(s for of in (code_text, wiki_text) for q, _, s in of if q == query)
            text_value = row["text_score"] / top if top > 0 else 0.0
        assert row["vector_value"] == pytest.approx(vector)
        assert row["text_value"] == text_value


NEAR = [(0, 1, 0.2), (0, 2, 0.4)]
WORDS = [(0, 1, 10.0), (0, 3, 5.0)]


@pytest.mark.parametrize(("depth", "share"), [(2, 0.5), (8, 0.125)])
def test_what_a_list_lacks_counts_a_share_of_its_last_as_far_as_it_was_cut(
    depth: int, share: float
) -> None:
    found = values(scaled(NEAR, WORDS, depth=depth, missing_score_fraction=0.5))
    last_vector, last_text = 0.6 / 0.8, 5.0 / 10.0
    assert found[1] == pytest.approx((1.0, 1.0))
    assert found[2] == pytest.approx((last_vector, share * last_text))
    assert found[3] == pytest.approx((share * last_vector, last_text))


def test_a_chunk_without_a_vector_is_taken_to_be_as_near_as_its_words_are_good() -> None:
    found = scaled([(0, 1, 0.2)], [(0, 1, 8.0), (0, 2, 8.0), (0, 3, 6.0)])
    waiting = pl.DataFrame({"corpus": "code", "chunk_id": [2, 3]})
    taken = near_as_its_words(found, waiting)
    assert values(taken) == {1: (1.0, 1.0), 2: (0.9, 1.0), 3: (pytest.approx(0.675), 0.75)}


@given(lists)
def test_where_every_chunk_waits_for_its_vector_the_order_is_that_of_the_words(
    text: list[Row],
) -> None:
    waiting = pl.DataFrame({"corpus": "code", "chunk_id": range(-3, 7)})
    lacking = near_as_its_words(scaled([], text), waiting)
    by_both, by_words = merge.convex(lacking, HALF, EVEN), merge.text_only(lacking)
    assert by_both["chunk_id"].to_list() == by_words["chunk_id"].to_list()


# One score a hit


def formula(
    vector: list[Row], text: list[Row], score: Callable[[int | None, int | None], float]
) -> list[tuple[int, int, int, float]]:
    """The query, chunk, rank and score of each hit in the one order."""
    places: list[dict[tuple[int, int], int]] = [
        {(q, c): rank for q, _, c, rank, _ in hits(rows, schema).iter_rows()}
        for rows, schema in ((vector, VECTOR_HITS), (text, TEXT_HITS))
    ]
    found = []
    for query, chunk in places[0].keys() | places[1].keys():
        v, t = (of.get((query, chunk)) for of in places)
        order = tuple(math.inf if rank is None else rank for rank in (v, t))
        found.append((query, -score(v, t), *order, chunk))
    found.sort()
    queries = [row[0] for row in found]
    return [(q, c, n - queries.index(q), -s) for n, (q, s, _, _, c) in enumerate(found)]


def check_equal(merged: pl.DataFrame, wanted: list[tuple[int, int, int, float]]) -> None:
    check(merged, MERGED, "merged")
    assert merged["query_id", "chunk_id", "rank", "score"].rows() == wanted


@given(lists, lists, constants)
def test_rrf_is_the_sum_of_reciprocal_ranks(vector: list[Row], text: list[Row], k: float) -> None:
    def score(v: int | None, t: int | None) -> float:
        return sum(0.0 if rank is None else 1 / (k + rank) for rank in (v, t))

    check_equal(merge.rrf(sides_of(vector, text), rrf_k=k), formula(vector, text, score))


@given(lists, lists, constants, st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_weighted_rrf_weighs_each_list(
    vector: list[Row], text: list[Row], k: float, w: float
) -> None:
    def score(v: int | None, t: int | None) -> float:
        near, words = (0.0 if rank is None else 1 / (k + rank) for rank in (v, t))
        return w * near + (1 - w) * words

    found = merge.weighted_rrf(sides_of(vector, text), {"code": w}, rrf_k=k)
    check_equal(found, formula(vector, text, score))


@given(lists, lists, st.sampled_from([0.0, 0.3, 1.0]))
def test_a_convex_merge_weighs_both_values_and_the_words_of_the_question(
    vector: list[Row], text: list[Row], w: float
) -> None:
    normalized = scaled(vector, text, missing_score_fraction=0.5)
    found = check(merge.convex(normalized, HALF, {"code": w}), MERGED, "merged")
    known = {(q, c): (v, t) for q, _, c, _, _, v, _, _, t in normalized.rows()}
    for query, chunk, score in found["query_id", "chunk_id", "score"].iter_rows():
        v, t = known[query, chunk]
        assert score == pytest.approx(w * v + (1 - w) * t * 0.5)


def test_a_merge_of_one_list_has_no_hit_of_the_other() -> None:
    normalized = scaled(NEAR, WORDS)
    assert scores(merge.vector_only(normalized)) == pytest.approx({1: 1.0, 2: 0.75})
    assert scores(merge.text_only(normalized)) == {1: 1.0, 3: 0.5}


MERGES: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "rrf": merge.rrf,
    "weighted_rrf": lambda normalized: merge.weighted_rrf(normalized, EVEN),
    "convex": lambda normalized: merge.convex(normalized, NO_WORDS, EVEN),
    "vector_only": merge.vector_only,
    "text_only": merge.text_only,
}


# Several corpora in one frame


@given(
    st.dictionaries(st.sampled_from(["code", "review", "wiki"]), st.tuples(lists, lists)),
    st.sampled_from([*NORMS, "common_scale"]),
    st.sampled_from(sorted(MERGES)),
    st.sampled_from([{}, {"vector": ["code"]}, {"text": ["code", "wiki"], "vector": ["review"]}]),
    st.randoms(use_true_random=False),
)
def test_a_corpus_has_the_same_bits_alone_and_beside_others(
    found: dict[str, tuple[list[Row], list[Row]]],
    name: str,
    merge_name: str,
    silent: dict[str, list[str]],
    random: Any,
) -> None:
    depths, weights = {"code": 2, "review": 3, "wiki": 50}, {"code": 0.3, "review": 0.5, "wiki": 1}
    near = [hits(vector, VECTOR_HITS, corpus) for corpus, (vector, _) in found.items()]
    text = [hits(words, TEXT_HITS, corpus) for corpus, (_, words) in found.items()]
    whole = [
        pl.concat([*of, empty(schema)]) for of, schema in ((near, VECTOR_HITS), (text, TEXT_HITS))
    ]
    scale = score_scale(*whole)
    merges = {
        **MERGES,
        "weighted_rrf": lambda normalized: merge.weighted_rrf(normalized, weights),
        "convex": lambda normalized: merge.convex(normalized, HALF, weights),
    }

    def merged(vector: pl.DataFrame, words: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        sides = side_by_side(vector, words)
        if name == "common_scale":
            how: dict[str, Any] = {"depths": depths, "missing_score_fraction": 0.5}
            normalized = common_scale(sides, scale, silent=silent, **how)
        else:
            normalized = by_list(sides, vector_norm=name, text_norm=name, silent=silent)
        return normalized.sort("corpus", "query_id", "chunk_id"), merges[merge_name](normalized)

    order = list(range(whole[0].height))
    random.shuffle(order)
    for together, corpora in zip(
        merged(whole[0][order], whole[1]),
        zip(*(merged(*of) for of in zip(near, text, strict=True)), strict=True),
        strict=False,
    ):
        alone = pl.concat([*corpora, together.clear()]).sort("corpus", maintain_order=True)
        assert together.equals(alone)


# One list of all corpora

pooled = st.lists(
    st.fixed_dictionaries(
        {
            "query_id": st.integers(0, 2),
            "corpus": st.sampled_from(["code", "review", "wiki"]),
            "chunk_id": st.integers(1, 8),
            "rank": st.integers(0, 4),
            "vector_rank": st.none() | st.integers(0, 3),
            "text_rank": st.none() | st.integers(0, 3),
            "corpus_score": st.sampled_from([0.25, 0.5, 1.0]),
            "recency": st.sampled_from([1.0, 1.15]),
        }
    ),
    max_size=20,
    unique_by=lambda row: (row["query_id"], row["corpus"], row["chunk_id"]),
)


def frame(make: Make, rows: list[dict[str, Any]]) -> pl.DataFrame:
    plain = [{k: v for k, v in row.items() if k != "recency"} for row in rows]
    factors = pl.Series("recency", [row["recency"] for row in rows], dtype=pl.Float64)
    return make(*plain).with_columns(factors)


def expected(
    rows: list[dict[str, Any]], score: Callable[[dict[str, Any]], float]
) -> list[tuple[Any, ...]]:
    groups: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["query_id"], row["chunk_id"]), []).append(row)
    fused = []
    for (query, chunk), same in groups.items():
        first = min(same, key=lambda row: row["rank"])
        total = sum(map(score, same)) * first["recency"]
        ranks = (math.inf if first[r] is None else first[r] for r in ("vector_rank", "text_rank"))
        fused.append((query, -total, *ranks, chunk, first["corpus"]))
    fused.sort()
    queries = [row[0] for row in fused]
    return [
        (q, c, corpus, n - queries.index(q), -s) for n, (q, s, _, _, c, corpus) in enumerate(fused)
    ]


@given(pooled)
def test_rrf_sums_over_the_corpora_and_multiplies_by_recency(
    make_hits: Make, rows: list[dict[str, Any]]
) -> None:
    fused = check(fusion.rrf(frame(make_hits, rows)), FUSED, "fused")
    found = fused["query_id", "chunk_id", "corpus", "rank", "score"].rows()
    assert found == expected(rows, lambda row: 1 / (60 + row["rank"]))


@given(pooled)
def test_comb_sum_adds_the_merged_scores_as_they_are(
    make_hits: Make, rows: list[dict[str, Any]]
) -> None:
    fused = fusion.comb_sum(frame(make_hits, rows))
    found = fused["query_id", "chunk_id", "corpus", "rank", "score"].rows()
    assert found == expected(rows, lambda row: float(row["corpus_score"]))
