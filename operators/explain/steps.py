"""Every number of every passage, one a row, from the searches to the context.

The numbers of a passage give its score to the last bit, by these formulas, each from left to right:

- merged ``score`` = ``vector_weight * vector_value + text_weight * (text_value * lexical_weight)``
- fused ``part`` = the merged score; by ranks ``1 / (k + corpus rank)``
- fused ``score`` = the sum of its parts, in their order, times ``recency``
- weighted ``score`` = fused score times ``weight``, times ``language``
- reranked ``score`` = the model's, or the weighted score where no model read it
- version_order ``score`` = the reranked one, or that of the place to which its version moved it
- phrase_order ``score`` = that one, or just above the best for a phrase of the question
- the results' ``score`` = the one of phrase_order

A merge and a fusion give the factors of a score beside it (:mod:`operators.frames`). A variant of
somebody's own need not, and a caller may override a stage: then the factors are null, because no
number is shown that does not add up.
"""

from collections.abc import Iterator, Mapping

import polars as pl

from operators.explain.dispositions import Stages
from operators.frames import EXPLAIN, PART, SCORE_FACTORS, empty
from operators.ranking.weighting import language_factors

_KEY = ["query_id", "chunk_id"]
_ORDER = ["query_id", "place", "table", "rank", "other"]


def explain(
    run: Stages,
    dispositions: pl.DataFrame,
    weights: pl.DataFrame | None,
    *,
    languages: dict[str, float] | None = None,
    fused_by: str,
    reranked: bool,
    budget: int,
) -> pl.DataFrame:
    """``EXPLAIN``: every number of every chunk of ``dispositions``, in its order.

    The stages and their quantities; a chunk has no row for a stage that it never reached:

    - ``vector``: ``distance``; ``text``: ``score``; ``rank`` is the place in the list, null where
      a named chunk is not in it
    - ``merged``: the ``SCORE_FACTORS``, if the stage tells them and they give the score; ``score``
    - ``deduped``: ``score``; ``near-duplicate`` for each chunk that it represents, or
      ``near-duplicate of`` its representative (``other`` is that chunk, ``detail`` its label)
    - ``fused``: ``part`` for each corpus (``detail``) and ``recency``; ``score``, whose
      ``detail`` is the fusion's name
    - ``weighted``: ``weight``, ``language``, ``score``; ``reranked``: ``score``; none where off
    - ``version_order``: ``score``; ``phrase_order``: ``score``
    - ``unique``: ``score``; ``near-duplicate``, ``near-duplicate of``
    - ``results``: ``score``
    - ``context``: ``number``, ``cost``, ``budget``; ``citations``: ``number``
    - ``end``: the chunk's disposition, ``detail`` the reason, ``other`` its representative

    Args:
        run: the frames of the run.
        dispositions: columns ``DISPOSITIONS``.
        weights: query_id, corpus and weight; None where sources are not weighted.
        languages: the weights of languages; None: none has one.
        fused_by: the name of the fusion.
        reranked: whether a model gave scores.
    """
    asked = dispositions.select(_KEY).with_row_index("place")
    named = _quantities(run, dispositions, weights, languages or {}, fused_by, reranked, budget)
    tables = [
        asked.join(frame, on=_KEY, maintain_order="left_right").with_columns(
            stage=pl.lit(stage), quantity=pl.lit(quantity), table=pl.lit(number)
        )
        for number, (stage, quantity, frame) in enumerate(named)
    ]
    found = pl.concat([empty(EXPLAIN), *tables], how="diagonal")
    return found.sort(_ORDER, maintain_order=True).select(list(EXPLAIN))


def _quantities(
    run: Stages,
    dispositions: pl.DataFrame,
    weights: pl.DataFrame | None,
    languages: dict[str, float],
    fused_by: str,
    reranked: bool,
    budget: int,
) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Each stage and quantity with the numbers of all chunks, as :func:`explain` lists them."""
    merged, weighted, packed = run.merged, run.weighted, run.packed.drop_nulls("number")
    further = run.explain_targets.join(merged.drop_nulls("vector_rank"), on=_KEY, how="anti")
    near = [_of(merged, "vector_distance", "vector_rank"), _of(further, "vector_distance")]
    yield "vector", "distance", pl.concat(near, how="diagonal")
    yield "text", "score", _of(merged, "text_score", "text_rank")
    factors = merge_factors(merged)
    yield from (("merged", name, _of(factors, name)) for name in SCORE_FACTORS)
    yield "merged", "score", _score(merged)
    duplicates = _near_duplicates(run, dispositions)
    end = dispositions.select(*_KEY, "disposition", other="near_duplicate_of", detail="reason")
    yield "deduped", "score", _score(run.deduped)
    yield "deduped", "near-duplicate", duplicates.filter("within")
    yield "deduped", "near-duplicate of", end.filter(disposition="near_duplicate_within")
    first, parts = fusion_parts(run.fused)
    yield "fused", "part", _of(parts, "part", "corpus_rank", detail="corpus")
    yield "fused", "recency", _of(first, "recency")
    yield "fused", "score", _score(run.fused).with_columns(detail=pl.lit(fused_by))
    if weights is not None:
        weighed = weighted.select(*_KEY, "corpus").join(weights, on=["query_id", "corpus"])
        yield "weighted", "weight", _of(weighed, "weight")
    if languages:
        weighed = weighted.with_columns(language_factors(weighted, languages))
        yield "weighted", "language", _of(weighed, "language")
    if weights is not None or languages:
        yield "weighted", "score", _score(weighted)
    if reranked:
        yield "reranked", "score", _score(run.reranked)
    yield "version_order", "score", _score(run.version_order)
    yield "phrase_order", "score", _score(run.phrase_order)
    yield "unique", "score", _score(run.unique)
    yield "unique", "near-duplicate", duplicates.filter(~pl.col("within"))
    yield "unique", "near-duplicate of", end.filter(disposition="near_duplicate_across")
    yield "results", "score", _score(run.results)
    yield "context", "number", _of(packed, "number")
    yield "context", "cost", _of(packed, "cost")
    yield "context", "budget", packed.select(*_KEY, value=pl.lit(float(budget)))
    yield "citations", "number", _of(run.citations, "number")
    for one in end["disposition"].unique(maintain_order=True):
        yield "end", one, end.filter(disposition=one)


def merge_factors(merged: pl.DataFrame) -> pl.DataFrame:
    """Query, chunk and ``SCORE_FACTORS`` of merged lists; null where they do not give the score."""
    whole = _whole(merged, SCORE_FACTORS)
    vector = pl.col("vector_weight") * pl.col("vector_value")
    text = pl.col("text_weight") * (pl.col("text_value") * pl.col("lexical_weight"))
    true = vector + text == pl.col("score")
    return whole.select(*_KEY, *(pl.when(true).then(name).alias(name) for name in SCORE_FACTORS))


def fusion_parts(fused: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Query, chunk and the fields of ``PART``: a chunk's own part, and all its parts.

    The parts of a chunk are in the order of their corpora, in which the fusion adds them. Parts
    that do not give the score are left out.
    """
    whole = _whole(fused, {"part": PART, "other_parts": pl.List(PART)})
    own = whole.select(*_KEY, "score", "part").unnest("part").drop_nulls("part")
    others = whole.select(*_KEY, "other_parts").explode("other_parts", empty_as_null=False)
    others = others.unnest("other_parts").drop_nulls("part")
    every = pl.concat([own.drop("score"), others]).sort("corpus", maintain_order=True)
    sums = every.group_by(_KEY, maintain_order=True).agg(sum=pl.col("part").cum_sum().last())
    true = own.join(sums, on=_KEY).filter(pl.col("sum") * pl.col("recency") == pl.col("score"))
    return true, every.join(true, on=_KEY, how="semi", maintain_order="left")


def _whole(frame: pl.DataFrame, columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    lacking = {name: kind for name, kind in columns.items() if name not in frame.columns}
    return frame.with_columns(pl.lit(None, kind).alias(name) for name, kind in lacking.items())


def _score(frame: pl.DataFrame) -> pl.DataFrame:
    return _of(frame, "score", "rank")


def _of(
    frame: pl.DataFrame, value: str, rank: str | None = None, *, detail: str | None = None
) -> pl.DataFrame:
    columns = {"value": pl.col(value).cast(pl.Float64)}
    if rank is not None:
        columns["rank"] = pl.col(rank).cast(pl.UInt32)
    if detail is not None:
        columns["detail"] = pl.col(detail)
    return frame.select(*_KEY, **columns).drop_nulls("value")


def _near_duplicates(run: Stages, dispositions: pl.DataFrame) -> pl.DataFrame:
    """The chunks that each chunk represents, and whether within its corpus."""
    within = run.deduped.select(*_KEY, other="duplicates", within=True)
    within = within.filter(pl.col("other").list.len() > 0).explode("other")
    duplicates = dispositions.select(*_KEY, "near_duplicates")
    duplicates = duplicates.filter(pl.col("near_duplicates").list.len() > 0)
    duplicates = duplicates.explode("near_duplicates").select(
        *_KEY,
        other=pl.col("near_duplicates").struct.field("chunk_id"),
        detail=pl.col("near_duplicates").struct.field("source_label"),
    )
    duplicates = duplicates.join(within, on=[*_KEY, "other"], how="left", maintain_order="left")
    return duplicates.with_columns(pl.col("within").fill_null(False))
