"""The weight of a question's words beside its meaning.

A question of a few plain words ("python convert string to date") shares them with hundreds of
passages, and chance decides which of these has all of them: the meaning should decide. The more
words a question has, the more it says if a passage shares many. Two kinds of short questions are
different: one or two words, and names as code has them (``makeFile``, ``max_size``). People look
these up to the letter, and an embedding model has never seen them.

The lists say more than the question does. The words count after all if the best passage by words
covers a share of the question as high as the similarity of the best passage by meaning.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl

from operators.arrays.segments import Column, Floats, positions
from operators.foundation import tokenizer
from operators.frames import BEST_MATCH, LEXICAL_WEIGHT, empty, frame_of

LOOKED_UP = 2
"""People look up a question of up to so many words to the letter."""

STEEPNESS = 6
"""The power of the share of words: at 8 words in full, 4 words count 2 %, 6 words 18 %."""


def lexical_weights(queries: pl.DataFrame, *, full_weight_terms: int = 8) -> pl.DataFrame:
    """The factor of each question's text scores, from 0 to 1.

    ``min(1, words / full_weight_terms) ** 6`` with the number of its different words, stop words
    aside; 1 for a question of one or two words, or with a name as code has them. If a question has
    several texts, the highest counts. With 0 all questions count in full.

    The result is ``LEXICAL_WEIGHT``, one row a question, in the order of ``queries`` (``QUERIES``).

    >>> round(text_weight("how to print without a new line", 8), 3), text_weight("makeFile leak", 8)
    (0.016, 1.0)
    """
    factors = [
        max((text_weight(text or "", full_weight_terms) for text in texts or ()), default=1.0)
        for texts in queries["texts"].to_list()
    ]
    return pl.DataFrame(
        [queries["query_id"], pl.Series("lexical_weight", factors, pl.Float64)],
        schema=LEXICAL_WEIGHT,
    )


def text_weight(text: str, full_weight_terms: int) -> float:
    """The factor of one text; it is read no further than it needs."""
    if full_weight_terms <= 0:
        return 1.0
    words = set()
    for word in tokenizer.words(text):
        if tokenizer.is_name(word):
            return 1.0
        if word.lower() not in tokenizer.STOP_WORDS:
            words.add(word.lower())
        if len(words) >= max(full_weight_terms, LOOKED_UP + 1):
            return 1.0
    share = min(len(words) / full_weight_terms, 1.0)
    return 1.0 if len(words) <= LOOKED_UP else float(share**STEEPNESS)


def best_match(lists: Mapping[str, pl.DataFrame], *, comparable: bool = True) -> pl.DataFrame:
    """``BEST_MATCH``: how well the best passages of a corpus match each question.

    ``lists`` has ``vector`` (``VECTOR_LISTS``) and ``text`` (``TEXT_LISTS``, with ``coverage`` if
    the search knows it), each if it was searched. Only ``comparable`` similarities may stand beside
    those of other corpora.
    """
    if not any(one.height for one in lists.values()):
        return empty(BEST_MATCH)
    found: dict[str, tuple[Column, Floats]] = {}
    if "vector" in lists and comparable:
        query_id, distance = lists["vector"]["query_id", "distance"]
        found["similarity"] = query_id.to_numpy(), 1 - distance.to_numpy()
    if "coverage" in lists.get("text", pl.DataFrame()).columns:
        query_id, coverage = lists["text"]["query_id", "coverage"]
        found["coverage"] = query_id.to_numpy(), coverage.to_numpy()
    asked = np.unique(np.concatenate([np.empty(0, np.uint32), *(ids for ids, _ in found.values())]))
    best = [
        pl.Series(name, _highest(asked, [found[name]] if name in found else []), nan_to_null=True)
        for name in ("similarity", "coverage")
    ]
    return frame_of([pl.Series("query_id", asked), *best], BEST_MATCH)


def match_weights(
    prior: pl.DataFrame, matches: Iterable[pl.DataFrame], *, margin: float
) -> pl.DataFrame:
    """The lexical weight of each question, raised where the words found as good a match.

    ``max(prior, min(1, 1 + (C - V) / margin))``: ``C`` is the share of the question that the best
    passage of all corpora covers, ``V`` the similarity of the nearest one. So the words count a
    little as soon as ``C`` is within ``margin`` of ``V``; with 0 only ``prior`` counts. ``prior``
    and the result are ``LEXICAL_WEIGHT``, ``matches`` the ``BEST_MATCH`` of each corpus.
    """
    if not margin:
        return prior
    asked, found = prior["query_id"].to_numpy(), list(matches)
    covered, near = (
        _highest(asked, ((one["query_id"].to_numpy(), one[name].to_numpy()) for one in found))
        for name in ("coverage", "similarity")
    )
    raised = np.clip(1 + (covered - near) / margin, 0, 1)
    weight = np.fmax(prior["lexical_weight"].to_numpy(), raised)
    return frame_of([prior["query_id"], pl.Series("lexical_weight", weight)], LEXICAL_WEIGHT)


def _highest(asked: Column, found: Iterable[tuple[Column, Floats]]) -> Floats:
    """The highest value of each query in ``found``, pairs of queries and values; NaN: none."""
    best = np.full(len(asked), np.nan)
    for query_id, values in found:
        row = positions(asked, query_id)
        np.fmax.at(best, row[row >= 0], values[row >= 0])  # passes over NaN
    return best


def of_rows(factors: pl.DataFrame | None, query_id: Column) -> Floats:
    """The factor of each row's question; 1 where ``factors`` is None or lacks the question."""
    if factors is None:
        return np.ones(len(query_id))
    known = np.append(factors["lexical_weight"].to_numpy(), 1.0)
    row: Floats = known[positions(factors["query_id"].to_numpy(), query_id)]
    return row
