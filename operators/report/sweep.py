"""The page of a sweep: a measure over a grid of settings, with its intervals."""

from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from operators.evaluation.evaluation_frames import measures_of
from operators.evaluation.grid import point_name
from operators.evaluation.tables import is_significant
from operators.report import charts
from operators.report.comparison import probability, signed
from operators.report.page import Html, Section, element, join, page, table
from operators.report.scores import colours


def sweep_page(
    points: pl.DataFrame,
    settings: Sequence[str],
    unchanged: Mapping[str, float],
    *,
    queries: int,
    title: str = "Sweep",
) -> str:
    """The whole page as HTML; it loads nothing.

    Args:
        points: from :func:`operators.evaluation.grid.sweep_table`.
        settings: its varied columns; the first is the x axis, the others make the lines.
        unchanged: measure -> mean of the configuration without changes.
        queries: the number of judged queries.
    """
    sections = [
        Section(
            measure, join([_curve(points, settings, measure, unchanged), _numbers(points, measure)])
        )
        for measure in measures_of(points)
    ]
    lead = element(
        "p",
        f"{queries} judged queries, {points['point'].n_unique()} combinations of "
        f"{', '.join(settings)}. A line across is the configuration without changes. A bar is the "
        "95 % bootstrap interval of a mean; the differences in the table are paired, and tell more "
        "than bars that overlap. The best of many combinations is in part luck: confirm it on "
        "queries that did not choose it.",
        class_="lead",
    )
    return page(title, sections, lead=lead, scripts=charts.scripts())


def _curve(
    points: pl.DataFrame, settings: Sequence[str], measure: str, unchanged: Mapping[str, float]
) -> Html:
    first, *others = settings
    values = points.filter(measure=measure)
    numeric = values[first].dtype.is_numeric()
    records = [
        {
            "x": row[first] if numeric else str(row[first]),
            "line": point_name({name: row[name] for name in others}) or measure,
            **{name: row[name] for name in ("mean", "low", "high", "point")},
        }
        for row in values.iter_rows(named=True)
    ]
    lines = list(dict.fromkeys(record["line"] for record in records))
    scale = colours(["", *lines], without_first=True)
    colour = alt.Color("line:N", scale=scale, legend=alt.Legend() if others else None)
    along = alt.X("x:Q" if numeric else "x:O", title=first).sort(None)
    if numeric:
        along = along.scale(zero=False, nice=False, padding=12)
    shown = [alt.Tooltip("point:N", title="setting"), *charts.intervals()]
    base = alt.Chart(charts.rows(records))
    bars = base.mark_rule(strokeWidth=2, opacity=0.45).encode(
        x=along,
        y=alt.Y("low:Q", title=measure).scale(zero=False),
        y2="high:Q",
        color=colour,
        tooltip=shown,
    )
    line = base.mark_line(point=alt.OverlayMarkDef(size=60, filled=True), strokeWidth=2).encode(
        x=along, y="mean:Q", color=colour, tooltip=shown
    )
    across = alt.Chart(charts.rows([{"y": unchanged[measure]}])).encode(y="y:Q")
    across = across.mark_rule(strokeDash=[4, 4], color=charts.MUTED)
    return charts.chart(
        alt.layer(bars, line, across).properties(width="container", height=280),
        title=f"{measure} by {', '.join(settings)}",
        label=f"Mean {measure} with its 95 % interval over the values of {first}",
    )


def _numbers(points: pl.DataFrame, measure: str) -> Html:
    rows = []
    for row in points.filter(measure=measure).iter_rows(named=True):
        star = " *" if is_significant(row) else ""
        rows.append(
            [
                row["point"],
                f"{row['mean']:.3f}",
                f"{row['low']:.3f} to {row['high']:.3f}",
                f"{signed(row['difference'])}{star}",
                f"{signed(row['difference_low'])} to {signed(row['difference_high'])}",
                probability(row["p_corrected"]),
            ]
        )
    return table(
        f"{measure} of every combination; * differs from the configuration without changes",
        ["setting", "mean", "95 % interval", "difference", "95 % interval", "corrected p"],
        rows,
        numeric=range(1, 6),
    )
