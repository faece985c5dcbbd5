"""A score, factor by factor, from 0 to the final score."""

import math
from dataclasses import dataclass

import polars as pl

from operators.signals.shipped import RULES

FACTORS = {
    "meaning": "vector similarity to the question (without a vector: estimated from its words)",
    "words": "the words that it shares with the question",
    "place": "its place in its corpus",
    "corpus": "its score in its corpus",
    "fusion": "its score from fusion; the factors are unknown",
    "others": "the same passage in other corpora",
    "recency": "how new it is",
    "weight": "the weight of its corpus for this trigger",
    "language_weight": "the weight of its language",
    **{rule.name: rule.meaning for rule in RULES.values() if rule.kind == "factor"},
}
"""The factors of the shipped stages and their meaning, in the order in which they apply. A list
without factor columns is a factor under its own name."""

_NEXT_TO_SCORES = ("score", "near-duplicate", "near-duplicate of")


@dataclass(frozen=True)
class Step:
    """A factor, its meaning, the score before and after it, and its ``formula`` in numbers."""

    factor: str
    before: float
    after: float
    formula: str
    meaning: str = ""


def lists_of_all(explained: pl.DataFrame) -> list[str]:
    """The lists of all corpora in order, from their score rows."""
    scores = explained.filter(pl.col("detail").is_not_null(), quantity="score")
    return scores["stage"].unique(maintain_order=True).to_list()


def waterfall(explained: pl.DataFrame) -> list[Step]:
    """The steps from 0 to the last score of a chunk.

    Args:
        explained: the rows of ``EXPLAIN`` of one chunk and query.

    Returns:
        Each step starts where the last one ends; the final one ends at the score, to the last bit.
        Factors that are unknown, because a caller overrode a stage, are one step.
    """
    rows = explained.drop_nulls("value").select("stage", "quantity", "value", "detail").rows()
    numbers = {(stage, quantity): value for stage, quantity, value, _ in rows}
    meanings = {stage: detail or "" for stage, quantity, _, detail in rows if quantity == "score"}
    parts = [value for _, quantity, value, _ in rows if quantity == "part"]
    lists = lists_of_all(explained)
    steps: list[Step] = []

    def step(factor: str, after: float, formula: str, meaning: str = "") -> None:
        before = steps[-1].after if steps else 0.0
        steps.append(Step(factor, before, after, formula, FACTORS.get(factor, meaning)))

    corpus_stages = [stage for stage in meanings if stage not in (*lists, "text")]
    first = corpus_stages[0] if corpus_stages else ""
    merged = numbers.get((first, "score"))
    fused = numbers.get((lists[0], "score")) if lists else None
    base = parts[0] if parts else merged if fused is None else fused
    if base is None:
        return []
    if base == merged and (first, "vector_part") in numbers:
        meaning, words = numbers[first, "vector_part"], numbers[first, "text_part"]
        step("meaning", meaning, spell(meaning))
        step("words", base, f"+ {spell(words)}")
    elif parts and base != merged:
        (rank, *_) = explained.filter(quantity="part")["rank"]
        step("place", base, f"1 / ({spell(1 / base - rank)} + {rank})")
    elif fused is not None and not parts:
        step("fusion", base, meanings[lists[0]] or "as a caller gave it")
    else:
        step("corpus", base, "as its corpus gave it")
    for part in parts[1:]:
        step("others", steps[-1].after + part, f"+ {spell(part)}")
    if parts and fused is not None and fused != steps[-1].after:
        step("recency", fused, f"× {spell(numbers[lists[0], 'recency'])}")
    for name in lists[1:]:
        after, before = numbers.get((name, "score")), steps[-1].after
        own = [(q, v, d) for s, q, v, d in rows if s == name and q not in _NEXT_TO_SCORES]
        own = [(q, v, d) for q, v, d in own if v != 1 or not _is_factor(d)]
        factors = [(q, v) for q, v, d in own if _is_factor(d)]
        if after is None or after == before:
            continue
        whole = math.prod((value for _, value in factors), start=before)
        if factors and len(own) == len(factors) and whole == after:
            for factor, value in factors:
                step(factor, steps[-1].after * value, f"× {spell(value)}")
        else:
            how = ", ".join(_sign(*one) for one in own)
            how = f"takes the score of its place by {how}" if how else "moved up or down"
            step(name, after, how, meanings[name])
    return steps


def _is_factor(detail: str | None) -> bool:
    """Whether a number is a factor: the columns of a list are, and a rule says what it is."""
    return detail is None or detail.startswith("factor")


def _sign(name: str, value: float, detail: str | None) -> str:
    """What a factor or a rule says, and the passage that it comes from."""
    number = f"× {spell(value)}" if _is_factor(detail) else f"{value:+.6g}"
    _, _, source = (detail or "").partition(" from ")
    return f"{number} {name.replace('_', ' ')}{f' ({source})' if source else ''}"


def spell(value: float) -> str:
    """A number with six significant digits at most, without trailing zeros.

    >>> spell(0.6), spell(1.15), spell(0.9792638), spell(1/61)
    ('0.6', '1.15', '0.979264', '0.0163934')
    """
    return f"{value:.6g}"
