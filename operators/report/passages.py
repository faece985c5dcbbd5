"""Charts of passages: the factors of their scores, and their ranks from stage to stage."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from operators.explain.waterfall import FACTORS, Step, lists_of_all, spell
from operators.report import charts
from operators.report.page import Html, element, join, table
from operators.report.scores import Layers, colours

# A score begins with one of meaning, place, corpus and fusion, so that these share a colour.
_SHADES = {"meaning": 1, "place": 1, "corpus": 1, "words": 2, "weight": 3, "recency": 4}
_SHADES |= {"fusion": 1, "others": 5, "language_weight": 5}
_LATER = (6, 7)  # the shades for the effects of later lists, in turn
_LABEL = 46  # characters
_FROM_TO: dict[str, Any] = {
    "x": alt.X("before:Q", title=None, axis=alt.Axis(tickCount=5)),
    "x2": "after:Q",
}
_OF_STEP = [
    alt.Tooltip("factor:N"),
    alt.Tooltip("formula:N", title="does"),
    alt.Tooltip("score:N", title="score so far"),
]


@dataclass(frozen=True)
class Passage:
    """A passage of an explanation, with its name and its numbers."""

    name: str  # its rank among the results, or a letter
    row: Mapping[str, Any]  # of ``DISPOSITIONS``
    explained: pl.DataFrame  # its rows of ``EXPLAIN``
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


def score_bars(passages: Sequence[Passage]) -> Layers:
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
    base = alt.Chart(charts.rows(records)).encode(
        y=y, **_FROM_TO, tooltip=[alt.Tooltip("passage:N", title=" "), *_OF_STEP]
    )
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


def steps_bars(one: Passage) -> Layers:
    """The waterfall of one passage: a row per factor; each begins where the last one ends."""
    order = [step.factor for step in one.steps]
    base = alt.Chart(charts.rows(map(_record, one.steps)))
    base = base.encode(y=alt.Y("factor:N", sort=order, title=None))
    bars = base.mark_bar(height={"band": 0.6}).encode(
        **_FROM_TO,
        color=alt.Color("factor:N", scale=_colours(order), legend=None),
        tooltip=_OF_STEP,
    )
    numbers = base.mark_text(align="left", dx=6).encode(x="high:Q", text="change:N")
    joints = (
        base.mark_tick(thickness=1, size=26, color=charts.MUTED, opacity=0.6)
        .encode(x="after:Q")
        .transform_filter(f"datum.factor !== '{order[-1]}'")
    )
    return alt.layer(bars, joints, numbers).properties(
        width="container", height=alt.Step(28), padding={"right": 56}
    )


def _record(step: Step) -> dict[str, Any]:
    change = step.after - step.before
    return {
        "factor": step.factor,
        "before": step.before,
        "after": step.after,
        "high": max(step.before, step.after),
        "formula": step.formula,
        "score": spell(step.after),
        "change": f"{change:+.3g}",
    }


def moves(passages: Sequence[Passage]) -> Html:
    """A line for each passage through its ranks in every list, best on top."""
    places = [{one["list"]: one["rank"] for one in passage.row["ranks"]} for passage in passages]
    stages = _moving(places)
    of_all = {name for one in passages for name in lists_of_all(one.explained)}
    records = [
        {
            "name": one.name,
            "passage": one.label,
            "corpus": one.row["corpus"],
            "asked": one.place is None,
            "stage": name,
            "place": ranks[name] + 1,
        }
        for one, ranks in zip(passages, places, strict=True)
        for name in stages
        if name in ranks
    ]
    picture = charts.chart(
        _bumps(records, stages, of_all),
        title="Place in each list",
        label="The place of each passage in the list of each stage",
        note="Logarithmic, the first place on top. The first lists are those of a passage's own "
        "corpus, the later ones are lists of all corpora. Dashed: passages that were "
        "asked about and are no results. A line ends where its passage was left out.",
    )
    rows = [
        [one.name, *(str(ranks[name] + 1) if name in ranks else "" for name in stages)]
        for one, ranks in zip(passages, places, strict=True)
    ]
    listed = table("Places", ["", *stages], rows, numeric=range(1, len(stages) + 1))
    return join([picture, element("details", element("summary", "All places"), listed)])


def _moving(places: Sequence[Mapping[str, int]]) -> list[str]:
    """The lists that contain some passage; one that changes no rank is left out."""
    every = list(dict.fromkeys(name for ranks in places for name in ranks))
    columns = {name: [ranks.get(name) for ranks in places] for name in every}
    pairs = zip(every, [None, *every[:-1]], strict=True)
    return [one for one, last in pairs if last is None or columns[one] != columns[last]]


def _bumps(
    records: Sequence[Mapping[str, Any]], stages: Sequence[str], of_all: Collection[str]
) -> Layers:
    corpora = sorted({record["corpus"] for record in records})
    # passages of several corpora with the same rank in their lists are side by side
    middle = (len(corpora) - 1) / 2
    gap = min(0.2, 0.3 / max(middle, 0.5))
    aside = {corpus: gap * (place - middle) for place, corpus in enumerate(corpora)}
    across = next((n for n, name in enumerate(stages) if name in of_all), len(stages))
    placed = []
    for record in records:
        stage = stages.index(record["stage"])
        placed.append({**record, "x": stage + (stage < across) * aside[record["corpus"]]})
    last = max((record["place"] for record in records), default=1)
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= last]
    names = json.dumps(list(stages))
    base = alt.Chart(charts.rows(placed)).encode(
        x=alt.X(
            "x:Q",
            title=None,
            axis=alt.Axis(
                values=list(range(len(stages))),
                labelExpr=f"{names}[datum.value]",
                labelAngle=alt.ExprRef("containerSize()[0] < 600 ? -60 : 0"),
                labelAlign=alt.ExprRef("containerSize()[0] < 600 ? 'left' : 'center'"),
                labelOverlap=False,
                orient="top",
                domain=False,
                ticks=False,
            ),
            scale=alt.Scale(domain=[-0.35, len(stages) - 0.65], nice=False),
        ),
        y=alt.Y(
            "place:Q",
            title=None,
            scale=alt.Scale(type="log", domain=[last * 1.15, 0.87], nice=False),
            axis=alt.Axis(values=ticks, format="d"),
        ),
        detail="name:N",
        color=alt.Color("corpus:N", scale=colours(["", *corpora], without_first=True)),
        tooltip=[
            alt.Tooltip("passage:N", title=" "),
            alt.Tooltip("stage:N"),
            alt.Tooltip("place:Q"),
        ],
    )
    line = base.mark_line(strokeWidth=2, opacity=0.75).encode(
        strokeDash=alt.StrokeDash(
            "asked:N", scale=alt.Scale(domain=[False, True], range=[[1, 0], [5, 4]]), legend=None
        )
    )
    points = base.mark_circle(size=200, opacity=1)
    inside = base.mark_text(fontSize=9, fontWeight="bold").encode(
        text="name:N", color=alt.value("var(--paper)")
    )
    height = 400 + 8 * max(len({record["name"] for record in records}) - 12, 0)
    return alt.layer(line, points, inside).properties(width="container", height=height)
