"""Scores of one list put on a scale from 0 to 1, so that two lists can be added.

Each function takes the scores of many queries at once: ``values`` (NaN: the chunk is not in the
list) and ``query_starts``, the place where each query begins. It returns one number a value: 0 for
a chunk that is not in the list. :data:`NORMALISATIONS` has each by its name.
"""

from collections.abc import Callable

import numpy as np

from operators.arrays.segments import Floats, Integers, lengths
from operators.errors import check_known


def min_max(values: Floats, query_starts: Integers) -> Floats:
    """``(x - min) / (max - min)`` within the query's list; a list of one value gets 1."""
    low = _spread(np.fmin, values, query_starts)
    high = _spread(np.fmax, values, query_starts)
    span = high - low
    scaled = np.divide(values - low, span, out=np.ones_like(values), where=span > 0)
    return _absent_is_zero(scaled, values)


def max_ratio(values: Floats, query_starts: Integers) -> Floats:
    """``x / max`` within the query's list: min-max whose minimum is the theoretical one, 0."""
    return ratio(values, _spread(np.fmax, values, query_starts))


def ratio(values: Floats, high: Floats) -> Floats:
    """``values / high``; 0 for a negative or a missing value."""
    scaled = np.divide(values, high, out=np.zeros_like(values), where=high > 0)
    return np.fmax(scaled, 0.0)  # of NaN and 0 that is 0


def raw(values: Floats, query_starts: Integers) -> Floats:
    """The value as it is: a cosine similarity is on a scale that all queries share."""
    return _absent_is_zero(values, values)


def three_sigma(values: Floats, query_starts: Integers) -> Floats:
    """``(x - (mean - 3 sd)) / (6 sd)``, cut to 0..1: distribution-based score fusion.

    sd is the population's. A list whose values are all equal gets 0.5.
    """
    query = np.repeat(np.arange(len(query_starts)), lengths(query_starts, len(values)))
    present = ~np.isnan(values)
    filled = np.where(present, values, 0.0)
    many = len(query_starts)
    count = np.maximum(np.bincount(query, present, many), 1)
    mean = np.bincount(query, filled, many) / count
    away = np.where(present, values - mean[query], 0.0)
    deviation = np.sqrt(np.bincount(query, away * away, many) / count)[query]
    scaled = np.divide(away, 6 * deviation, out=np.zeros_like(values), where=deviation > 0) + 0.5
    return _absent_is_zero(np.clip(scaled, 0.0, 1.0), values)


NORMALISATIONS: dict[str, Callable[[Floats, Integers], Floats]] = {
    "min_max": min_max,
    "max": max_ratio,
    "raw": raw,
    "three_sigma": three_sigma,
}


def normalise(name: str, values: Floats, query_starts: Integers) -> Floats:
    """``values`` scaled by the normalisation of that name.

    Raises:
        UnknownName: there is no such normalisation.
    """
    check_known("normalisation", name, NORMALISATIONS)
    return NORMALISATIONS[name](values, query_starts)


def _spread(reduce: np.ufunc, values: Floats, query_starts: Integers) -> Floats:
    """Each query's reduced value, repeated for each of its rows."""
    if not len(values):
        return values
    reduced = reduce.reduceat(values, query_starts)
    return np.repeat(reduced, lengths(query_starts, len(values)))


def _absent_is_zero(scaled: Floats, values: Floats) -> Floats:
    return np.where(np.isnan(values), 0.0, scaled)
