"""The queries that changed most, with both lists of documents side by side."""

from collections.abc import Collection, Mapping
from itertools import zip_longest
from typing import Any

import polars as pl

from operators.report.page import Html, element, join, table

_LONGEST = 700  # characters of a query


def changed_body(
    changed: pl.DataFrame, qrels: pl.DataFrame, baseline: str, titles: Mapping[str, str]
) -> Html:
    """A collapsible block for every query of ``changed`` (``CHANGED``).

    ``baseline`` produced the lists before; ``titles`` are those of documents, by id, where known.
    """
    judged = qrels.join(changed, on="query_id", how="semi").filter(pl.col("grade") > 0)
    relevant = dict(judged.group_by("query_id").agg(pl.col("doc_id").unique()).iter_rows())
    note = (
        "The queries whose score moved most, with the first ten documents of both lists; those "
        "judged relevant are shaded."
    )
    parts = [element("p", note, class_="note")]
    for (config,), group in changed.group_by("config", maintain_order=True):
        parts.append(element("h3", f"{config} against {baseline}"))
        parts += [
            _fold(row, relevant.get(row["query_id"], []), baseline, titles)
            for row in group.iter_rows(named=True)
        ]
    return join(parts)


def _fold(
    row: Mapping[str, Any], relevant: Collection[str], baseline: str, titles: Mapping[str, str]
) -> Html:
    def shown(document: str | None) -> Html:
        if document is None:
            return join([])
        kind = "hit" if document in relevant else None
        name = element("span", document, class_="id")
        return element("span", name, f" {titles.get(document, '')}", class_=kind)

    difference = row["after"] - row["before"]
    kind = "gain" if difference > 0 else "loss"
    text = row["text"] or row["query_id"]
    pairs = zip_longest(row["before_list"], row["after_list"])
    ranked = [[str(rank), *map(shown, pair)] for rank, pair in enumerate(pairs, 1)]
    moved = element("span", f"{difference:+.2f}", class_=f"{kind} change")
    return element(
        "details",
        element("summary", moved, " ", text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"),
        table(
            f"{row['query_id']}: {row['before']:.3f} before, {row['after']:.3f} after; "
            f"relevant documents: {len(relevant)}",
            ["", baseline, row["config"]],
            ranked,
        ),
    )
