"""Hits in the order that chosen rules make, over what a question's text asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from operators.frames import QUERIES, VERSION_SCOPE
from operators.question.intent import intent
from operators.signals import order
from operators.signals.shipped import RULES


def asked(*texts: str, query: int = 0, **columns: Any) -> pl.DataFrame:
    """One row of ``QUERIES``."""
    return pl.DataFrame([{"query_id": query, "texts": list(texts), **columns}], schema=QUERIES)


def scope_of(queries: pl.DataFrame, **columns: Any) -> pl.DataFrame:
    """The version scope of each of ``queries``: the newest, if ``columns`` say no other."""
    rows = [{"query_id": n, "version_policy": "newest", **columns} for n in queries["query_id"]]
    return pl.DataFrame(rows, schema=VERSION_SCOPE)


def told(
    hits: pl.DataFrame,
    queries: pl.DataFrame,
    weights: Mapping[str, float],
    scope: pl.DataFrame | None = None,
    **options: Any,
) -> pl.DataFrame:
    """``SIGNALS`` of the rules with ``weights``."""
    of = scope_of(queries) if scope is None else scope
    of = of.join(queries["query_id", "as_of"], on="query_id", how="left")
    options = {"file_corpora": ["code"], **options}
    return order.signals(hits, intent(queries, queries), of, RULES, weights, **options)


def ordered(
    hits: pl.DataFrame,
    queries: pl.DataFrame,
    weights: Mapping[str, float],
    scope: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """``hits`` in the order of the rules with ``weights``."""
    return order.ranked(hits, told(hits, queries, weights, scope))
