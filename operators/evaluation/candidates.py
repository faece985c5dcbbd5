"""The hits of judged queries, with the values that scores are computed from.

The searches run once. After that, the ranking by a set of weights is arithmetic on these arrays: a
few milliseconds for hundreds of queries. Near-duplicates across corpora are not removed, so that a
value here is close to that of a run of the graph, not equal to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from operators.arrays.segments import Column, Floats, Integers, positions, starts
from operators.evaluation.ranked_documents import IN_JUDGED_CORPUS, judged_names
from operators.frames import NORMALIZED
from operators.question.intent import plain_words
from operators.ranking.lexical_weight import lexical_weights
from operators.ranking.normalization import common_scale
from operators.ranking.score_scale import score_scale

_LISTS = ["vector_rank", "text_rank", "vector_distance", "text_score"]
MISSING = -1
_CUT = 10
_DISCOUNT = 1 / np.log2(np.arange(2, _CUT + 2))
_SOFTNESS = 0.004  # of the highest score: scores that differ by more mostly keep their order
_FARTHEST = 40.0  # beyond it the logistic function is 0 or 1 to the last bit


@dataclass(frozen=True)
class CorpusSearch:
    """The search of a corpus: lists were cut after ``depth`` hits, in a vector ``space``."""

    depth: int = 1
    space: str | None = None


@dataclass(frozen=True)
class Candidates:
    """Judged queries and their hits.

    Attributes:
        questions: ``query_id`` (the index in ``query_ids``), ``plain_words``, ``trigger`` (its
            index in ``triggers``; ``MISSING``: none), ``ideal`` (the best possible DCG@10) and
            ``match`` (the minimum keyword weight, by its hits).
        corpora: the search of each corpus, by its name, sorted by name.
        hits: ``query_id`` as above, ``corpus``, ``corpus_number`` (its index in ``corpora``),
            ``document`` (a number), the ranks and scores of both lists (null: not in that list),
            ``recency``, ``gain`` (2 ** grade - 1 of the document) and ``counted`` (whether the
            corpus counts for the query).
    """

    query_ids: tuple[str, ...]
    questions: pl.DataFrame
    corpora: Mapping[str, CorpusSearch]
    triggers: tuple[str, ...]
    hits: pl.DataFrame
    _values: dict[float, tuple[Floats, Floats]] = field(init=False, default_factory=dict)
    _lexical_weights: dict[int, Floats] = field(init=False, default_factory=dict)

    def of_hits(self, name: str) -> Column:
        """The column ``name`` of the hits."""
        return self.hits[name].to_numpy()

    def values(self, missing_score_fraction: float = 0.0) -> tuple[Floats, Floats]:
        """Similarity and text score of each hit on the scale that all corpora share."""
        if missing_score_fraction not in self._values:
            made = common_scale(
                self._sides,
                self._scale,
                depths={name: one.depth for name, one in self.corpora.items()},
                missing_score_fraction=missing_score_fraction,
            ).sort("chunk_id")
            self._values[missing_score_fraction] = (
                made["vector_value"].to_numpy(),
                made["text_value"].to_numpy(),
            )
        return self._values[missing_score_fraction]

    @cached_property
    def _sides(self) -> pl.DataFrame:
        """``NORMALIZED`` with unscaled values; chunk_id is the hit's number."""
        return self.hits.select(
            *("corpus", *_LISTS),
            pl.col("query_id").cast(pl.UInt32),
            chunk_id=pl.int_range(pl.len(), dtype=pl.Int64),
            vector_value=1 - pl.col("vector_distance"),
            text_value="text_score",
        ).select(list(NORMALIZED))

    @cached_property
    def _scale(self) -> pl.DataFrame:
        key, sides = ("query_id", "corpus"), self._sides
        return score_scale(
            sides.drop_nulls("vector_rank").select(*key, distance="vector_distance"),
            sides.drop_nulls("text_rank").select(*key, score="text_score"),
            {name: one.space for name, one in self.corpora.items()},
        )

    def lexical_weight(self, full_weight_terms: int) -> Floats:
        """The lexical weight of each query."""
        if full_weight_terms not in self._lexical_weights:
            factors = lexical_weights(self.questions, full_weight_terms=full_weight_terms)
            prior = factors["lexical_weight"].to_numpy()
            match = self.questions["match"].to_numpy()
            self._lexical_weights[full_weight_terms] = np.fmax(prior, match)
        return self._lexical_weights[full_weight_terms]

    def part(self, numbers: Sequence[int] | Integers) -> Candidates:
        """The queries with these numbers, in this order."""
        chosen = np.asarray(numbers, np.int64)
        position = np.full(len(self.query_ids), MISSING)
        position[chosen] = np.arange(len(chosen))
        hits = self.hits.with_columns(query_id=pl.Series(position[self.of_hits("query_id")]))
        return replace(
            self,
            query_ids=tuple(self.query_ids[number] for number in chosen),
            questions=_renumbered(self.questions[chosen]),
            hits=hits.filter(pl.col("query_id") != MISSING),
        )

    @cached_property
    def _documents(self) -> tuple[Integers, Integers, Integers, Integers]:
        """The hits' order by document; the start, query and position of each document in it."""
        query, document = self.of_hits("query_id"), self.of_hits("document")
        order = np.lexsort((document, query))
        query, document = query[order], document[order]
        begins = starts(query, document)
        owner = query[begins]
        first = starts(owner)
        sizes = np.diff(first, append=len(owner))
        return order, begins, owner, np.arange(len(owner)) - np.repeat(first, sizes)

    def ndcg(self, score: Floats) -> Floats:
        """nDCG@10 of each query when hits are ranked by ``score``, a document at its best hit.

        The gain of a document is 2 ** grade - 1 (Burges et al., ICML 2005).
        """
        if self.hits.is_empty():
            return np.zeros(len(self.query_ids))
        table, gains = self._table(score)
        top = np.argpartition(-table, _CUT - 1, axis=1)[:, :_CUT]
        row = np.arange(len(table))[:, None]
        top = top[row, np.argsort(-table[row, top], axis=1, kind="stable")]
        return self._normalized((gains[row, top] * _DISCOUNT).sum(axis=1))

    def smooth_ndcg(self, score: Floats) -> Floats:
        """nDCG of each query with ranks that change gradually, over the whole list.

        The rank of a document is 1 plus the sum, over all others, of a logistic function of how far
        they are above it (Qin, Liu and Li, Information Retrieval 13, 2010). So documents that
        nearly exchange ranks already count. Multiples of ``score`` give the same value.
        """
        if self.hits.is_empty() or not (highest := float(np.abs(score).max())):
            return self.ndcg(score)
        table, gains = self._table(score / (highest * _SOFTNESS))
        row, column = np.nonzero((gains > 0) & np.isfinite(table))
        above = np.clip(table[row] - table[row, column][:, None], -_FARTHEST, _FARTHEST)
        # the sum includes 0.5 for the document itself
        rank = 0.5 + (1 / (1 + np.exp(-above))).sum(axis=1)
        discounted = gains[row, column] / np.log2(1 + rank)
        return self._normalized(np.bincount(row, discounted, len(table)).astype(np.float64))

    def _table(self, score: Floats) -> tuple[Floats, Floats]:
        """The score and the gain of each query's documents, a query per row."""
        order, begins, owner, position = self._documents
        shape = (len(self.query_ids), max(int(position.max()) + 1, _CUT))
        table, gains = np.full(shape, -np.inf), np.zeros(shape)
        counting = np.where(self.of_hits("counted"), score, -np.inf)
        table[owner, position] = np.maximum.reduceat(counting[order], begins)
        gains[owner, position] = np.maximum.reduceat(self.of_hits("gain")[order], begins)
        return table, gains

    def _normalized(self, dcg: Floats) -> Floats:
        ideal = self.questions["ideal"].to_numpy()
        value: Floats = np.divide(dcg, ideal, out=np.zeros(len(dcg)), where=ideal > 0)
        return value


def candidates(
    hits: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    corpora: Mapping[str, CorpusSearch],
    *,
    match: pl.Series | float = 0.0,
    all_corpora: bool = False,
) -> Candidates:
    """The candidates of judged queries; a query without a hit has nDCG 0.

    Args:
        hits: columns ``UNIFIED`` and ``recency``, of all ``corpora``, after dedup within each.
        match: for each of ``queries``, its minimum keyword weight.
        all_corpora: the hits of every corpus count; False: only hits of the judged corpora.
    """
    known = sorted(corpora)
    query = positions(queries["number"].to_numpy(), hits["query_id"].to_numpy())
    joined = hits.with_columns(queries["query_id", "corpora"][query])
    counted = joined.select(pl.lit(all_corpora) | IN_JUDGED_CORPUS).to_series()
    gain = 2.0 ** pl.col("grade").cast(pl.Float64) - 1
    graded = qrels.filter(pl.col("grade") > 0).with_columns(gain=gain)
    questions = queries.select(
        "query_id",
        plain_words=pl.Series(
            [plain_words(texts or ()) for texts in queries["texts"].to_list()], dtype=pl.UInt32
        ),
        trigger=(pl.col("trigger").rank("dense").cast(pl.Int64) - 1).fill_null(MISSING),
        ideal=_ideal(queries, graded),
        match=match,
    )
    return Candidates(
        query_ids=tuple(queries["query_id"]),
        questions=_renumbered(questions),
        corpora={name: corpora[name] for name in known},
        triggers=tuple(queries["trigger"].drop_nulls().unique().sort()),
        hits=hits.select(
            *("corpus", "recency"),
            pl.col(_LISTS),
            query_id=query,
            corpus_number=pl.Series(known, dtype=pl.String).search_sorted(hits["corpus"]),
            document=pl.col("document_id").rank("dense"),
            gain=pl.when(counted).then(_gains(joined, graded)).otherwise(0.0),
            counted=counted,
        ),
    )


def _ideal(queries: pl.DataFrame, graded: pl.DataFrame) -> Floats:
    """The best possible DCG@10 of each query."""
    best = graded.group_by("query_id").agg(pl.col("gain").sort(descending=True).head(_CUT))
    ideal = {
        query_id: (np.array(gains) * _DISCOUNT[: len(gains)]).sum()
        for query_id, gains in best.iter_rows()
    }
    return np.array([ideal.get(query_id, 0.0) for query_id in queries["query_id"]], np.float64)


def _gains(hits: pl.DataFrame, graded: pl.DataFrame) -> pl.Series:
    """The gain of each hit's document; 0 if it has no judgement."""
    key = ["query_id", "chunk_id"]
    named = judged_names(graded, hits).join(graded, on=["query_id", "doc_id"])
    best = named.group_by(key).agg(pl.col("gain").max())
    graded_hits = hits.select(key).join(best, on=key, how="left", maintain_order="left")
    return graded_hits["gain"].fill_null(0.0)


def together(first: Candidates, second: Candidates) -> Candidates:
    """The queries of both, concatenated; a query may be in both.

    Both have the same corpora and triggers.
    """
    later = second.hits.with_columns(pl.col("query_id") + len(first.query_ids))
    return replace(
        first,
        query_ids=first.query_ids + second.query_ids,
        questions=_renumbered(pl.concat([first.questions, second.questions])),
        hits=pl.concat([first.hits, later]),
    )


def _renumbered(questions: pl.DataFrame) -> pl.DataFrame:
    return questions.with_columns(query_id=pl.int_range(pl.len(), dtype=pl.UInt32))
