"""The files that a query with ``as_of`` cannot see because they changed later.

A collection holds one state of a file, that of its last commit. A query as of an earlier day leaves
the file out, whatever it contained then.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from operators.frames import NOTES
from operators.postgres.search.filters import is_visible
from operators.postgres.store import Home, Store, by_store

NAMED = 3
"""Maximum number of paths that a note lists."""

_LATER = """
    SELECT d.corpus, count(*), (array_agg(d.path ORDER BY d.path COLLATE "C"))[1:%(named)s]
    FROM documents d
    WHERE d.chunks > 0 AND d.date_source = 'git' AND d.path IS NOT NULL
      AND d.created_at >= %(as_of)s AND d.corpus = ANY(%(corpora)s::text[])
      AND (%(repos)s::text[] IS NULL OR d.repo = ANY(%(repos)s::text[]))
      AND (%(path)s::text IS NULL OR starts_with(d.path, %(path)s)) AND {seen}
    GROUP BY d.corpus ORDER BY d.corpus COLLATE "C"
"""


def notes(
    homes: Mapping[str, Home],
    queries: pl.DataFrame,
    visible: Mapping[str, Mapping[str, Any]],
) -> pl.DataFrame:
    """``NOTES``: for each query with an ``as_of``, how many files it leaves out and the first ones.

    ``queries`` has columns ``QUERIES``; ``homes`` are read only for such a query. ``visible``: the
    visible part of each corpus, as :func:`operators.ranking.query_filters.visible_parts` gives it.
    """
    rows = []
    for query in queries.filter(pl.col("as_of").is_not_null()).iter_rows(named=True):
        corpora = query["corpora"]
        searched = {name: homes[name] for name in visible if corpora is None or name in corpora}
        counts: dict[str, int] = {}
        paths: list[str] = []
        for store, names in by_store(searched):
            own = {corpus: visible[name] for corpus, name in names.items()}
            for corpus, count, first in _later(store, own, query):
                counts[names[corpus]] = count
                paths += first
        if counts:
            counted = " and ".join(f"{count:,} of {name}" for name, count in sorted(counts.items()))
            more = ", ..." if sum(counts.values()) > NAMED else ""
            named = ", ".join(paths[:NAMED])
            note = f"files whose last commit is later are left out, {counted}: {named}{more}"
            rows.append((query["query_id"], note))
    return pl.DataFrame(rows, schema=NOTES, orient="row")


def _later(
    store: Store, visible: Mapping[str, Mapping[str, Any]], query: Mapping[str, Any]
) -> list[tuple[Any, ...]]:
    parameters = {
        **{"as_of": query["as_of"], "corpora": list(visible), "repos": query["repos"]},
        **{"path": query["path_prefix"], "named": NAMED},
    }
    return store.rows(_LATER.format(seen=is_visible("d", visible, parameters)), parameters)
