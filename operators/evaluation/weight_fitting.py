"""Fits numbers to judged queries: a search along one coordinate after another.

Each parameter in turn moves along its grid (Metzler and Croft, Information Retrieval 2007) while
the mean gain over the queries is more than half its standard error. Else the configured value
stays. Half was chosen on ``pytest`` (1.5 found a fourth of its gain) and checked on others.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from operators.arrays.segments import Floats, Integers
from operators.errors import CrosscorpusError

Parameters = Mapping[str, float]
State = TypeVar("State")

ERRORS, LEAST = 0.5, 0.001
"""A parameter moves if this gains more than so many standard errors, and more than the second."""
_FACTORS = (0.65, 0.75, 0.87, 1.0, 1.15, 1.3, 1.5)
_STEPS = (-0.3, -0.15, 0.0, 0.15, 0.3)
_GRIDS: Mapping[str, tuple[float, ...]] = {
    "full_weight_terms": (0, 4, 6, 8, 10, 12, 16),
    "missing_score_fraction": (0.0, 0.25, 0.5, 0.75, 1.0),
}


class TooFewQueries(CrosscorpusError):
    """There are no queries to learn from, or none to validate on."""


@dataclass(frozen=True)
class Learned:
    """What a fit changed, and its gain on the queries that it was fitted to."""

    changed: Parameters  # those that moved
    gain: float  # mean over the training queries
    error: float  # its standard error


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


def climb(
    run: Callable[[Parameters, State], tuple[Floats, State]],
    start: Parameters,
    state: State,
    *,
    on_step: Callable[[], object] = lambda: None,
) -> Learned:
    """The parameters that a search along the coordinates reaches from ``start``.

    Args:
        run: the measure of each query with these parameters, and the state of that run.
        state: what ``run`` begins with; later it gets the state of the best run.
        on_step: is called once for each parameter.
    """
    reached, (values, state) = dict(start), run(start, state)
    before = values
    for name, first in start.items():
        tried_values = grid(name, first)
        for step in (1, -1):
            at = tried_values.index(first) + step
            while 0 <= at < len(tried_values):
                tried = {**reached, name: tried_values[at]}
                new_values, new_state = run(tried, state)
                if not _is_gain(new_values - values):
                    break
                reached, values, state = tried, new_values, new_state
                at += step
            if reached[name] != first:
                break
        on_step()
    changed = {name: value for name, value in reached.items() if value != start[name]}
    return Learned(changed, *mean_and_error(values - before))


def grid(name: str, start: float) -> list[float]:
    """The values of a parameter that are tried, around the one where it starts.

    >>> grid("code.vector_weight", 0.5)
    [0.2, 0.35, 0.5, 0.65, 0.8]
    >>> grid("code.weights.question", 1.0)
    [0.65, 0.75, 0.87, 1.0, 1.15, 1.3, 1.5]
    """
    if name.endswith(".vector_weight"):
        values = [min(max(round(start + step, 3), 0.0), 1.0) for step in _STEPS]
    elif name in _GRIDS:
        values = list(_GRIDS[name])
    else:
        values = [round(start * factor, 3) for factor in _FACTORS]
    return sorted({*values, start})


def mean_and_error(values: Floats) -> tuple[float, float]:
    """The mean of a sample, and its standard error; 0 of a single value."""
    error = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0
    return float(values.mean()), error


def _is_gain(differences: Floats) -> bool:
    gain, error = mean_and_error(differences)
    return gain > max(ERRORS * error, LEAST)
