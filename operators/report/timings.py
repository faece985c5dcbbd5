"""The time of a run: by stage as a chart, by node as a table."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from operators.report import charts
from operators.report.page import Html, join, table
from operators.report.scores import colour_key, colours

_NODES = 15


def timings_body(timings: pl.DataFrame, configs: Sequence[str], queries: int) -> Html:
    """Milliseconds a query, from ``timings`` (``TIMINGS``) of whole runs of ``queries`` queries."""
    each = timings.with_columns(ms=pl.col("ms") / max(queries, 1))
    stages = each.group_by("config", pl.col("stage").replace("", "other")).agg(pl.col("ms").sum())
    stages = stages.sort("stage", "config")
    slowest = stages.group_by("stage").agg(pl.col("ms").max())
    order = slowest.sort("ms", "stage", descending=[True, False])["stage"].to_list()
    bars = (
        alt.Chart(charts.rows(stages.iter_rows(named=True)))
        .mark_bar()
        .encode(
            y=alt.Y("stage:N", sort=order, title=None),
            yOffset=alt.YOffset("config:N", sort=list(configs)),
            x=alt.X("ms:Q", title="milliseconds a query", axis=alt.Axis(tickCount=6)),
            color=alt.Color("config:N", scale=colours(configs), legend=None),
            tooltip=[
                "stage:N",
                alt.Tooltip("config:N", title="configuration"),
                alt.Tooltip("ms:Q", title="ms a query", format=".2f"),
            ],
        )
        .properties(
            width="container", height=alt.Step(max(9, 16 // len(configs)), **{"for": "offset"})
        )
    )
    picture = charts.chart(
        bars,
        title="Time by stage",
        label="Milliseconds a query that each configuration spent in each stage",
        meanings=colour_key(colours(configs)),
        note="Summed over the nodes of a stage. Searches of several corpora run at once, so that a "
        "query takes less than the sum.",
    )
    return join([picture, nodes_table(each, configs)])


def nodes_table(each: pl.DataFrame, configs: Sequence[str]) -> Html:
    """The slowest nodes of any configuration, and the sum of all others."""
    wide = each.pivot("config", index=["node", "stage"], values="ms")
    absent = [config for config in configs if config not in wide.columns]
    wide = wide.with_columns(pl.lit(None, pl.Float64).alias(name) for name in absent)
    longest = pl.max_horizontal([pl.col(config) for config in configs])
    wide = wide.sort(longest, "node", descending=[True, False])
    head, rest = wide[:_NODES], wide[_NODES:]
    rows = [
        [row["node"], row["stage"], *(_milliseconds(row[config]) for config in configs)]
        for row in head.iter_rows(named=True)
    ]
    if rest.height:
        others = [_milliseconds(float(rest[config].sum())) for config in configs]
        rows.append([f"{rest.height} others", "", *others])
    whole = [_milliseconds(float(wide[config].sum())) for config in configs]
    return table(
        "Milliseconds a query, by node",
        ["node", "stage", *configs],
        [*rows, ["all", "", *whole]],
        numeric=range(2, 2 + len(configs)),
    )


def _milliseconds(value: float | None) -> str:
    """At most three digits; null if the node is not in the graph.

    >>> _milliseconds(0.1234), _milliseconds(12.34), _milliseconds(123.4), _milliseconds(None)
    ('0.12', '12.3', '123', '–')
    """
    if value is None:
        return "–"
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"
