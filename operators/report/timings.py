"""The time of a run by node, as a table."""

from collections.abc import Sequence

import polars as pl

from operators.report.page import Html, table

_NODES = 15


def timings_body(timings: pl.DataFrame, configs: Sequence[str], queries: int) -> Html:
    """The slowest nodes of any configuration, and the sum of all others, in ms a query.

    ``timings`` (``TIMINGS``) are of whole runs of ``queries`` queries.
    """
    each = timings.with_columns(ms=pl.col("ms") / max(queries, 1))
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
