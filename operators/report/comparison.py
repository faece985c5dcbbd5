"""Differences from the baseline and their significance: in words, as a chart, as a table."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from operators.evaluation.evaluation_frames import measures_of
from operators.evaluation.tables import is_significant
from operators.report import charts
from operators.report.page import Html, element, join, table
from operators.report.scores import colour_key, colours, interval_dots

_KINDS = {"better": "gain", "worse": "loss"}


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


def shortened(text: str, most: int) -> str:
    """``text`` on one line, with an ellipsis if it is cut.

    >>> shortened("a  b\\nc d", 5), shortened("a b", 5)
    ('a b …', 'a b')
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _interval(row: Mapping[str, Any]) -> str:
    return f"{signed(row['low'])} to {signed(row['high'])}"
