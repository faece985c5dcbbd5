"""The part of a corpus that a query may search: its own filters and the configuration's."""

from collections.abc import Mapping
from typing import Any

import polars as pl


def narrowed(queries: pl.DataFrame, corpus: str, filters: Mapping[str, Any]) -> pl.DataFrame:
    """The ``queries`` (``QUERIES``, or more) for ``corpus``, restricted by ``filters``.

    ``filters`` may have ``repos``, ``path_prefix``, ``language`` and ``state``. A query whose own
    filter contradicts one is left out: nothing can match both. The queries lose their ``corpora``,
    because the corpus may be stored under another name.
    """
    if not filters and queries["corpora"].null_count() == queries.height:
        return queries
    rows = []
    for row in queries.iter_rows(named=True):
        if row["corpora"] is not None and corpus not in row["corpora"]:
            continue
        narrow = {name: _both(name, row[name], allowed) for name, allowed in filters.items()}
        if all(value not in ((), []) for value in narrow.values()):
            rows.append({**row, **narrow, "corpora": None})
    return pl.DataFrame(rows, schema=queries.schema)


def visible_parts(corpora: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The filters of each corpus, from ``corpora`` (name -> ``inputs`` with ``filters``).

    They restrict as strictly as the caller's own list: nothing outside is even named.
    """
    return {name: options["inputs"].get("filters") or {} for name, options in corpora.items()}


def _both(name: str, requested: Any, allowed: Any) -> Any:
    """The filter that satisfies both; an empty tuple or list: no document can."""
    if requested is None or allowed is None:
        return requested if allowed is None else allowed
    if name == "repos":
        return [repo for repo in requested if repo in allowed]
    if name == "path_prefix":
        longer, shorter = sorted((requested, allowed), key=len, reverse=True)
        return longer if longer.startswith(shorter) else ()
    return requested if requested == allowed else ()
