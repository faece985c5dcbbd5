"""What asked decides what weighs: a pull-request review trusts code and reviews more than a wiki.

A trigger is a name or a mix, ``{pr_review: 0.7, question: 0.3}``; a mix's weight is the mean of the
weights of its triggers, so that the change from one trigger to another is a gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from operators.arrays.segments import Floats, positions
from operators.errors import CrosscorpusError, UnknownName, suggest
from operators.ranking.total_order import ranked

SourceWeights = Mapping[str, Mapping[str, float]]  # corpus -> trigger -> weight
Mix = Sequence[tuple[str, float]]


def read_trigger(
    trigger: str | Mapping[str, float] | None, known: Sequence[str]
) -> list[tuple[str, float]]:
    """A trigger as a caller gives it, checked.

    Args:
        trigger: a name, a mix of shares, or None (or ``"none"``) for no trigger.
        known: the triggers that the configuration names.

    Returns:
        The mix as pairs of trigger and share; empty for no trigger.

    Raises:
        UnknownName: a trigger that the configuration does not name.
        CrosscorpusError: a share is negative or not finite, or all are 0.
    """
    if trigger is None or trigger == "none":
        return []
    mix = {trigger: 1.0} if isinstance(trigger, str) else dict(trigger)
    for name, share in mix.items():
        if name not in known:
            raise UnknownName(f"unknown trigger {name!r}{suggest(name, [*known, 'none'])}")
        if not (isinstance(share, int | float) and np.isfinite(share) and share >= 0):
            raise CrosscorpusError(
                f"the share of trigger {name!r} must be 0 or more, got {share!r}"
            )
    if mix and not sum(mix.values()) > 0:
        raise CrosscorpusError("the shares of a trigger mix must not all be 0")
    return [(name, float(share)) for name, share in mix.items()]


def mix_weight(mix: Mix, weights: Mapping[str, float]) -> float:
    """The mean of ``weights`` over ``mix``; a trigger without a weight has 1, so has an empty mix.

    >>> mix_weight([("pr_review", 0.5), ("slack", 0.5)], {"pr_review": 1.5})
    1.25
    """
    total = weighted = 0.0
    for trigger, share in mix:
        total += share
        weighted += share * weights.get(trigger, 1.0)
    return weighted / total if total > 0 else 1.0


def weigh(hits: pl.DataFrame, queries: pl.DataFrame, source_weights: SourceWeights) -> pl.DataFrame:
    """``hits`` (``FUSED``) with each score times its corpus's weight for the query's trigger.

    Args:
        hits: columns ``FUSED``.
        queries: columns ``QUERIES``.
        source_weights: corpus -> trigger -> weight; what it does not name weighs 1.
    """
    mixes = queries["trigger"].to_list()
    if not any(mixes):
        return hits
    factors = _factors(hits, queries, mixes, source_weights)
    return ranked(hits, hits["score"].to_numpy() * factors)


def _factors(
    hits: pl.DataFrame,
    queries: pl.DataFrame,
    mixes: Sequence[Sequence[Mapping[str, Any]] | None],
    source_weights: SourceWeights,
) -> Floats:
    corpora = sorted(source_weights)
    rows: dict[tuple[tuple[str, float], ...], list[float]] = {}
    # the last row is for a query, the last column for a corpus, that nothing is known of
    table = np.ones((len(mixes) + 1, len(corpora) + 1))
    for number, shares in enumerate(mixes):
        mix = tuple((one["trigger"], one["share"]) for one in shares or ())
        if mix not in rows:
            rows[mix] = [mix_weight(mix, source_weights[corpus]) for corpus in corpora]
        table[number, :-1] = rows[mix]
    row = positions(queries["query_id"].to_numpy(), hits["query_id"].to_numpy())
    column = {corpus: number for number, corpus in enumerate(corpora)}
    place = [column.get(corpus, -1) for corpus in hits["corpus"].to_list()]
    factors: Floats = table[row, np.array(place, np.int64)]
    return factors
