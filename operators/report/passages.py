"""Passages: the factors of their scores, and their ranks from stage to stage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from operators.explain.waterfall import FACTORS, Step
from operators.report.page import Html, table


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


def used_factors(passages: Sequence[Passage]) -> dict[str, str]:
    """The factors of any of the passages, in order, with their meanings."""
    there = {step.factor: step.meaning for one in passages for step in one.steps}
    first = [factor for factor in FACTORS if factor in there]
    return {factor: there[factor] for factor in dict.fromkeys([*first, *there])}


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
