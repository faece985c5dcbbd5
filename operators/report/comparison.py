"""Differences from the baseline and their significance: in words, as a table, by query."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from operators.evaluation.evaluation_frames import measures_of
from operators.evaluation.tables import is_significant
from operators.report import charts
from operators.report.page import Html, element, join, table
from operators.report.scores import Layers, colour_key, colours, interval_dots

QUERIES = "queries"
_LONGEST = 180
_KINDS = {"better": "gain", "worse": "loss"}
_SCORE = ["config", "query_id", "measure", "value"]


def signed(value: float, digits: int = 3) -> str:
    """A difference with its sign; 0 has none.

    >>> signed(0.0123), signed(-0.5), signed(-0.0001)
    ('+0.012', '−0.500', '0.000')
    """
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text if any(c in "123456789" for c in text) else text.lstrip("+−")


def probability(p: float) -> str:
    """A p-value as papers print it.

    >>> probability(0.00004), probability(0.0312), probability(1.0)
    ('< 0.001', '0.031', '1.000')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def in_words(row: Mapping[str, Any]) -> str:
    """The meaning of a row of ``COMPARISON``; it is significant if the corrected p is < .05."""
    if row["difference"] == 0 and not row["wins"] and not row["losses"]:
        return "the same for every query"
    if not is_significant(row):
        return "may be luck"
    return "better, hardly luck" if row["difference"] > 0 else "worse, hardly luck"


def findings(comparison: pl.DataFrame, measure: str) -> Html:
    """A sentence or two for every configuration, about one ``measure``."""
    items = []
    for row in comparison.filter(measure=measure).iter_rows(named=True):
        name, sentence = element("strong", row["config"]), in_words(row)
        wins, ties, losses = row["wins"], row["ties"], row["losses"]
        if sentence.startswith("the same"):
            items.append(element("li", name, f" gives {row['baseline']}'s {measure} everywhere."))
            continue
        verdict = sentence.partition(",")[0]
        kind = _KINDS.get(verdict)
        size = element("span", signed(row["difference"]), class_=kind)
        sure = f"{verdict} than {row['baseline']}, and hardly by luck"
        queries, p = "query" if wins == 1 else "queries", probability(row["p_corrected"])
        text = (
            f" in {measure} against {row['baseline']}, {sure if kind else 'which may be luck'} "
            f"(95 % interval {_interval(row)}; p {p if p[0] == '<' else f'= {p}'}, corrected). "
            f"{wins} {queries} gained, {losses} lost, {ties} stayed the same."
        )
        items.append(element("li", name, ": ", size, text))
    return element("ul", *items, class_="findings")


def comparison_body(comparison: pl.DataFrame, configs: Sequence[str]) -> Html:
    """The differences from the first of ``configs`` with their intervals: a chart and a table."""
    measures = measures_of(comparison)
    points = comparison.select("config", "low", "high", row="measure", mean="difference")
    scale = colours(configs, without_first=True)
    picture = charts.chart(
        interval_dots(points, scale, measures, signed=True),
        title=f"Difference from {configs[0]}, with its 95 % interval",
        label=f"The difference of every configuration from {configs[0]} in every measure",
        meanings=colour_key(scale),
        note="An interval that leaves out 0 is a difference that these queries show clearly; the "
        "table's corrected p also allows for looking at several at once.",
    )
    return join([picture, comparison_table(comparison)])


def comparison_table(comparison: pl.DataFrame) -> Html:
    """Every configuration and measure against the baseline."""
    rows = []
    for row in comparison.iter_rows(named=True):
        meaning = in_words(row)
        kind = _KINDS.get(meaning.partition(",")[0], "quiet")
        rows.append(
            [
                row["config"],
                row["measure"],
                signed(row["difference"]),
                _interval(row),
                probability(row["p"]),
                probability(row["p_corrected"]),
                f"{row['wins']} / {row['ties']} / {row['losses']}",
                element("span", meaning, class_=kind),
            ]
        )
    head = ["configuration", "measure", "difference", "95 % interval", "p", "p, corrected"]
    baseline = comparison["baseline"][0]
    return table(
        f"Every configuration against {baseline}, query by query",
        [*head, "gained / same / lost", "in words"],
        rows,
        numeric=range(2, 7),
    )


def differences_body(scores: pl.DataFrame, configs: Sequence[str]) -> Html:
    """A bar per query, for every configuration against the first; needs the frame ``queries``."""
    measures, limits = measures_of(scores), largest_differences(scores, configs)
    pictures = [
        charts.chart(
            difference_bars(place, configs, limits),
            title=f"{config} against {configs[0]}",
            label=f"The difference of {config} from {configs[0]} for each query, sorted",
            frames=[QUERIES],
        )
        for place, config in enumerate(configs)
        if place
    ]
    how = element(
        "p",
        f"A bar is a query: up, it gained against {configs[0]}; down, it lost. Sorted by the "
        "difference; point at one to read the query.",
        class_="note",
    )
    pick = charts.choice("Measure", "measure", [(m, m) for m in measures])
    return join([how, pick, *pictures])


def query_records(
    scores: pl.DataFrame, queries: pl.DataFrame, configs: Sequence[str]
) -> list[dict[str, Any]]:
    """The records that :func:`difference_bars` needs, one per query, by its id.

    ``q`` is its id, ``t`` its text, shortened, ``s`` its values by configuration and measure.
    """
    texts = dict(queries.select("query_id", "text").iter_rows())
    values = {
        (config, query, measure): round(value, 4)
        for config, query, measure, value in scores[_SCORE].iter_rows()
    }
    measures = measures_of(scores)
    return [
        {
            "q": query,
            "t": shortened(texts.get(query) or query, _LONGEST),
            "s": [[values.get((c, query, m), 0.0) for m in measures] for c in configs],
        }
        for query in scores["query_id"].unique().sort()
    ]


def largest_differences(scores: pl.DataFrame, configs: Sequence[str]) -> dict[str, float]:
    """Measure -> the largest difference of any query and configuration from the first."""
    first = scores.filter(config=configs[0]).drop("config")
    apart = scores.join(first, on=["query_id", "measure"], suffix="_first")
    moved = (pl.col("value") - pl.col("value_first")).abs().max()
    largest = dict(apart.group_by("measure").agg(moved).iter_rows())
    return {measure: largest.get(measure) or 1.0 for measure in measures_of(scores)}


def difference_bars(place: int, configs: Sequence[str], limits: Mapping[str, float]) -> Layers:
    """The differences of configuration number ``place`` from the first, on the common scale."""
    at = f"indexof({json.dumps(list(limits))}, measure)"
    limit = f"{json.dumps(list(limits.values()))}[{at}]"
    span = alt.Scale(domainMin=alt.ExprRef(f"-{limit}"), domainMax=alt.ExprRef(limit))
    order: list[Any] = [
        alt.SortField("difference", order="descending"),
        alt.SortField("q", order="ascending"),
    ]
    base = (
        alt.Chart(alt.NamedData(QUERIES))
        .transform_calculate(before=f"datum.s[0][{at}]", after=f"datum.s[{place}][{at}]")
        .transform_calculate(difference="datum.after - datum.before")
        .transform_window(end="row_number()", sort=order)
        .transform_calculate(start="datum.end - 1")
        .encode(x=alt.X("start:Q", axis=None, scale=alt.Scale(nice=False)), x2="end:Q")
    )
    labels = "datum.value === 0 ? '0' : format(datum.value, '+.2~f')"
    axis = alt.Axis(tickCount=5, labelExpr=labels)
    bars = base.mark_bar().encode(
        y=alt.Y("difference:Q", title="difference", scale=span, axis=axis),
        y2=alt.datum(0),
        color=alt.condition("datum.difference > 0", alt.value(charts.GAIN), alt.value(charts.LOSS)),
    )
    hover = alt.selection_point(name="hover", on="pointerover", clear="pointerout", empty=False)
    target = (
        base.mark_bar(color=charts.INK)
        .encode(
            y=alt.value(0),
            y2=alt.value("height"),
            opacity=alt.condition(hover, alt.value(0.14), alt.value(0)),
            tooltip=[
                alt.Tooltip("t:N", title="query"),
                alt.Tooltip("q:N", title="id"),
                alt.Tooltip("before:Q", title=configs[0], format=".3f"),
                alt.Tooltip("after:Q", title=configs[place], format=".3f"),
                alt.Tooltip("difference:Q", format="+.3f"),
            ],
        )
        .add_params(hover)
        .properties(name="queries")
    )
    nought = alt.Chart(charts.rows([{"difference": 0}])).encode(y="difference:Q")
    return (
        alt.layer(bars, nought.mark_rule(color=charts.MUTED), target)
        .properties(width="container", height=170)
        .add_params(alt.param(name="measure", value=next(iter(limits))))
    )


def shortened(text: str, most: int) -> str:
    """``text`` on one line, with an ellipsis if it is cut.

    >>> shortened("a  b\\nc d", 5), shortened("a b", 5)
    ('a b …', 'a b')
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _interval(row: Mapping[str, Any]) -> str:
    return f"{signed(row['low'])} to {signed(row['high'])}"
