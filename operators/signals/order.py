"""The order of all hits: what the rules say, one formula, one sort.

    score  = fused score * factors
    wanted = (fused score + best of the corpus * sum of gains) * factors

A hit takes the score of its place by ``wanted`` among the hits of its corpus: the scores of a
corpus stay the same numbers, so that hits of other corpora keep their ranks. Then hits that lead
come first, of them last those that lose by a gain, as tests do; hits that are behind come last.
"""

from collections.abc import Collection, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from operators.arrays.rows import by_rank, replaced, take
from operators.arrays.segments import places
from operators.errors import CrosscorpusError, UnknownName, suggest
from operators.frames import SIGNALS, empty
from operators.ranking.total_order import BEST_FIRST
from operators.signals.rule import Rule

_LOSES = 1e-6
"""What the lead of a hit that loses is times: it stays ahead of those that do not lead."""

_SAID = {name: SIGNALS[name] for name in ("signal", "kind", "value", "weight", "source")}


def signals(
    hits: pl.DataFrame,
    intent: pl.DataFrame,
    scope: pl.DataFrame,
    rules: Mapping[str, Rule],
    weights: Mapping[str, float],
    *,
    file_corpora: Collection[str],
) -> pl.DataFrame:
    """``SIGNALS``: what each rule with a weight says of each hit, rule by rule.

    Args:
        hits: columns ``FUSED``.
        intent: columns ``INTENT``.
        scope: the columns of ``VERSION_SCOPE`` and ``as_of``, one row a question.
        rules: by name.
        weights: of the rules, by name; 0 turns one off, but a factor of weight 0 is none.
        file_corpora: the corpora whose hits are passages of files of code.

    A rule sees the hits by rank, with two columns more: ``best``, the best score of the hit's
    corpus for its question, and ``of_file``, whether it is a passage of a file of code.

    Raises:
        UnknownName, CrosscorpusError: as :func:`check_weights`.
    """
    check_weights(weights, rules)
    seen = by_rank(hits).with_columns(
        best=pl.col("score").max().over("query_id", "corpus"),
        of_file=pl.col("corpus").is_in(list(file_corpora)) & pl.col("path").is_not_null(),
    )
    asked = intent.join(scope, on="query_id", how="left", maintain_order="left")
    questions = {row["query_id"]: row for row in asked.iter_rows(named=True)}
    rows: list[int] = []
    said: dict[str, list[object]] = {name: [] for name in _SAID}
    used = {name: weight for name, weight in weights.items() if weight and seen.height}
    for name, weight in used.items():
        value, sources = rules[name](seen, questions)
        concerned = np.flatnonzero(value).tolist()
        rows += concerned
        said["signal"] += [name] * len(concerned)
        said["kind"] += [rules[name].kind] * len(concerned)
        said["value"] += value[concerned].tolist()
        said["weight"] += [float(weight)] * len(concerned)
        said["source"] += [sources[row] if sources else None for row in concerned]
    if not rows:
        return empty(SIGNALS)
    keys = take(seen["query_id", "chunk_id"], np.array(rows))
    return keys.hstack(pl.DataFrame(said, schema_overrides=_SAID))


def check_weights(weights: Mapping[str, float], rules: Collection[str]) -> None:
    """Raise unless ``weights`` are of ``rules``, finite and not negative.

    Raises:
        UnknownName: a weight of a rule that there is not.
        CrosscorpusError: a weight below 0, infinite or no number.
    """
    for name, weight in weights.items():
        if name not in rules:
            raise UnknownName(f"signal_weights: no rule {name!r}{suggest(name, rules)}")
        if not (np.isfinite(weight) and weight >= 0):
            raise CrosscorpusError(f"signal_weights: {name!r} must be 0 or more, got {weight!r}")


def ranked(hits: pl.DataFrame, signals: pl.DataFrame) -> pl.DataFrame:
    """``hits`` (``FUSED``) in the order that their ``signals`` make.

    The score of a hit that leads is at least that of each hit behind it, and the score of one that
    is behind at most that of each before it: scores fall with the rank.
    """
    hits = by_rank(hits)
    if not signals.height:
        return hits
    factor, gain, tier = _effects(hits, signals)
    score = hits["score"].to_numpy()
    corpus = hits["corpus"].rank("dense").to_numpy()
    query = hits["query_id"].to_numpy()
    own = score * factor
    if gain.any():
        best = hits.select(pl.col("score").max().over("query_id", "corpus")).to_series().to_numpy()
        wanted = (score + best * gain) * factor
        given = own.copy()
        given[np.lexsort((-wanted, corpus, query))] = own[np.lexsort((-own, corpus, query))]
        own = given
    scored = replaced(hits, pl.Series("score", own), pl.Series("tier", -tier))
    order = scored.select(
        pl.arg_sort_by(BEST_FIRST[0], "tier", *BEST_FIRST[1:], nulls_last=True)
    ).to_series()
    chosen = take(scored, order.to_numpy())
    falling = _falling(chosen["score"].to_numpy(), -chosen["tier"].to_numpy(), query)
    rank = places(chosen["query_id"].to_numpy())
    return replaced(chosen.drop("tier"), pl.Series("score", falling), pl.Series("rank", rank))


def _effects(
    hits: pl.DataFrame, signals: pl.DataFrame
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The factors, the gains and the tier of each hit."""
    keys = hits["query_id", "chunk_id"].with_row_index("row")
    rows = signals.join(keys, on=["query_id", "chunk_id"], maintain_order="left")
    factor, gain = np.ones(hits.height), np.zeros(hits.height)
    ahead, behind = np.zeros(hits.height), np.zeros(hits.height)
    loses = np.zeros(hits.height, dtype=bool)
    for kind, value, weight, row in rows["kind", "value", "weight", "row"].iter_rows():
        if kind == "factor":
            factor[row] *= weight**value
        elif kind == "gain":
            gain[row] += weight * value
            loses[row] |= weight * value < 0
        else:
            ahead[row] = max(ahead[row], weight * value)
            behind[row] = min(behind[row], weight * value)
    return factor, gain, np.where(ahead > 0, np.where(loses, ahead * _LOSES, ahead), behind)


def _falling(
    score: NDArray[np.float64], tier: NDArray[np.float64], query: NDArray[np.uint32]
) -> NDArray[np.float64]:
    """``score`` of rows in their order, raised where a row leads and lowered where it is behind."""
    made = score.copy()
    for number in np.unique(query) if tier.any() else ():
        rows = np.flatnonzero(query == number)
        ahead, behind = rows[tier[rows] > 0], rows[tier[rows] < 0]
        usual = rows[tier[rows] == 0]
        least = score[usual[0]] if len(usual) else -np.inf
        made[ahead] = np.maximum(np.maximum.accumulate(score[ahead][::-1])[::-1], least)
        most = score[usual[-1]] if len(usual) else np.inf
        made[behind] = np.minimum(np.minimum.accumulate(score[behind]), most)
    return made
