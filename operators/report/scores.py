"""The scores of each configuration: bars with intervals, by slice, and a table."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from operators.evaluation.evaluation_frames import measures_of
from operators.report import charts
from operators.report.page import Html, element, join, table

MEANINGS = {
    "nDCG@10": "how good the first ten documents are, the first counting most",
    "R@50": "the share of the relevant documents that are among the first fifty",
    "RR@10": "one over the place of the first relevant document, 0 beyond the tenth",
    "AP": "precision at each relevant document, averaged over all of them",
}
ALL = "all"
_PLAIN = {ALL: "all queries", "all corpora": "in all corpora"}
Layers = alt.LayerChart | alt.FacetChart  # the return type of alt.layer


def slice_name(name: str) -> str:
    """A readable name of a slice.

    >>> slice_name("kind=issue"), slice_name("corpus=docs"), slice_name("several corpora")
    ('kind: issue', 'corpus: docs', 'several corpora')
    """
    return _PLAIN.get(name) or name.replace("=", ": ", 1)


def _slice_names(summary: pl.DataFrame) -> dict[str, str]:
    slices = summary.select("slice", "queries").unique(maintain_order=True)
    return {name: f"{slice_name(name)} ({count})" for name, count in slices.iter_rows()}


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


def scores_body(summary: pl.DataFrame, configs: Sequence[str]) -> Html:
    """Bars of every measure for one slice of ``SUMMARY`` at a time, and their numbers.

    ``configs`` are in the order to show; the first is the baseline.
    """
    names = _slice_names(summary).items()
    bars = [
        charts.chart(
            measure_bars(summary.filter(measure=measure), configs),
            title=measure,
            label=f"Mean {measure} of each configuration with its 95 % interval",
            note=MEANINGS.get(measure, ""),
        )
        for measure in measures_of(summary)
    ]
    pick = charts.choice("Queries", "slice", names) if len(names) > 1 else ""
    everything = summary_table(summary.filter(slice=ALL), configs)
    return join([pick, element("div", *bars, class_="grid"), everything])


def slices_body(summary: pl.DataFrame, configs: Sequence[str]) -> Html:
    """Every slice at once, one measure at a time, and all numbers of all slices as a table."""
    measures = measures_of(summary)
    names = _slice_names(summary)
    points = summary.with_columns(row=pl.col("slice").replace_strict(names))
    dots = interval_dots(points, colours(configs), list(names.values()))
    picture = charts.chart(
        dots.transform_filter("datum.measure === measure").add_params(
            alt.param(name="measure", value=measures[0])
        ),
        title="Mean with its 95 % interval",
        label="The mean of the chosen measure for every slice and configuration",
        meanings=colour_key(colours(configs)),
        note="In brackets the number of queries: few queries make wide intervals. For a corpus, "
        "only its documents and the queries that judge it count. In all corpora: one list holds "
        "the results of every corpus, even where a query names the corpora that it judges.",
    )
    numbers = element(
        "details", element("summary", "All numbers of all slices"), summary_table(summary, configs)
    )
    return join([charts.choice("Measure", "measure", [(m, m) for m in measures]), picture, numbers])


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


def interval_dots(
    points: pl.DataFrame, colour: alt.Scale, order: Sequence[str], *, signed: bool = False
) -> Layers:
    """Dots with intervals: a row for each value of ``row``, with a dot for each configuration.

    ``points`` has ``row``, ``config``, ``mean``, ``low``, ``high`` and any other columns; ``order``
    the values of ``row``, from the top. For ``signed`` numbers, differences, a line marks 0.
    """
    names = alt.Axis(grid=True, labelExpr=charts.LONG_LABEL)
    base = alt.Chart(charts.rows(points.iter_rows(named=True))).encode(
        y=alt.Y("row:N", sort=list(order), title=None, axis=names),
        yOffset=alt.YOffset("config:N", sort=list(colour.domain)),
        color=alt.Color("config:N", scale=colour, legend=None),
        tooltip=[
            alt.Tooltip("row:N", title=" "),
            alt.Tooltip("config:N", title="configuration"),
            *charts.intervals("+.3f" if signed else ".3f"),
        ],
    )
    interval = base.mark_rule(strokeWidth=2, opacity=0.55).encode(
        x=alt.X("low:Q", title=None, axis=alt.Axis(tickCount=6)), x2="high:Q"
    )
    dot = base.mark_circle(size=55, opacity=1).encode(x="mean:Q")
    layers = [interval, dot]
    if signed:
        nought = alt.Chart(charts.rows([{"mean": 0}])).encode(x="mean:Q")
        layers.insert(0, nought.mark_rule(color=charts.MUTED, strokeDash=[4, 3]))
    height = alt.Step(13, **{"for": "offset"})
    return alt.layer(*layers).properties(width="container", height=height)


def summary_table(summary: pl.DataFrame, configs: Sequence[str]) -> Html:
    """Means with their intervals: a row per slice and configuration, a column per measure."""
    measures = measures_of(summary)
    cells = {
        (row["slice"], row["config"], row["measure"]): row for row in summary.iter_rows(named=True)
    }
    slices = summary.select("slice", "queries").unique(maintain_order=True)
    several = slices.height > 1
    rows = []
    for name, count in slices.iter_rows():
        for config in configs:
            first = [slice_name(name), config, str(count)] if several else [config]
            rows.append([*first, *(_mean(cells.get((name, config, m))) for m in measures)])
    head = ["queries of", "configuration", "queries"] if several else ["configuration"]
    of_all = f" over {slices['queries'][0]} queries" if slices.height == 1 else ""
    return table(
        f"Means{of_all}, with the 95 % interval of the mean",
        [*head, *measures],
        rows,
        numeric=range(2 if several else 1, len(head) + len(measures)),
    )


def _mean(row: dict[str, float] | None) -> Html | str:
    if row is None:
        return ""
    interval = element("span", f" {row['low']:.3f} to {row['high']:.3f}", class_="quiet")
    return join([f"{row['mean']:.3f}", interval])
