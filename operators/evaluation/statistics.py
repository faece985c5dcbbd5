"""Intervals by the bootstrap, and p-values by randomisation, corrected for their number.

All are seeded: the same values give the same numbers. Rows are queries, columns are measured
values, so that one set of resamples serves every column.
"""

from collections.abc import Iterator

import numpy as np

from operators.arrays.segments import Floats, inverse

RESAMPLES = 10_000
PERMUTATIONS = 100_000
_SEED = 20_221_101
_AT_ONCE = 4_000_000  # numbers held at a time
_TAILS = (1 - 0.95) / 2, 1 - (1 - 0.95) / 2


def bootstrap_means(values: Floats, *, resamples: int = RESAMPLES) -> tuple[Floats, Floats]:
    """The 95 % percentile interval of each column's mean (Efron, Annals of Statistics 1979).

    Of ``values`` (n, m) without NaN, n rows are drawn with replacement, ``resamples`` times. The
    lower and the upper ends have (m,) each; NaN if there is no row.
    """
    rows, columns = values.shape
    if not rows:
        return np.full(columns, np.nan), np.full(columns, np.nan)
    random = np.random.default_rng(_SEED)
    means = np.empty((resamples, columns))
    for start, stop in _slices(resamples, rows):
        drawn = random.integers(rows, size=(stop - start, rows), dtype=np.int32)
        drawn += np.arange(stop - start, dtype=np.int32)[:, None] * rows
        counts = np.bincount(drawn.ravel(), minlength=(stop - start) * rows)
        means[start:stop] = counts.reshape(stop - start, rows).astype(np.float64) @ values / rows
    low, high = np.quantile(means, _TAILS, axis=0)
    return low, high


def randomisation_p(differences: Floats, *, permutations: int = PERMUTATIONS) -> Floats:
    """The two-sided p of each column's mean being 0, by the paired randomisation test.

    If both systems were alike, each difference would as likely have the other sign (Fisher 1935;
    for retrieval: Smucker, Allan, Carterette, CIKM 2007). All sign patterns are tried if there
    are no more than ``permutations``, so that p is exact; else as many are drawn, and p is
    (1 + as far from 0) / (1 + drawn) (Phipson, Smyth 2010), which is never 0.

    ``differences`` are (n, m), without NaN. The result has (m,) numbers in (0, 1]; 1 if all
    differences are 0 or there is no row.
    """
    moved = np.flatnonzero((differences != 0).any(axis=1))  # a 0 has no sign
    kept = differences[moved]
    rows, columns = kept.shape
    if not rows:
        return np.ones(columns)
    exact = _is_exact(rows, permutations)
    patterns = 2**rows if exact else permutations
    # sums of the same numbers in another order differ in the last digits
    observed = np.abs(kept.sum(axis=0)) - 1e-9 * np.abs(kept).sum(axis=0)
    random = np.random.default_rng(_SEED)
    as_far = np.zeros(columns, np.int64)
    for start, stop in _slices(patterns, rows):
        if exact:
            ones = np.arange(start, stop)[:, None] >> np.arange(rows) & 1
            signs = ones * 2.0 - 1.0
        else:
            drawn = random.bytes((stop - start) * -(-rows // 8))
            packed = np.frombuffer(drawn, np.uint8).reshape(stop - start, -1)
            signs = np.unpackbits(packed, axis=1, count=rows) * 2.0 - 1.0
        as_far += (np.abs(signs @ kept) >= observed).sum(axis=0)
    return as_far / patterns if exact else (1 + as_far) / (1 + patterns)


def lowest_p(rows: int, permutations: int = PERMUTATIONS) -> float:
    """The smallest p that :func:`randomisation_p` can give for ``rows`` queries.

    Of all sign patterns, only the observed one and its opposite are as far from 0.
    """
    return min(1.0, 2 / 2**rows) if _is_exact(rows, permutations) else 1 / (1 + permutations)


def _is_exact(rows: int, permutations: int) -> bool:
    return rows < 63 and 2**rows <= permutations


def holm(p: Floats) -> Floats:
    """p-values corrected for their number, step by step from the smallest.

    The i-th smallest of m, from 1, becomes max over j <= i of min(1, (m - j + 1) p_j) (Holm,
    Scandinavian Journal of Statistics 1979): the chance of any false finding stays below the level.
    """
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, p[order] * np.arange(len(p), 0, -1))
    corrected: Floats = np.maximum.accumulate(stepped)[inverse(order)]
    return corrected


def _slices(total: int, width: int) -> Iterator[tuple[int, int]]:
    step = max(_AT_ONCE // max(width, 1), 1)
    return ((start, min(start + step, total)) for start in range(0, total, step))
