"""Passages: bars of the factors of their scores, and their ranks from stage to stage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from operators.explain.waterfall import FACTORS, Step, spell
from operators.report.page import Html, element, table

# A score begins with one of meaning, place, corpus and fusion, so that these share a colour.
_SHADES = {"meaning": 1, "place": 1, "corpus": 1, "words": 2, "weight": 3, "recency": 4}
_SHADES |= {"fusion": 1, "others": 5, "language_weight": 5}
_LATER = (6, 7)  # the shades for the effects of later lists, in turn
_LABEL = 46  # characters


@dataclass(frozen=True)
class Passage:
    """A passage of an explanation, with its name and its numbers."""

    name: str  # its rank among the results, or ?1, ?2, ...
    row: Mapping[str, Any]  # of ``DISPOSITIONS``
    steps: Sequence[Step]  # its waterfall

    @property
    def place(self) -> int | None:
        """Its rank among the results, from 1."""
        rank = self.row["result_rank"]
        return None if rank is None else int(rank) + 1

    @property
    def label(self) -> str:
        """Its name and its label, shortened to fit beside a bar."""
        text = self.row["source_label"]
        half = _LABEL // 2
        short = text if len(text) <= _LABEL else f"{text[:half]}…{text[1 - half :]}"
        return f"{self.name}  {short}"


def used_factors(passages: Sequence[Passage]) -> dict[str, str]:
    """The factors of any of the passages, in order, with their meanings."""
    there = {step.factor: step.meaning for one in passages for step in one.steps}
    first = [factor for factor in FACTORS if factor in there]
    return {factor: there[factor] for factor in dict.fromkeys([*first, *there])}


def score_bars(passages: Sequence[Passage], note: str) -> Html:
    """A bar for each passage, a part per factor, a hollow one for a loss, and the score.

    ``note`` stands under the bars. Screen readers read the tables instead.
    """
    factors = list(used_factors(passages))
    later = [factor for factor in factors if factor not in _SHADES]
    shades = _SHADES | {factor: _LATER[n % len(_LATER)] for n, factor in enumerate(later)}
    ends = [end for one in passages for step in one.steps for end in (step.before, step.after)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    share = 100 / (high - low or 1.0)
    rows = []
    for one in passages:
        parts = []
        for step in one.steps:
            start, end = sorted((step.before, step.after))
            bounds = f"left: {(start - low) * share:.2f}%; width: {(end - start) * share:.2f}%"
            lost = step.after < step.before
            colour = "" if lost else f"; background: var(--s{shades[step.factor]})"
            said = f"{step.factor}: {step.formula}; score so far {spell(step.after)}"
            kind = "lost" if lost else None
            parts.append(element("span", class_=kind, style=bounds + colour, title=said))
        name = element("span", one.label, class_="name")
        score = element("span", f"{one.steps[-1].after:.3f}", class_="number")
        rows.append(element("li", name, element("span", *parts, class_="track"), score))
    key = (element("li", one, style=f"--swatch: var(--s{shades[one]})") for one in factors)
    return element(
        "figure",
        element("p", "Score", class_="title"),
        element("ul", *key, class_="key"),
        element("ol", *rows, class_="bars", aria_hidden="true"),
        element("figcaption", note),
    )


def places_table(passages: Sequence[Passage]) -> Html:
    """The place of each passage in the list of each stage."""
    positions = [{one["list"]: one["rank"] for one in passage.row["ranks"]} for passage in passages]
    stages = _moving(positions)
    rows = [
        [one.name, *(str(ranks[name] + 1) if name in ranks else "" for name in stages)]
        for one, ranks in zip(passages, positions, strict=True)
    ]
    return table("Place in each list", ["", *stages], rows, numeric=range(1, len(stages) + 1))


def _moving(positions: Sequence[Mapping[str, int]]) -> list[str]:
    """The lists that contain some passage; one that changes no rank is left out."""
    every = list(dict.fromkeys(name for ranks in positions for name in ranks))
    columns = {name: [ranks.get(name) for ranks in positions] for name in every}
    pairs = zip(every, [None, *every[:-1]], strict=True)
    return [one for one, last in pairs if last is None or columns[one] != columns[last]]
