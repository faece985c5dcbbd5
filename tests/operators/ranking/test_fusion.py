"""Fusion over corpora, against plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operators.frames import FUSED, LEXICAL_WEIGHT, UNEMBEDDED, check
from operators.ranking import fusion
from operators.ranking.fusion import CorpusSearch, combination, fuse_comb_sum, fuse_rrf

Make = Callable[..., pl.DataFrame]

hits = st.lists(
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
fixture_is_a_function = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def fuse_convex(
    rows: pl.DataFrame,
    weights: dict[str, float],
    *words: pl.DataFrame,
    depths: dict[str, int] | None = None,
    alone: dict[str, str] | None = None,
    spaces: dict[str, str | None] | None = None,
    unembedded: dict[str, pl.DataFrame] | None = None,
    **how: float,
) -> pl.DataFrame:
    given = {"depth": depths, "channel": alone, "space": spaces, "unembedded": unembedded}
    corpora = {}
    for name, weight in weights.items():
        known: dict[str, Any] = {key: of[name] for key, of in given.items() if of and name in of}
        corpora[name] = CorpusSearch(weight, **known)
    return fusion.fuse_convex(rows, combination(rows, corpora, *words, **how))


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
        total = 0.0
        for row in same:
            total += score(row)
        first = min(same, key=lambda row: row["rank"])
        fused.append((query, chunk, first["corpus"], total * first["recency"], first))
    last = math.inf

    def place(row: tuple[Any, ...]) -> tuple[Any, ...]:
        ranks = (row[4]["vector_rank"], row[4]["text_rank"])
        return (row[0], -row[3], *(last if r is None else r for r in ranks), row[1])

    fused.sort(key=place)
    seen: dict[int, int] = {}
    ranked = []
    for query, chunk, corpus, total, _ in fused:
        rank = seen.get(query, 0)
        seen[query] = rank + 1
        ranked.append((query, chunk, corpus, rank, total))
    return ranked


@given(hits)
@fixture_is_a_function
def test_rrf_sums_over_the_corpora_and_multiplies_by_recency(
    make_hits: Make, rows: list[dict[str, Any]]
) -> None:
    fused = fuse_rrf(frame(make_hits, rows))
    check(fused, FUSED, "fused")
    found = fused.select("query_id", "chunk_id", "corpus", "rank", "score").rows()
    assert found == expected(rows, lambda row: 1 / (60 + row["rank"]))


@given(hits)
@fixture_is_a_function
def test_score_fusion_takes_the_merged_scores_as_they_are(
    make_hits: Make, rows: list[dict[str, Any]]
) -> None:
    fused = fuse_comb_sum(frame(make_hits, rows))
    found = fused.select("query_id", "chunk_id", "corpus", "rank", "score").rows()
    assert found == expected(rows, lambda row: float(row["corpus_score"]))


scored = st.lists(
    st.fixed_dictionaries(
        {
            "query_id": st.integers(0, 2),
            "corpus": st.sampled_from(["code", "review", "wiki"]),
            "chunk_id": st.integers(1, 30),
            "rank": st.integers(0, 4),
            "vector_distance": st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5]),
            "text_score": st.none() | st.sampled_from([0.5, 4.0, 8.0, 64.0]),
            "vector_rank": st.none() | st.integers(0, 3),
            "text_rank": st.none() | st.integers(0, 3),
            "recency": st.sampled_from([1.0, 1.15]),
        }
    ),
    max_size=20,
    unique_by=lambda row: (row["query_id"], row["chunk_id"]),
)
WEIGHTS = {"code": 0.5, "review": 0.75, "wiki": 0.25}


CONFIDENCE = pl.DataFrame(
    {"query_id": [2, 0], "lexical_weight": [0.25, 0.5]}, schema=LEXICAL_WEIGHT
)


@given(scored, st.sampled_from([0.0, 1.0]), st.sampled_from([CONFIDENCE, None]))
@fixture_is_a_function
def test_convex_fusion_scales_similarity_by_corpus_or_over_all_and_text_over_all_corpora(
    make_hits: Make,
    rows: list[dict[str, Any]],
    corpus_normalization: float,
    confidence: pl.DataFrame | None,
) -> None:
    factors = {} if confidence is None else dict(confidence.iter_rows())

    def convex(row: dict[str, Any]) -> float:
        def nearest(**scope: Any) -> float:
            same = [other for other in rows if scope.items() <= other.items()]
            return max(
                [0.0, *(1 - o["vector_distance"] for o in same if o["vector_distance"] is not None)]
            )

        own = nearest(query_id=row["query_id"], corpus=row["corpus"])
        every = nearest(query_id=row["query_id"])
        texts = [o["text_score"] for o in rows if o["query_id"] == row["query_id"]]
        vector = text = 0.0
        if row["vector_distance"] is not None and own > 0:
            vector = max((1 - row["vector_distance"]) / own, 0.0)
            vector *= 1.0 if corpus_normalization else own / every
        if row["text_score"] is not None:
            text = row["text_score"] / max(one for one in texts if one is not None)
        weight = WEIGHTS[row["corpus"]]
        if row["vector_distance"] is None and row["text_score"] is None:
            return 0.5  # its merged score
        return weight * vector + (1 - weight) * text * factors.get(row["query_id"], 1.0)

    fused = fuse_convex(
        frame(make_hits, rows), WEIGHTS, confidence, corpus_normalization=corpus_normalization
    )
    check(fused, FUSED, "fused")
    found = fused.select("query_id", "chunk_id", "corpus", "rank", "score").rows()
    assert found == expected(rows, convex)


def test_in_convex_fusion_a_corpus_without_a_good_match_in_words_gives_way(make_hits: Make) -> None:
    rows = make_hits(
        {"corpus": "code", "chunk_id": 1, "vector_distance": 0.4, "text_score": 40.0},
        {"corpus": "wiki", "chunk_id": 2, "vector_distance": 0.4, "text_score": 2.0},
    ).with_columns(recency=pl.lit(1.0))
    fused = fuse_convex(rows, {"code": 0.5, "wiki": 0.5})
    assert fused["score"].to_list() == [1.0, 0.5 + 0.5 * 2.0 / 40.0]


def test_in_convex_fusion_a_scale_in_between_is_the_geometric_mean_of_both(make_hits: Make) -> None:
    rows = make_hits(
        {"corpus": "code", "chunk_id": 1, "vector_distance": 0.2},
        {"corpus": "wiki", "chunk_id": 2, "vector_distance": 0.8},
    ).with_columns(recency=pl.lit(1.0))
    fused = fuse_convex(rows, {"code": 1.0, "wiki": 1.0}, corpus_normalization=0.5)
    assert fused["score"].to_list() == pytest.approx([1.0, math.sqrt(0.2 / 0.8)])


def test_in_convex_fusion_the_words_of_a_question_count_by_its_confidence(make_hits: Make) -> None:
    rows = make_hits({"query_id": 2, "vector_distance": 0.4, "text_score": 6.0})
    rows = rows.with_columns(recency=pl.lit(1.0))
    (score,) = fuse_convex(rows, {"code": 0.6}, CONFIDENCE)["score"]
    assert score == 0.6 + (1 - 0.6) * 0.25


LISTS = (
    {"chunk_id": 1, "vector_rank": 0, "vector_distance": 0.2, "text_rank": 0, "text_score": 10.0},
    {"chunk_id": 2, "vector_rank": 1, "vector_distance": 0.4},
    {"chunk_id": 3, "text_rank": 1, "text_score": 5.0},
)


@pytest.mark.parametrize(
    ("depths", "share"), [(None, 0.5), ({"code": 2}, 0.5), ({"code": 1}, 0.5), ({"code": 8}, 0.125)]
)
def test_what_a_list_lacks_counts_a_share_of_its_last_as_far_as_it_was_cut(
    make_hits: Make, depths: dict[str, int] | None, share: float
) -> None:
    rows = make_hits(*LISTS).with_columns(recency=pl.lit(1.0))
    fused = fuse_convex(rows, {"code": 0.5}, missing_score_fraction=0.5, depths=depths)
    found = dict(fused.select("chunk_id", "score").iter_rows())
    last_vector, last_text = 0.6 / 0.8, 5.0 / 10.0
    assert found == pytest.approx(
        {
            1: 1.0,
            2: 0.5 * last_vector + 0.5 * share * last_text,
            3: 0.5 * share * last_vector + 0.5 * last_text,
        }
    )


def test_a_list_that_found_nothing_gives_nothing_to_what_it_lacks(make_hits: Make) -> None:
    rows = make_hits(*({**row, "text_rank": None, "text_score": None} for row in LISTS[:2]))
    scores = [
        fuse_convex(
            rows.with_columns(recency=pl.lit(1.0)), {"code": 0.5}, missing_score_fraction=share
        )
        for share in (0.0, 1.0)
    ]
    assert scores[0].equals(scores[1])


@given(scored, st.floats(0, 1))
@fixture_is_a_function
def test_a_share_for_what_a_list_lacks_puts_no_hit_of_a_list_behind_what_it_lacks(
    make_hits: Make, rows: list[dict[str, Any]], share: float
) -> None:
    """By one list alone: its hits are before the others, whatever the share."""
    found = [row for row in rows if {row["vector_distance"], row["text_score"]} != {None}]
    given_rows = frame(make_hits, found).with_columns(recency=pl.lit(1.0))
    fused = fuse_convex(
        given_rows,
        dict.fromkeys(WEIGHTS, 1.0),
        corpus_normalization=1.0,
        missing_score_fraction=share,
    )
    lists: dict[tuple[int, str], list[tuple[bool, float]]] = {}
    for row in fused.iter_rows(named=True):
        if row["alternate_sources"]:
            continue
        known = row["vector_distance"] is not None
        lists.setdefault((row["query_id"], row["corpus"]), []).append((known, row["score"]))
    for hits in lists.values():
        listed = [score for known, score in hits if known]
        assert all(score <= min(listed) + 1e-12 for known, score in hits if not known and listed)


def lacking(chunk_ids: list[int], word_similarity: float) -> pl.DataFrame:
    known = {"chunk_id": chunk_ids, "word_similarity": [word_similarity] * len(chunk_ids)}
    return pl.DataFrame(known, schema=UNEMBEDDED)


def test_a_chunk_without_a_vector_is_taken_to_be_as_near_as_its_words_are_good(
    make_hits: Make,
) -> None:
    both = {"query_id": 2, "vector_distance": 0.2, "text_score": 8.0}
    rows = make_hits(
        {**both, "chunk_id": 1},
        {**both, "chunk_id": 2, "vector_distance": None},
        {**both, "chunk_id": 3, "vector_distance": None, "text_score": 6.0},
    ).with_columns(recency=pl.lit(1.0))
    waiting = {"code": lacking([2, 3], 0.8)}
    fused = fuse_convex(rows, {"code": 0.5}, CONFIDENCE, unembedded=waiting)
    found = dict(fused.select("chunk_id", "score").iter_rows())
    assert found == pytest.approx({n: 0.5 * v + 0.125 * t for n, v, t in (
        (1, 1.0, 1.0), (2, 0.8, 1.0), (3, 0.8 * 0.75, 0.75)
    )})  # fmt: skip


@given(scored, st.floats(0, 1))
@fixture_is_a_function
def test_where_every_chunk_waits_for_its_vector_the_order_is_that_of_the_words(
    make_hits: Make, rows: list[dict[str, Any]], share: float
) -> None:
    found = [{**row, "vector_distance": None, "vector_rank": None} for row in rows]
    found = [row for row in found if row["text_score"] is not None]
    waiting = dict.fromkeys(WEIGHTS, lacking([row["chunk_id"] for row in found], share))
    equal = dict.fromkeys(WEIGHTS, 0.5)
    ours = fuse_convex(frame(make_hits, found), equal, unembedded=waiting)
    words = fuse_convex(frame(make_hits, found), equal, alone=dict.fromkeys(WEIGHTS, "text"))
    assert ours["chunk_id"].to_list() == words["chunk_id"].to_list()


@pytest.mark.parametrize(("channel", "score"), [("vector", 0.8), ("text", 0.5)])
def test_in_convex_fusion_a_corpus_of_one_channel_counts_by_that_alone(
    make_hits: Make, channel: str, score: float
) -> None:
    known = {"vector_distance": 0.6} if channel == "vector" else {"text_score": 4.0}
    rows = make_hits(
        {"query_id": 2, "corpus": "code", "chunk_id": 1, "vector_distance": 0.5, "text_score": 8.0},
        {"query_id": 2, "corpus": "wiki", "chunk_id": 2, **known},
    ).with_columns(recency=pl.lit(1.0))
    weights, alone = {"code": 0.5, "wiki": 0.5}, {"wiki": channel}
    fused = fuse_convex(rows, weights, CONFIDENCE, corpus_normalization=0.0, alone=alone)
    found = dict(fused.select("corpus", "score").iter_rows())
    assert found == pytest.approx({"code": 0.5 + 0.5 * 0.25, "wiki": score})


def test_in_convex_fusion_a_hit_of_no_list_counts_its_merged_score(make_hits: Make) -> None:
    rows = make_hits(
        {"chunk_id": 1, "vector_distance": 0.4, "corpus_score": 0.9},
        {"chunk_id": 2, "corpus_score": 0.75},
    ).with_columns(recency=pl.lit(1.0))
    fused = fuse_convex(rows, {"code": 0.5})
    assert fused.select("chunk_id", "score").rows() == [(2, 0.75), (1, 0.5)]


def test_convex_fusion_refuses_a_weight_that_is_no_share(make_hits: Make) -> None:
    rows = make_hits({}).with_columns(recency=pl.lit(1.0))
    with pytest.raises(ValueError, match="0 to 1"):
        fuse_convex(rows, {"code": 1.5})


def test_a_chunk_of_two_corpora_says_where_else_it_is(make_hits: Make) -> None:
    rows = make_hits(
        {"corpus": "code", "chunk_id": 1, "rank": 3, "source_label": "[code: a]"},
        {"corpus": "docs", "chunk_id": 1, "rank": 1, "source_label": "[docs: b]"},
    ).with_columns(recency=pl.lit(1.0))
    (row,) = fuse_rrf(rows).to_dicts()
    assert row["source_label"] == "[docs: b]"
    assert [one["source_label"] for one in row["alternate_sources"]] == ["[code: a]"]
    assert row["score"] == 1 / 63 + 1 / 61


@pytest.mark.parametrize("pool", [60, 10_000])
def test_a_long_batch_is_fused_as_its_queries_one_by_one(make_hits: Make, pool: int) -> None:
    rng = np.random.default_rng(5)
    queries, depth = 500, 50
    (template,) = make_hits({}).with_columns(recency=pl.lit(1.0)).iter_slices(1)
    count = queries * depth
    lists = [
        template[np.zeros(count, np.uint32)].with_columns(
            pl.Series("query_id", np.repeat(np.arange(queries), depth), pl.UInt32),
            pl.Series("chunk_id", np.argsort(rng.random((queries, pool)))[:, :depth].ravel()),
            pl.Series("rank", np.tile(np.arange(depth), queries), pl.UInt32),
            pl.Series("vector_rank", rng.integers(0, 9, count), pl.UInt32),
            pl.Series("recency", rng.choice([1.0, 1.15], count)),
            corpus=pl.lit(corpus),
        )
        for corpus in ("code", "review", "wiki")
    ]
    hits = pl.concat(lists)
    fused = fuse_rrf(hits)
    for query in (0, 217, 499):
        alone = fuse_rrf(hits.filter(pl.col("query_id") == query))
        assert fused.filter(pl.col("query_id") == query).equals(alone)
