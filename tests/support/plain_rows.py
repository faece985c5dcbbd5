from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl


def plain_rows(plain: dict[str, Any], schema: pl.Schema) -> Callable[..., pl.DataFrame]:
    """Makes frames of ``schema`` from what differs from a ``plain`` row."""

    def make(*rows: dict[str, Any]) -> pl.DataFrame:
        return pl.DataFrame([{**plain, **row} for row in rows], schema=schema)

    return make
