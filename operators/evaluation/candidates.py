"""The hits of judged queries, with the numbers that scores come from.

The searches run once. After that, the ranking by a set of weights is arithmetic on these arrays: a
few milliseconds for hundreds of questions. Near-duplicates across corpora stay in, so that a value
here is close to that of a run of the graph, not equal to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from operators.arrays.segments import Column, Floats, Integers, changes, positions, starts
from operators.evaluation.ranked_documents import judged_names
from operators.ranking.fusion import combination
from operators.ranking.lexical_weight import lexical_weights

_OF_HITS = (
    *("corpus", "document", "vector_rank", "text_rank", "similarity"),
    *("text_score", "recency", "gain", "counted"),
)
MISSING = -1
_CUT = 10
_DISCOUNT = 1 / np.log2(np.arange(2, _CUT + 2))
_SOFTNESS = 0.004  # of the highest score: scores so far apart mostly keep their order
_FARTHEST = 40.0  # beyond it the logistic function is 0 or 1 to the last bit


@dataclass(frozen=True)
class Candidates:
    """Hits by question and document; a question's number is its place in ``query_ids``."""

    query_ids: tuple[str, ...]
    texts: pl.DataFrame  # query_id (the place), texts
    corpora: tuple[str, ...]
    depths: Mapping[str, int] | None  # the length at which each corpus's lists were cut
    spaces: Mapping[str, str | None] | None  # the vector space of each corpus; None: all have one
    triggers: tuple[str, ...]
    trigger: Integers  # of each question; MISSING: none
    query: Integers  # this and all below but ``ideal``: of each hit
    corpus: Integers
    document: Integers
    vector_rank: Floats  # NaN: not in that list
    text_rank: Floats
    similarity: Floats
    text_score: Floats
    recency: Floats
    gain: Floats  # 2 ** grade - 1 of the hit's document
    counted: Column  # whether the hit is in a corpus that counts for its question
    ideal: Floats  # of each question: the best possible DCG@10
    match: Floats  # of each question: the least weight of its words, by what they found
    _values: dict[tuple[float, float], tuple[Floats, Floats]] = field(
        init=False, default_factory=dict
    )
    _confidence: dict[int, Floats] = field(init=False, default_factory=dict)

    @cached_property
    def hits(self) -> pl.DataFrame:
        """As :func:`operators.ranking.fusion.combination` takes them."""
        return pl.DataFrame(
            {
                "query_id": self.query.astype(np.uint32),
                "corpus": pl.Series(self.corpora, dtype=pl.String).gather(self.corpus),
                "vector_rank": self.vector_rank,
                "text_rank": self.text_rank,
                "vector_distance": 1 - self.similarity,
                "text_score": self.text_score,
            }
        )

    def values(
        self, corpus_normalization: float, missing_score_fraction: float = 0.0
    ) -> tuple[Floats, Floats]:
        """Similarity and text score of each hit, scaled as the convex fusion scales them."""
        key = corpus_normalization, missing_score_fraction
        if key not in self._values:
            made = combination(
                self.hits,
                dict.fromkeys(self.corpora, 0.5),
                corpus_normalization=corpus_normalization,
                missing_score_fraction=missing_score_fraction,
                depths=self.depths,
                spaces=self.spaces,
            )
            self._values[key] = _floats(made["vector_value"]), _floats(made["text_value"])
        return self._values[key]

    def confidence(self, full_weight_terms: int) -> Floats:
        """The factor of each question's text scores."""
        if full_weight_terms not in self._confidence:
            factors = lexical_weights(self.texts, full_weight_terms=full_weight_terms)
            prior = _floats(factors["lexical_weight"])
            self._confidence[full_weight_terms] = np.fmax(prior, self.match)
        return self._confidence[full_weight_terms]

    def part(self, numbers: Sequence[int] | Integers) -> Candidates:
        """The questions with these numbers, in this order."""
        chosen = np.asarray(numbers, np.int64)
        place = np.full(len(self.query_ids), MISSING)
        place[chosen] = np.arange(len(chosen))
        kept = place[self.query] != MISSING
        columns = {name: getattr(self, name)[kept] for name in _OF_HITS}
        return replace(
            self,
            query_ids=tuple(self.query_ids[number] for number in chosen),
            texts=_renumbered(self.texts[chosen]),
            trigger=self.trigger[chosen],
            query=place[self.query[kept]],
            ideal=self.ideal[chosen],
            match=self.match[chosen],
            **columns,
        )

    @cached_property
    def _documents(self) -> tuple[Integers, Integers, Integers, Integers]:
        """The hits' order by document; each document's begin, question and place there."""
        order = np.lexsort((self.document, self.query))
        query, document = self.query[order], self.document[order]
        begins = np.flatnonzero(changes(query) | changes(document))
        owner = query[begins]
        first = starts(owner)
        sizes = np.diff(first, append=len(owner))
        return order, begins, owner, np.arange(len(owner)) - np.repeat(first, sizes)

    def ndcg(self, score: Floats) -> Floats:
        """nDCG@10 of each question when hits are ranked by ``score``, a document at its best hit.

        The gain of a document is 2 ** grade - 1 (Burges et al., ICML 2005).
        """
        if not len(self.query):
            return np.zeros(len(self.query_ids))
        table, gains = self._table(score)
        top = np.argpartition(-table, _CUT - 1, axis=1)[:, :_CUT]
        row = np.arange(len(table))[:, None]
        top = top[row, np.argsort(-table[row, top], axis=1, kind="stable")]
        return self._of_ideal((gains[row, top] * _DISCOUNT).sum(axis=1))

    def smooth_ndcg(self, score: Floats) -> Floats:
        """nDCG of each question with ranks that change gradually, over the whole list.

        The rank of a document is 1 plus the sum, over all others, of a logistic function of how far
        they are above it (Qin, Liu and Li, Information Retrieval 13, 2010). So documents that
        nearly change places count already. Multiples of ``score`` give the same value.
        """
        if not len(self.query) or not (highest := float(np.abs(score).max())):
            return self.ndcg(score)
        table, gains = self._table(score / (highest * _SOFTNESS))
        row, column = np.nonzero((gains > 0) & np.isfinite(table))
        above = np.clip(table[row] - table[row, column][:, None], -_FARTHEST, _FARTHEST)
        # the sum has 0.5 for the document itself
        rank = 0.5 + (1 / (1 + np.exp(-above))).sum(axis=1)
        found = gains[row, column] / np.log2(1 + rank)
        return self._of_ideal(np.bincount(row, found, len(table)).astype(np.float64))

    def _table(self, score: Floats) -> tuple[Floats, Floats]:
        """The score and the gain of each question's documents, a question a row."""
        order, begins, owner, place = self._documents
        shape = (len(self.query_ids), max(int(place.max()) + 1, _CUT))
        table, gains = np.full(shape, -np.inf), np.zeros(shape)
        counting = np.where(self.counted, score, -np.inf)
        table[owner, place] = np.maximum.reduceat(counting[order], begins)
        gains[owner, place] = np.maximum.reduceat(self.gain[order], begins)
        return table, gains

    def _of_ideal(self, found: Floats) -> Floats:
        value: Floats = np.divide(found, self.ideal, out=np.zeros(len(found)), where=self.ideal > 0)
        return value


def candidates(
    hits: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    corpora: Sequence[str],
    *,
    depths: Mapping[str, int] | None = None,
    all_corpora: bool = False,
    match: pl.DataFrame | None = None,
    spaces: Mapping[str, str | None] | None = None,
) -> Candidates:
    """The candidates of judged queries; a query without a hit has nDCG 0.

    Args:
        hits: columns ``UNIFIED`` and ``recency``, of all ``corpora``, after dedup within each.
        depths, spaces: see :class:`Candidates`.
        all_corpora: the hits of every corpus count; False: those of the judged corpora.
        match: columns ``LEXICAL_WEIGHT`` of ``queries``, in their order; None: 0 each.
    """
    ids = queries["query_id"].to_list()
    known = sorted(corpora)
    document_ids = hits["document_id"].unique().sort()
    document = document_ids.search_sorted(hits["document_id"]).to_numpy().astype(np.int64)
    query = positions(queries["number"].to_numpy(), hits["query_id"].to_numpy())
    gain_of_grade = 2.0 ** pl.col("grade").cast(pl.Float64) - 1
    graded = qrels.filter(pl.col("grade") > 0).with_columns(gain=gain_of_grade)
    place = {query_id: number for number, query_id in enumerate(ids)}
    ideal = np.zeros(len(ids))
    for (query_id,), part in graded.group_by("query_id"):
        best = np.sort(part["gain"].to_numpy())[::-1][:_CUT]
        ideal[place[str(query_id)]] = (best * _DISCOUNT[: len(best)]).sum()
    asked = pl.Series([ids[n] for n in query.tolist()], dtype=pl.String)
    key = hits.select("chunk_id", query_id=asked)
    found = judged_names(graded, hits.drop("query_id")).join(graded, on=["query_id", "doc_id"])
    best_gain = found.group_by("query_id", "chunk_id").agg(pl.col("gain").max())
    gains = key.join(best_gain, on=["query_id", "chunk_id"], how="left", maintain_order="left")
    corpus = pl.Series(known).search_sorted(hits["corpus"]).to_numpy().astype(np.int64)
    counting = [
        [all_corpora or names is None or name in names for name in known]
        for names in queries["corpora"].to_list()
    ]
    counted = np.array(counting, bool).reshape(len(ids), len(known))[query, corpus]
    triggers = queries["trigger"].drop_nulls().unique().sort().to_list()
    numbers = {name: number for number, name in enumerate(triggers)}
    return Candidates(
        query_ids=tuple(ids),
        texts=_renumbered(queries.select("query_id", "texts")),
        corpora=tuple(known),
        depths=depths,
        spaces=spaces,
        triggers=tuple(triggers),
        trigger=np.array([numbers.get(name, MISSING) for name in queries["trigger"]], np.int64),
        query=query,
        corpus=corpus,
        document=document,
        vector_rank=_floats(hits["vector_rank"]),
        text_rank=_floats(hits["text_rank"]),
        similarity=1 - _floats(hits["vector_distance"]),
        text_score=_floats(hits["text_score"]),
        recency=hits["recency"].to_numpy(),
        gain=np.where(counted, gains["gain"].fill_null(0.0).to_numpy(), 0.0),
        counted=counted,
        ideal=ideal,
        match=np.zeros(len(ids)) if match is None else _floats(match["lexical_weight"]),
    )


def together(first: Candidates, second: Candidates) -> Candidates:
    """The questions of both, one after the other; a question may be in both.

    Both have the same corpora and triggers.
    """
    count = len(first.query_ids)
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in (*_OF_HITS, "trigger", "ideal", "match")
    }
    return replace(
        first,
        query_ids=first.query_ids + second.query_ids,
        texts=_renumbered(pl.concat([first.texts, second.texts])),
        query=np.concatenate([first.query, second.query + count]),
        **joined,
    )


def _renumbered(texts: pl.DataFrame) -> pl.DataFrame:
    return texts.with_columns(query_id=pl.int_range(pl.len(), dtype=pl.UInt32))


def _floats(column: pl.Series) -> Floats:
    values: Floats = column.cast(pl.Float64).to_numpy().astype(np.float64)
    return values
