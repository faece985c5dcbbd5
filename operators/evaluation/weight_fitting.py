"""Fits weights to judged queries, regularized towards their start and validated on other queries.

Coordinate ascent over a grid: each parameter in turn moves step by step while that raises the mean
of a smooth nDCG less a penalty for its distance from its start, until none moves (Metzler and
Croft, Information Retrieval 2007). nDCG@10 itself moves by jumps, and a few queries have few
jumps: a fit to it follows chance, and holds less on other queries. Cross-validation by nDCG@10
chooses the strength of the penalty. If no strength gains more than its standard error on the
left-out folds, nothing is changed.

The scores are those of the convex combination (Bruch, Gai and Ingber, TOIS 2023).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from operators.arrays.segments import Floats, Integers
from operators.errors import CrosscorpusError
from operators.evaluation.candidates import Candidates

Parameters = Mapping[str, float]
"""By name: ``vector_weight.CORPUS``, ``weight.CORPUS.TRIGGER``, ``full_weight_terms``,
``missing_score_fraction``."""

GRIDS: Mapping[str, tuple[float, ...]] = {
    "vector_weight": tuple(number / 10 for number in range(11)),
    "weight": (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6),
    "full_weight_terms": (0, 4, 6, 8, 10, 12, 16),
    "missing_score_fraction": (0.0, 0.25, 0.5, 0.75, 0.9, 1.0),
}
STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0)
FOLDS = 5
_ROUNDS = 4
_UNIT = {
    "vector_weight": 0.05,
    "full_weight_terms": 1.0,
    "missing_score_fraction": 0.5,
}
_RATIO = {"weight": 1.2}


class TooFewQueries(CrosscorpusError):
    """There are no queries to learn from, or none to validate on."""


@dataclass(frozen=True)
class Learned:
    """Fitted parameters, and their gains in cross-validation on the training queries."""

    parameters: Parameters
    strength: float | None  # of the penalty; None: no strength gained enough, nothing was changed
    gains: Mapping[float, tuple[float, float]]  # strength -> mean gain on left-out folds, its error


def halves(groups: Sequence[str], *, seed: int = 0) -> tuple[Integers, Integers]:
    """The row numbers of a training and a test half; no group is on both sides.

    ``groups`` has the group of each query, such as its pull request; else the query's id.

    Raises:
        TooFewQueries: there are fewer than two groups.
    """
    names = shuffled(groups, seed)
    if len(names) < 2:
        raise TooFewQueries("learning needs judged queries of two groups at least: one to check on")
    training: set[str] = set()
    taken = 0
    for name in names[:-1]:
        if 2 * (taken + groups.count(name)) <= len(groups) + 1:
            training.add(name)
            taken += groups.count(name)
    training = training or {names[0]}
    is_training = np.array([name in training for name in groups])
    return np.flatnonzero(is_training), np.flatnonzero(~is_training)


def shuffled(groups: Sequence[str], seed: int) -> list[str]:
    """The name of each group once, in an order derived from ``seed``."""
    names = sorted(set(groups))
    return [names[at] for at in np.random.default_rng(seed).permutation(len(names))]


def scores(candidates: Candidates, parameters: Parameters) -> Floats:
    """The score of each hit, as the graph computes it."""
    weight = np.array([parameters[f"vector_weight.{name}"] for name in candidates.corpora])
    query, corpus = candidates.of_hits("query_id"), candidates.of_hits("corpus_number")
    share = weight[corpus] if len(weight) else np.zeros(0)
    vector, text = candidates.values(parameters.get("missing_score_fraction", 0.0))
    words = candidates.lexical_weight(int(parameters["full_weight_terms"]))
    fused = share * vector + (1 - share) * text * words[query]
    table = np.ones((len(candidates.corpora), len(candidates.triggers) + 1))
    for row, name in enumerate(candidates.corpora):
        for column, trigger in enumerate(candidates.triggers):
            table[row, column] = parameters.get(f"weight.{name}.{trigger}", 1.0)
    # without a trigger the number is MISSING, -1: the last column, all 1
    trigger_number = candidates.questions["trigger"].to_numpy()[query]
    values: Floats = fused * candidates.of_hits("recency") * table[corpus, trigger_number]
    return values


def ndcg(candidates: Candidates, parameters: Parameters) -> Floats:
    """nDCG@10 of each query."""
    return candidates.ndcg(scores(candidates, parameters))


def fit(
    candidates: Candidates, base: Parameters, free: Sequence[str], *, strength: float
) -> dict[str, float]:
    """The parameters with the best mean of the smooth nDCG less the penalty.

    The penalty is ``strength / queries * sum of squared distances`` from ``base``, where the
    search starts. One step of distance is 0.05 of a vector weight, a factor of 1.2 of a corpus
    weight, a word, 0.5 of ``missing_score_fraction``.
    Of the ``free`` names a corpus weight of 0 does not change: no factor leads from there.
    """
    fitted = dict(base)
    free = [name for name in free if base[name] or name.partition(".")[0] not in _RATIO]
    many = max(len(candidates.query_ids), 1)

    def worth(parameters: Parameters) -> float:
        away = sum(_distance(name, parameters[name], base[name]) ** 2 for name in free)
        smooth = candidates.smooth_ndcg(scores(candidates, parameters))
        return float(smooth.mean()) - strength / many * away

    best = worth(fitted)
    for _ in range(_ROUNDS):
        moved = False
        for name in free:
            grid = sorted({*GRIDS[name.partition(".")[0]], base[name]})
            for step in (1, -1):
                at = grid.index(fitted[name]) + step
                while 0 <= at < len(grid):
                    tried = worth({**fitted, name: grid[at]})
                    if tried <= best + 1e-9:
                        break
                    best, fitted[name], moved = tried, grid[at], True
                    at += step
        if not moved:
            break
    return fitted


def learn(
    candidates: Candidates,
    groups: Sequence[str],
    base: Parameters,
    free: Sequence[str],
    *,
    seed: int = 0,
) -> Learned:
    """Parameters fitted on ``candidates``, with the penalty that does best on left-out folds.

    Of equal penalties, the strongest counts. As in the rule of one standard error (Breiman et al.,
    Classification and Regression Trees, 1984), the configured parameters are the simplest model:
    they, ``base``, stay unless the gain is more than its own error. A query that occurs twice
    counts by its mean; no group is in two folds.

    Raises:
        TooFewQueries: all queries are of one group.
    """
    fold = _folds(groups, seed)
    before = ndcg(candidates, base)
    _, question = np.unique(candidates.query_ids, return_inverse=True)
    gains: dict[float, tuple[float, float]] = {}
    left_out = []
    for number in range(int(fold.max()) + 1):
        training, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        left_out.append((candidates.part(training), candidates.part(test), test))
    for strength in STRENGTHS:
        gained = np.zeros(len(before))
        for learned_from, tried_on, numbers in left_out:
            tried = fit(learned_from, base, free, strength=strength)
            gained[numbers] = ndcg(tried_on, tried) - before[numbers]
        gains[strength] = _mean_and_error(np.bincount(question, gained) / np.bincount(question))
    best = max(STRENGTHS, key=lambda strength: (gains[strength][0], strength))
    gain, error = gains[best]
    if gain <= max(error, 1e-9):
        return Learned(dict(base), None, gains)
    return Learned(fit(candidates, base, free, strength=best), best, gains)


def _folds(groups: Sequence[str], seed: int) -> Integers:
    names = sorted(set(groups))
    if len(names) < 2:
        raise TooFewQueries("cross-validation needs training queries of two groups at least")
    order = np.random.default_rng(seed).permutation(len(names)) % min(FOLDS, len(names))
    number = dict(zip(names, order.tolist(), strict=True))
    return np.array([number[name] for name in groups], np.int64)


def _mean_and_error(values: Floats) -> tuple[float, float]:
    error = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0
    return float(values.mean()), error


def _distance(name: str, value: float, base: float) -> float:
    kind = name.partition(".")[0]
    if kind in _RATIO:
        return math.log(value / base) / math.log(_RATIO[kind])
    return (value - base) / _UNIT[kind]
