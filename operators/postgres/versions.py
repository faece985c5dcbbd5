"""Where each document stands among the versions of its topic, and what each version took over."""

from __future__ import annotations

import polars as pl

from operators.frames import UTC
from operators.postgres.store import Store

KNOWN_VERSIONS = pl.Schema(
    {
        "corpus": pl.String(),
        "lineage_id": pl.String(),
        "version": pl.String(),
        "position": pl.Int64(),
        "newest": pl.Boolean(),
        "released_at": UTC,
    }
)


def known_versions(store: Store) -> pl.DataFrame:
    """Every version of every topic that has two or more: columns ``KNOWN_VERSIONS``.

    In the order of corpus, lineage and position (0: the oldest).
    """
    rows = store.run(
        lambda conn: conn.execute(
            "SELECT corpus, lineage_id, version, position, newest, released_at"
            ' FROM document_versions ORDER BY corpus, lineage_id COLLATE "C", position'
        ).fetchall()
    )
    return pl.DataFrame(rows, schema=KNOWN_VERSIONS, orient="row")
