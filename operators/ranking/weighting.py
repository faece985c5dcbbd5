"""The weights of corpora by trigger: a pull-request review trusts code more than a wiki.

A trigger is a name or a mix, ``{pr_review: 0.7, question: 0.3}``; a mix's weight is the mean of the
weights of its triggers, so that the change from one trigger to another is a gradient. A language
may have a weight for every trigger, ``{rust: 1.1}``.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import polars as pl

from operators.errors import CrosscorpusError, UnknownName, suggest
from operators.frames import TRIGGER_WEIGHTS
from operators.ranking.total_order import ranked

SourceWeights = Mapping[str, Mapping[str, float]]  # corpus -> trigger -> weight
Mix = Sequence[tuple[str, float]]


def read_trigger(
    trigger: str | Mapping[str, float] | None, known: Sequence[str]
) -> list[tuple[str, float]]:
    """The pairs of trigger and share in a caller's ``trigger``.

    ``trigger`` is a name, a mix of shares, or None (or ``"none"``) for no trigger; ``known`` are
    the triggers of the configuration.

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


def trigger_weights(
    queries: pl.DataFrame,
    intent: pl.DataFrame,
    source_weights: SourceWeights,
    *,
    reason_corpora: Collection[str] = (),
) -> pl.DataFrame:
    """``TRIGGER_WEIGHTS``: the weight of every corpus for the triggers of each of ``QUERIES``.

    A trigger that ``source_weights`` does not name has weight 1. If a query asks why something is
    so, or since when, the ``reason_corpora`` have at least weight 1: commits give reasons.
    """
    why = set(intent.filter("asks_why")["query_id"])
    mixes = {
        query_id: [(one["trigger"], one["share"]) for one in shares or ()]
        for query_id, shares in queries["query_id", "trigger"].iter_rows()
    }
    rows = []
    for query_id, mix in mixes.items():
        for corpus in sorted(source_weights):
            weight = mix_weight(mix, source_weights[corpus])
            least = 1.0 if query_id in why and corpus in reason_corpora else 0.0
            rows.append((query_id, corpus, max(weight, least)))
    return pl.DataFrame(rows, schema=TRIGGER_WEIGHTS, orient="row")


def weigh(hits: pl.DataFrame, weights: pl.DataFrame) -> pl.DataFrame:
    """``hits`` (``FUSED``) with each score times ``weight``, that of its corpus for its query.

    A corpus that ``weights`` (``TRIGGER_WEIGHTS``) does not name has weight 1.
    """
    keys = ["query_id", "corpus"]
    weight = hits[keys].join(weights, on=keys, how="left", maintain_order="left")["weight"]
    weighted = hits.with_columns(weight.fill_null(1.0))
    if (weights["weight"] == 1.0).all():
        return weighted
    return ranked(weighted, pl.col("score") * pl.col("weight"))


def language_factors(hits: pl.DataFrame, languages: Mapping[str, float]) -> pl.Series:
    """``language_weight`` of each hit: that of its language; 1 where ``languages`` lacks it."""
    for name, weight in languages.items():
        if not (np.isfinite(weight) and weight >= 0):
            raise CrosscorpusError(f"the weight of {name!r} must be 0 or more, got {weight!r}")
    return pl.Series("language_weight", [float(languages.get(one, 1)) for one in hits["language"]])


def weigh_languages(hits: pl.DataFrame, languages: Mapping[str, float]) -> pl.DataFrame:
    """``hits`` (``FUSED``) with each score times ``language_weight``, that of its language."""
    if not languages:
        return hits
    weighted = hits.with_columns(language_factors(hits, languages))
    return ranked(weighted, pl.col("score") * pl.col("language_weight"))
