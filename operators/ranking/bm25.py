"""BM25 as a sparse inner product of the weights of a chunk's terms and of a query's.

Score of chunk d for query q (Robertson and Zaragoza 2009, with the non-negative IDF of Lucene)::

    sum over terms t of q:  count(t, q) * idf(t) * f / (f + k1 * (1 - b + b * L / average))
    idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))

f is the count of t in d, L the number of tokens of d, N the number of chunks of the corpus and df
how many of them have t. ``average`` is a constant: the chunker gives all chunks similar lengths. So
the fraction depends on the chunk alone, and is stored with it; the rest belongs to the query.

A title says more about a chunk than a line of its text, so its words count ``TITLE_WEIGHT`` times:
BM25 over weighted fields in its simple form, where a field is repeated (Robertson, Zaragoza and
Taylor, CIKM 2004).
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from pgvector import SparseVector

from operators.foundation import tokenizer
from operators.foundation.stop_word_names import stop_word_names

K1 = 2.0
B = 0.75
TITLE_WEIGHT = 3
DIMENSIONS = tokenizer.TERM_ID_LIMIT
MAX_TERMS = 16_000
"""Distinct terms of one chunk (a sparse vector's limit); the most frequent ones are kept."""

MAX_QUERY_TERMS = 1_024
"""Distinct terms of one query: the rarest ones are kept."""

MAX_QUERY_CHARACTERS = 1_000_000
"""Characters of a query that are read; the rest is ignored."""

AVERAGE_LENGTH = 85
"""Tokens of an average chunk, for all corpora: the chunker gives all a similar mean, 50 to 132 in
the measured ones, and the rankings are as good as with the mean of each (benchmarks/notes). So
no chunk's weights depend on other chunks: new chunks change no stored weight, and hidden ones
change no score that a caller gets."""


_term_id = lru_cache(1 << 13)(tokenizer.term_id)  # about 1 MB; a larger cache hits no more


@dataclass(frozen=True)
class TermCounts:
    """The terms of one chunk: ids ascending, how often each occurs, and the number of tokens."""

    terms: NDArray[np.int64]
    counts: NDArray[np.int64]
    length: int


ANALYSED = ("title", "anchor", "path", "text", "document_id", "metadata")
"""The columns of a chunk that its terms come from."""


def analysed_text(
    title: str | None,
    anchor: str | None,
    path: str | None,
    text: str,
    document_id: str,
    metadata: str | None,
) -> str:
    """The text whose terms are counted for a chunk (its ``ANALYSED``); the title is repeated.

    It contains the chunk's text and path; the name of its document, such as a commit's id or
    ``pull/42``; and its authors, whom labels and results show. Whatever is shown can be searched.
    """
    name = None if document_id in (path, title) else document_id
    parts = (*[title] * TITLE_WEIGHT, anchor, path, name, *authors_of(metadata), text)
    return "\n".join(part for part in parts if part)


def authors_of(metadata: str | None) -> list[str]:
    """The author or authors in a chunk's metadata (a JSON object)."""
    if not metadata or '"author' not in metadata:
        return []
    known = json.loads(metadata)
    authors = known.get("author"), *(known.get("authors") or ())
    return [author for author in authors if isinstance(author, str)]


def term_counts(text: str) -> TermCounts:
    """Count the terms of ``text``, and the stop words that are names (not in its length)."""
    tokens = tokenizer.tokens(text)
    counted = Counter(map(_term_id, chain(tokens, stop_word_names(text))))
    kept = sorted(counted.items())
    if len(kept) > MAX_TERMS:
        kept = sorted(sorted(kept, key=lambda item: (-item[1], item[0]))[:MAX_TERMS])
    table = np.array(kept, dtype=np.int64).reshape(-1, 2)
    return TermCounts(table[:, 0], table[:, 1], len(tokens))


def weights(counts: NDArray[np.int64], length: int) -> NDArray[np.float32]:
    """The BM25 weight of each term of a chunk of ``length`` tokens.

    >>> weights(np.array([1, 2]), AVERAGE_LENGTH).round(3).tolist()
    [0.3330000042915344, 0.5]
    """
    f = counts.astype(np.float64)
    return (f / (f + K1 * (1 - B + B * length / AVERAGE_LENGTH))).astype(np.float32)


def sparse(terms: Iterable[int], weights: Iterable[float]) -> SparseVector:
    """The weights of ``terms`` as a pgvector sparse vector: it counts from 0, term ids from 1.

    >>> sparse([7, 1], [2.0, 0.5]).to_text()
    '{1:0.5,7:2.0}/1000000000'
    """
    return SparseVector({t - 1: w for t, w in zip(terms, weights, strict=True)}, DIMENSIONS)


def weights_bytes(counted: TermCounts) -> bytes:
    """A chunk's BM25 weights in the server's format (``sparsevec``)."""
    weighed = weights(counted.counts, counted.length)
    return sparse(counted.terms.tolist(), weighed.tolist()).to_binary()


def query_counts(text: str) -> dict[int, int]:
    """The term ids of a query and the count of each."""
    text = text[:MAX_QUERY_CHARACTERS]
    return dict(Counter(map(_term_id, chain(tokenizer.tokens(text), stop_word_names(text)))))


PROMINENT = 0.5
"""A term with this weight in a chunk, or more, is prominent there: frequent for its length."""

GAIN = 1.5
"""How much more a prominent term adds to a score than the term in the mean."""

ALONE = 0.7
"""The share of the candidates found by one key; pairs of keys find the others."""

MOST_PAIRED = 9
"""The most postings that are paired, per candidate: the index reads them all."""


def index_keys(counted: TermCounts) -> list[int]:
    """The keys by which the index finds a chunk: its terms, and each prominent one negated.

    So the index finds the few chunks in which a common term is prominent, without reading all that
    have it.

    >>> index_keys(TermCounts(np.array([5, 9]), np.array([1, 4]), length=AVERAGE_LENGTH))
    [5, 9, -9]
    """
    prominent = counted.terms[weights(counted.counts, counted.length) >= PROMINENT]
    return [*counted.terms.tolist(), *(-prominent).tolist()]


@dataclass(frozen=True)
class QueryTerms:
    """A query's weights by term id, and the index keys that select the candidates.

    A candidate has one of the keys ``alone``, or one of each of the two ``pairs``.
    """

    weights: Mapping[int, float]
    alone: Sequence[int]
    pairs: tuple[Sequence[int], Sequence[int]] = ((), ())


def query_terms(
    counts: Mapping[int, int], df: Mapping[int, int], chunks: int, *, cap: float, k: int
) -> QueryTerms:
    """The weights of a query's terms in a corpus of ``chunks`` chunks, and the keys of candidates.

    The keys are the terms, and the negated terms, which find the chunks where a term is prominent
    (:func:`index_keys`); ``df`` has both. The most informative keys, each alone, select a part of
    the ``cap`` candidates. The next ones are dealt to two groups, and chunks with a key of each are
    the rest. So a chunk with many middling terms is a candidate, which the others would miss. If
    all terms stay within ``cap``, each selects alone. Terms that the corpus lacks are left out.
    """
    known = sorted((df[term], term) for term in counts if df.get(term, 0) > 0)[:MAX_QUERY_TERMS]
    weights = {term: counts[term] * idf(frequency, chunks) for frequency, term in known}
    if sum(frequency for frequency, _ in known) <= cap:
        return QueryTerms(weights, [term for _, term in known])
    keys = _by_information(weights, df)
    alone = _leading(keys, ALONE * cap, k)
    # n postings in two groups: n * n / 4 of `chunks` have a key of both by chance
    by_chance = math.sqrt(4 * chunks * (1 - ALONE) * cap)
    paired = _leading(keys, min(by_chance, MOST_PAIRED * cap), k)[len(alone) :]
    whole = set(paired)  # a term that is paired brings the chunks where it is prominent
    paired = [key for key in paired if key > 0 or -key not in whole]
    if len(paired) < 2:
        return QueryTerms(weights, _leading(keys, cap, k))
    return QueryTerms(weights, alone, (paired[::2], paired[1::2]))


def _by_information(weights: Mapping[int, float], df: Mapping[int, int]) -> list[tuple[int, int]]:
    """Index keys by their information per cost, and how many chunks each adds to those before.

    A prominent term counts ``GAIN`` times. It comes before the same term anywhere, which adds only
    the other chunks.
    """
    keys = []
    for term, weight in weights.items():
        prominent = df.get(-term, 0)
        if prominent:
            keys.append((GAIN * weight / math.sqrt(prominent), prominent, -term))
        if df[term] > prominent:
            keys.append((weight / math.sqrt(df[term]), df[term] - prominent, term))
    keys.sort(key=lambda key: (-key[0], *key[1:]))
    return [(frequency, key) for _, frequency, key in keys]


def _leading(keys: Sequence[tuple[int, int]], cap: float, k: int) -> list[int]:
    """The first of ``keys``, pairs of a frequency and a key.

    As many as keep the summed frequency within ``cap``, but at least one, and more if they could
    not fill ``k`` rows.
    """
    leading: list[int] = []
    reached = 0
    for frequency, key in keys:
        if leading and reached >= k and reached + frequency > cap:
            break
        leading.append(key)
        reached += frequency
    return leading


def ceiling(counts: Mapping[int, int], df: Mapping[int, int], chunks: int) -> float:
    """The upper bound of a chunk's score: each term of the query, saturated.

    Terms that the corpus lacks count too: no chunk covers them.
    """
    return sum(count * idf(df.get(term, 0), chunks) for term, count in counts.items())


def idf(df: int, chunks: int) -> float:
    """The weight of a term that ``df`` of ``chunks`` chunks have.

    >>> round(idf(1, 10), 3)
    1.992
    """
    return math.log(1 + (chunks - df + 0.5) / (df + 0.5))
