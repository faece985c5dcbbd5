"""The versions of topics that a query may name."""

from collections.abc import Mapping

import polars as pl

from operators.frames import UTC, stacked
from operators.postgres.store import Home, Store, versions_state

KNOWN_VERSIONS = pl.Schema(
    {
        **dict.fromkeys(("corpus", "repo", "lineage_id", "version"), pl.String()),
        "position": pl.Int64(),
        "newest": pl.Boolean(),
        "released_at": UTC,
        **dict.fromkeys(("path", "language", "state"), pl.String()),
        "listed_at": UTC,  # the date that a changelog gives it
    }
)


def known_versions(store: Store) -> pl.DataFrame:
    """Every version of every topic, and every release of every changelog.

    Columns ``KNOWN_VERSIONS``, ordered by corpus, lineage and position (0: the oldest). A changelog
    is one topic; its releases have no position, and a date only in ``listed_at``. The result is
    cached until a lineage changes.
    """

    def look_up() -> pl.DataFrame:
        rows = store.rows(
            "SELECT v.corpus, d.repo, v.lineage_id, v.version, v.position, v.newest,"
            " v.released_at, d.path, d.language, d.item_state, NULL::timestamptz"
            " FROM document_versions v JOIN documents d USING (document_key) UNION"
            " SELECT r.corpus, r.repo, concat_ws('/', nullif(r.repo, ''), r.document_id),"
            " r.version, NULL, false, NULL, r.path, r.language, r.item_state, c.doc_date"
            " FROM releases r JOIN chunks c USING (corpus, chunk_id)"
            " ORDER BY corpus, lineage_id, position, version",
        )
        return pl.DataFrame(rows, schema=KNOWN_VERSIONS, orient="row")

    return store.cache.versions.get("all", versions_state(store), look_up, most=1)


def known_in(homes: Mapping[str, Home]) -> pl.DataFrame:
    """The versions of each corpus of ``homes``, by the corpus's name there."""
    return stacked(
        known_versions(home.store)
        .filter(pl.col("corpus") == home.corpus)
        .with_columns(corpus=pl.lit(corpus))
        for corpus, home in homes.items()
    )
