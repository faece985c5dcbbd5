"""A score, factor by factor, from 0 to the score itself."""

from dataclasses import dataclass

import polars as pl

from operators.frames import SCORE_FACTORS

FACTORS = {
    "meaning": "how near it is to the question in meaning; without a vector, as its words are good",
    "words": "the words that it shares with the question",
    "place": "its place in its corpus",
    "corpus": "its score in its corpus",
    "fusion": "what its fusion gave it, which does not tell why",
    "others": "the same passage in other corpora",
    "recency": "how new it is, and how short",
    "weight": "the weight of its source for what asks",
    "language": "the weight of its language",
    "reranker": "the reranking model",
    "version": "a newer or a named version that goes before it, or it before others",
    "phrase": "a phrase of the question that stands in it",
}
"""Every factor and its meaning, in the order in which they apply."""


@dataclass(frozen=True)
class Step:
    """A factor, the score before and after it, and its ``formula`` in numbers."""

    factor: str
    before: float
    after: float
    formula: str


def waterfall(explained: pl.DataFrame) -> list[Step]:
    """The steps from 0 to the last score that a chunk had.

    Args:
        explained: the rows of ``EXPLAIN`` of one chunk and question.

    Returns:
        Each step begins where the last one ends; the final one ends at the score, to the last bit.
        Factors that are unknown, because a caller overrode a stage, are one step.
    """
    rows = explained.drop_nulls("value").select("stage", "quantity", "value").rows()
    numbers = {(stage, quantity): value for stage, quantity, value in rows}
    parts = [value for stage, quantity, value in rows if quantity == "part"]
    steps: list[Step] = []

    def step(factor: str, after: float | None, formula: str) -> None:
        if after is not None:
            steps.append(Step(factor, steps[-1].after if steps else 0.0, after, formula))

    merged, fused = (numbers.get((stage, "score")) for stage in ("merged", "fused"))
    base = parts[0] if parts else merged if fused is None else fused
    if base is None:
        return []
    if base == merged and ("merged", "vector_weight") in numbers:
        vw, vv, tw, tv, tc = (numbers["merged", name] for name in SCORE_FACTORS)
        sure = "" if tc == 1 else f" × {spell(tc)}"
        step("meaning", vw * vv, f"{spell(vw)} × {spell(vv)}")
        step("words", base, f"+ {spell(tw)} × {spell(tv)}{sure}")
    elif parts and base != merged:
        (rank, *_) = explained.filter(quantity="part")["rank"]
        step("place", base, f"1 / ({spell(1 / base - rank)} + {rank})")
    elif fused is not None and not parts:
        by = explained.filter(stage="fused", quantity="score")["detail"][0]
        step("fusion", base, f"by {by}" if by else "as a caller gave it")
    else:
        step("corpus", base, "as its corpus gave it")
    for part in parts[1:]:
        step("others", steps[-1].after + part, f"+ {spell(part)}")
    recency = numbers.get(("fused", "recency"))
    if parts and recency is not None and recency != 1:
        step("recency", fused, f"× {spell(recency)}")
    weight, language = (numbers.get(("weighted", name), 1.0) for name in ("weight", "language"))
    weighed = numbers.get(("weighted", "score"))
    if weight != 1:
        step("weight", steps[-1].after * weight if language != 1 else weighed, f"× {spell(weight)}")
    if language != 1:
        step("language", weighed, f"× {spell(language)}")
    reranked = numbers.get(("reranked", "score"))
    if reranked is not None and reranked != steps[-1].after:
        step("reranker", reranked, "the model's own score in its place")
    for factor in ("version", "phrase"):
        moved = numbers.get((f"{factor}_order", "score"))
        if moved is not None and moved != steps[-1].after:
            step(factor, moved, f"moved up or down by its {factor}")
    return steps


def spell(value: float) -> str:
    """A number with six significant digits at most, without trailing zeros.

    >>> spell(0.6), spell(1.15), spell(0.9792638), spell(1/61)
    ('0.6', '1.15', '0.979264', '0.0163934')
    """
    return f"{value:.6g}"
