"""All scores and weights of every passage, one per row, from the searches to the context.

The numbers of a passage give its score to the last bit, by these formulas, each from left to right:

- ``score`` in its corpus = ``vector_part + text_part``, the weighted values of both lists
- ``part`` = that score; by ranks ``1 / (k + corpus rank)``
- ``score`` of the first list of all corpora = the sum of its parts, in order, times ``recency``
- the ``score`` of each later list = that of the list before, times the factors in this list's
  columns (``weight``, ``language_weight``); without any, a score of its own, such as a model's
- the ``score`` of the ordered list is as :mod:`operators.signals.order` says, by the rules' values

A stage puts the factors of its scores in columns beside them (:mod:`operators.frames`). A user's
own variant need not, and a caller may override a stage: then the factors are missing, because only
numbers that give the score are shown.
"""

from collections.abc import Iterator, Mapping

import polars as pl

from operators.explain.dispositions import Run
from operators.frames import EXPLAIN, FUSED, PART, SCORE_PARTS, empty

_KEY = ["query_id", "chunk_id"]
_ORDER = ["query_id", "position", "table", "rank", "other"]


def explain(run: Run, dispositions: pl.DataFrame, *, budget: int) -> pl.DataFrame:
    """``EXPLAIN``: all scores and weights of every chunk of ``dispositions``, in its order.

    The stages and their quantities; a chunk has no row for a stage that it never reached:

    - ``vector``: ``distance``; ``text``: ``score``; ``rank`` is the rank in the list, null if
      a chunk is not in it: a named one, or one that links led to
    - the lists within a corpus by name: ``score``. The first has the ``SCORE_PARTS``, if it
      has such columns and they give the score; the last ``near-duplicate`` for each chunk that it
      represents, or ``near-duplicate of`` its representative (``other`` is that chunk, ``detail``
      its label)
    - the first list of all corpora: ``part`` for each corpus (``detail``) and ``recency``;
      ``score``
    - each later list by name: its factors; ``score``. The ``detail`` of a score says what the
      list is; a list within a corpus has none
    - the ordered list: what each rule says, as a factor, a gain in units of the best score of its
      corpus, or a lead; ``detail`` is the kind, ``other`` and ``detail`` the passage it comes from
    - the list before the results: ``near-duplicate``, ``near-duplicate of`` too
    - ``context``: ``number``, ``cost``, ``budget``; ``citations``: ``number``
    - ``end``: the chunk's disposition, ``detail`` the reason, ``other`` its representative

    Args:
        run: the frames of the run.
        dispositions: columns ``DISPOSITIONS``.
        budget: of the context.
    """
    positions = dispositions.select(_KEY).with_row_index("position")
    named = _quantities(run, dispositions, budget)
    tables = [
        positions.join(frame, on=_KEY, maintain_order="left_right").with_columns(
            stage=pl.lit(stage), quantity=pl.lit(quantity), table=pl.lit(number)
        )
        for number, (stage, quantity, frame) in enumerate(named)
    ]
    rows = pl.concat([empty(EXPLAIN), *tables], how="diagonal")
    return rows.sort(_ORDER, maintain_order=True).select(list(EXPLAIN))


def _quantities(
    run: Run, dispositions: pl.DataFrame, budget: int
) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Each stage and quantity with the values of all chunks, as :func:`explain` lists them."""
    merged, packed = run.corpus_lists[run.scored], run.packed.drop_nulls("number")
    further = run.explain_targets.join(merged.drop_nulls("vector_distance"), on=_KEY, how="anti")
    near = [_of(merged, "vector_distance", "vector_rank"), _of(further, "vector_distance")]
    yield "vector", "distance", pl.concat(near, how="diagonal")
    yield "text", "score", _of(merged, "text_score", "text_rank")
    parts = score_parts(merged)
    yield from ((run.scored, name, _of(parts, name)) for name in SCORE_PARTS)
    yield from ((name, "score", _score(of)) for name, of in run.corpus_lists.items())
    duplicates = _near_duplicates(run, dispositions)
    end = dispositions.select(*_KEY, "disposition", other="near_duplicate_of", detail="reason")
    yield run.kept, "near-duplicate", duplicates.filter("within")
    yield run.kept, "near-duplicate of", end.filter(disposition="near_duplicate_within")
    known = set(FUSED)
    for name, of in run.lists.items():
        if name == run.first:
            own, parts = fusion_parts(of)
            yield name, "part", _of(parts, "part", "corpus_rank", detail="corpus")
            yield name, "recency", _of(own, "recency")
        for column in (one for one in of.columns if one not in known and of[one].dtype.is_float()):
            yield name, column, _of(of, column)
        if name == run.ordered:
            yield from ((name, *one) for one in _said(run))
        known |= set(of.columns)
        yield name, "score", _score(of).with_columns(detail=pl.lit(run.meanings.get(name, "")))
        if name == run.last:
            yield name, "near-duplicate", duplicates.filter(~pl.col("within"))
            yield name, "near-duplicate of", end.filter(disposition="near_duplicate_across")
    yield "context", "number", _of(packed, "number")
    yield "context", "cost", _of(packed, "cost")
    yield "context", "budget", packed.select(*_KEY, value=pl.lit(float(budget)))
    yield "citations", "number", _of(run.citations, "number")
    for one in end["disposition"].unique(maintain_order=True):
        yield "end", one, end.filter(disposition=one)


def score_parts(merged: pl.DataFrame) -> pl.DataFrame:
    """Query, chunk and ``SCORE_PARTS`` of merged lists; null if they do not give the score."""
    true = pl.col("vector_part") + pl.col("text_part") == pl.col("score")
    parts = (pl.when(true).then(name).alias(name) for name in SCORE_PARTS)
    return _whole(merged, SCORE_PARTS).select(*_KEY, *parts)


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


def _said(run: Run) -> Iterator[tuple[str, pl.DataFrame]]:
    """Each rule and what it says of the chunks."""
    labels = run.labels.select("query_id", source="chunk_id", label="source_label").unique(
        ["query_id", "source"], keep="first", maintain_order=True
    )
    said = run.signals.join(labels, on=["query_id", "source"], how="left", maintain_order="left")
    effect = pl.col("weight") * pl.col("value")
    factor = pl.col("weight").pow(pl.col("value"))
    rows = said.select(
        *(*_KEY, "signal"),
        value=pl.when(kind="factor").then(factor).otherwise(effect),
        other="source",
        detail=pl.concat_str("kind", pl.lit(" from ") + pl.col("label"), ignore_nulls=True),
    )
    for (name,), group in rows.group_by("signal", maintain_order=True):
        yield str(name), group.drop("signal")


def _near_duplicates(run: Run, dispositions: pl.DataFrame) -> pl.DataFrame:
    """The chunks that each chunk represents, and whether within its corpus."""
    within = run.corpus_lists[run.kept].select(*_KEY, other="duplicates", within=True)
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
