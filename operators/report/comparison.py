"""Differences from the baseline and their significance, as a chart and a table."""

from operators.evaluation.evaluation_frames import Evaluation
from operators.evaluation.tables import SIGNIFICANT, comparison_rows
from operators.report import charts
from operators.report.page import Html, join, table
from operators.report.scores import colour_key, colours, interval_dots


def comparison_body(evaluation: Evaluation) -> Html:
    """The differences from the first configuration with their intervals: a chart and a table."""
    baseline, scale = evaluation.configs[0], colours(evaluation.configs, without_first=True)
    picture = charts.chart(
        interval_dots(evaluation.comparison, scale),
        title=f"Difference from {baseline}, with its 95 % interval",
        label=f"The difference of every configuration from {baseline} in every measure",
        meanings=colour_key(scale),
        note="An interval that leaves out 0 is a difference that these queries show clearly; the "
        "table's corrected p also allows for looking at several at once.",
    )
    head = ["configuration", "measure", "difference", "95 % interval", "p", "p, corrected"]
    numbers = table(
        f"Every configuration against {baseline}, query by query; * corrected p < {SIGNIFICANT}",
        [*head, "gained / same / lost"],
        comparison_rows(evaluation),
        numeric=range(2, 7),
    )
    return join([picture, numbers])
