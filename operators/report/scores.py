"""The scores of each configuration: bars with intervals of a slice, and tables."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from operators.evaluation.evaluation_frames import Evaluation, measures_of
from operators.evaluation.tables import slice_meaning, slice_rows
from operators.report import charts
from operators.report.page import Html, element, join, table

MEANINGS = {
    "nDCG@10": "how good the first ten documents are, the first counting most",
    "R@50": "the share of the relevant documents that are among the first fifty",
    "RR@10": "one over the place of the first relevant document, 0 beyond the tenth",
    "AP": "precision at each relevant document, averaged over all of them",
}
ALL = "all"
Layers = alt.LayerChart | alt.FacetChart  # the return type of alt.layer


def colours(configs: Sequence[str], *, without_first: bool = False) -> alt.Scale:
    """One colour per configuration, the same in every chart; only the first has the muted one."""
    quiet, *others = charts.SERIES
    listed = [quiet, *(others[place % len(others)] for place in range(len(configs) - 1))]
    start = int(without_first)
    return alt.Scale(domain=list(configs)[start:], range=listed[start:])


def colour_key(scale: alt.Scale) -> Html:
    """The legend of :func:`colours`: a list that wraps in a narrow page."""
    meanings = zip(scale.domain, scale.range, strict=True)
    items = (element("li", meaning, style=f"--swatch: {colour}") for meaning, colour in meanings)
    return element("ul", *items, class_="key")


def scores_body(evaluation: Evaluation) -> Html:
    """Bars of every measure for one slice at a time, and the numbers of all slices."""
    summary, configs = evaluation.summary, evaluation.configs
    slices = summary.select("slice", "queries").unique(maintain_order=True).iter_rows()
    names = {name: f"{name} ({count})" for name, count in slices}
    measures = measures_of(summary)
    bars = [
        charts.chart(
            measure_bars(summary.filter(measure=measure), configs),
            title=measure,
            label=f"Mean {measure} of each configuration with its 95 % interval",
            note=MEANINGS.get(measure, ""),
        )
        for measure in measures
    ]
    pick = charts.choice("Queries", "slice", names.items()) if len(names) > 1 else ""
    numbers = table(
        "Means, with the 95 % interval of the mean",
        ["queries", "configuration", *measures],
        [[names[name], *row] for name in names for row in slice_rows(evaluation, name)],
        numeric=range(2, 2 + len(measures)),
    )
    meanings = [f"{name}: {text}." for name in names if (text := slice_meaning(name))]
    note = element("p", " ".join(meanings), class_="note")
    return join([pick, element("div", *bars, class_="grid"), numbers, note])


def measure_bars(summary: pl.DataFrame, configs: Sequence[str]) -> Layers:
    """One measure: a bar per configuration with its interval, for the chosen slice."""
    names = alt.Axis(labelExpr=charts.LONG_LABEL)
    base = (
        alt.Chart(charts.rows(summary.iter_rows(named=True)))
        .transform_filter("datum.slice === slice")
        .encode(y=alt.Y("config:N", sort=list(configs), title=None, axis=names))
    )
    tooltip = [
        alt.Tooltip("config:N", title="configuration"),
        *charts.intervals(),
        alt.Tooltip("queries:Q"),
    ]
    bar = base.mark_bar(height={"band": 0.66}).encode(
        x=alt.X("mean:Q", title=None, axis=alt.Axis(tickCount=5)).scale(domain=[0, 1]),
        color=alt.Color("config:N", scale=colours(configs), legend=None),
        tooltip=tooltip,
    )
    interval = base.mark_rule(strokeWidth=1.5).encode(x="low:Q", x2="high:Q")
    ends = [
        base.mark_tick(thickness=1.5, size=7, color=charts.INK).encode(x=f"{end}:Q")
        for end in ("low", "high")
    ]
    number = base.mark_text(align="left", dx=7).encode(
        x="high:Q", text=alt.Text("mean:Q", format=".3f")
    )
    return (
        alt.layer(bar, interval, *ends, number)
        .properties(width="container", height=alt.Step(28), padding={"right": 44})
        .add_params(alt.param(name="slice", value=ALL))
    )


def interval_dots(comparison: pl.DataFrame, colour: alt.Scale) -> Layers:
    """Differences (``COMPARISON``) as dots with intervals: a row a measure; a line marks 0."""
    records = comparison.select("config", "low", "high", "measure", mean="difference")
    names = alt.Axis(grid=True, labelExpr=charts.LONG_LABEL)
    base = alt.Chart(charts.rows(records.iter_rows(named=True))).encode(
        y=alt.Y("measure:N", sort=measures_of(comparison), title=None, axis=names),
        yOffset=alt.YOffset("config:N", sort=list(colour.domain)),
        color=alt.Color("config:N", scale=colour, legend=None),
        tooltip=[
            alt.Tooltip("measure:N", title=" "),
            alt.Tooltip("config:N", title="configuration"),
            *charts.intervals("+.3f"),
        ],
    )
    interval = base.mark_rule(strokeWidth=2, opacity=0.55).encode(
        x=alt.X("low:Q", title=None, axis=alt.Axis(tickCount=6)), x2="high:Q"
    )
    dot = base.mark_circle(size=55, opacity=1).encode(x="mean:Q")
    nought = alt.Chart(charts.rows([{"mean": 0}])).encode(x="mean:Q")
    nought = nought.mark_rule(color=charts.MUTED, strokeDash=[4, 3])
    height = alt.Step(13, **{"for": "offset"})
    return alt.layer(nought, interval, dot).properties(width="container", height=height)
