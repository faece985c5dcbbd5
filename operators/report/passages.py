"""Passages: a chart of the factors of their scores, and their ranks from stage to stage."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from operators.explain.waterfall import FACTORS, Step, spell
from operators.report import charts
from operators.report.page import Html, table

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


def _colours(factors: Iterable[str]) -> alt.Scale:
    domain = list(factors)
    later = [factor for factor in domain if factor not in _SHADES]
    shades = _SHADES | {factor: _LATER[n % len(_LATER)] for n, factor in enumerate(later)}
    return alt.Scale(domain=domain, range=[charts.SERIES[shades[factor]] for factor in domain])


def score_bars(passages: Sequence[Passage]) -> alt.LayerChart | alt.FacetChart:
    """A bar for each passage, a part per factor, a hollow one for a loss, and the score."""
    records = [{"passage": one.label, **_record(step)} for one in passages for step in one.steps]
    ends = [
        {
            "passage": one.label,
            "score": one.row["score"],
            "high": max(max(step.before, step.after) for step in one.steps),
        }
        for one in passages
    ]
    y = alt.Y(
        "passage:N",
        sort=[one.label for one in passages],
        title=None,
        # a narrow chart has room for the number and the corpus only
        axis=alt.Axis(
            labelLimit=320,
            labelExpr="containerSize()[0] > 600 ? datum.label : replace(substring("
            "datum.label, 0, indexof(datum.label, ':')), '[', '')",
        ),
    )
    tooltip = [
        alt.Tooltip("passage:N", title=" "),
        alt.Tooltip("factor:N"),
        alt.Tooltip("formula:N", title="does"),
        alt.Tooltip("score:N", title="score so far"),
    ]
    x = alt.X("before:Q", title=None, axis=alt.Axis(tickCount=5))
    base = alt.Chart(charts.rows(records)).encode(y=y, x=x, x2="after:Q", tooltip=tooltip)
    gains = (
        base.mark_bar(height={"band": 0.66})
        .encode(color=alt.Color("factor:N", scale=_colours(used_factors(passages))))
        .transform_filter("datum.after >= datum.before")
    )
    losses = base.mark_bar(
        height={"band": 0.6}, fill="var(--paper)", fillOpacity=0.8, stroke=charts.MUTED
    ).transform_filter("datum.after < datum.before")
    numbers = (
        alt.Chart(charts.rows(ends))
        .mark_text(align="left", dx=6)
        .encode(y=y, x="high:Q", text=alt.Text("score:Q", format=".3r"))
    )
    return alt.layer(gains, losses, numbers).properties(
        width="container", height=alt.Step(26), padding={"right": 40}
    )


def _record(step: Step) -> dict[str, Any]:
    return {
        "factor": step.factor,
        "before": step.before,
        "after": step.after,
        "formula": step.formula,
        "score": spell(step.after),
    }


def places_table(passages: Sequence[Passage]) -> Html:
    """The place of each passage in the list of each stage."""
    places = [{one["list"]: one["rank"] for one in passage.row["ranks"]} for passage in passages]
    stages = _moving(places)
    rows = [
        [one.name, *(str(ranks[name] + 1) if name in ranks else "" for name in stages)]
        for one, ranks in zip(passages, places, strict=True)
    ]
    return table("Place in each list", ["", *stages], rows, numeric=range(1, len(stages) + 1))


def _moving(places: Sequence[Mapping[str, int]]) -> list[str]:
    """The lists that contain some passage; one that changes no rank is left out."""
    every = list(dict.fromkeys(name for ranks in places for name in ranks))
    columns = {name: [ranks.get(name) for ranks in places] for name in every}
    pairs = zip(every, [None, *every[:-1]], strict=True)
    return [one for one, last in pairs if last is None or columns[one] != columns[last]]
