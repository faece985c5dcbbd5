"""Looks up a topic's versions by path, title, identifier or name."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import polars as pl

from operators.errors import CrosscorpusError, UnknownName, first_of, suggest
from operators.frames import UTC
from operators.postgres.search.filters import is_visible
from operators.postgres.store import Connection, Store

TOPICS = pl.Schema(
    {
        "corpus": pl.String(),
        "lineage_id": pl.String(),
        "versions": pl.Int64(),
        "oldest": pl.String(),
        "newest": pl.String(),
        "title": pl.String(),  # of the newest version, like path
        "path": pl.String(),
    }
)

MEMBERS = pl.Schema(
    {
        **dict.fromkeys(("document_key", "corpus", "lineage_id", "version"), pl.String()),
        "position": pl.Int64(),
        "newest": pl.Boolean(),
        "released_at": UTC,
        **dict.fromkeys(("date_source", "repo", "document_id", "path", "title"), pl.String()),
        "passages": pl.Int64(),
    }
)

NAMED = 8
"""Maximum number of names that an error lists."""


_VERSIONS = "document_versions v JOIN documents d USING (document_key)"
_IN_CORPUS = "(%(corpus)s::text IS NULL OR v.corpus = %(corpus)s)"
_MEMBERS = f"""
    SELECT v.document_key::text, v.corpus, v.lineage_id, v.version, v.position, v.newest,
           v.released_at, CASE WHEN v.released_at IS NOT NULL THEN d.date_source END,
           d.repo, d.document_id, d.path, d.title, d.chunks
    FROM {_VERSIONS} WHERE (v.corpus, v.lineage_id) IN (SELECT corpus, lineage_id FROM asked)
      AND {{seen}} ORDER BY v.corpus, v.lineage_id COLLATE "C", v.position
"""
_ENDS_SO = "right(lower(d.path), length(lower(%(name)s)) + 1) = '/' || lower(%(name)s)"
# The first condition with a match is used.
_WAYS = (
    "v.lineage_id = %(name)s OR d.document_id = %(name)s",
    "d.path = %(name)s",
    "d.title = %(name)s",
    f"{_ENDS_SO} OR lower(d.title) = lower(%(name)s)",
    # a path as typed, which begins with the ingested folder
    "right(%(name)s, length(d.path) + 1) = '/' || d.path",
    "strpos(lower(v.lineage_id), lower(%(name)s)) > 0",
)


def topics(store: Store, corpus: str | None = None) -> pl.DataFrame:
    """Every topic with two versions or more: columns ``TOPICS``, by corpus and name.

    A section with one version that its file's next version lacks is not listed.
    """
    values: dict[str, Any] = {"corpus": corpus}
    seen = is_visible("d", store.visible, values)
    rows = store.rows(
        "SELECT v.corpus, v.lineage_id, count(*), min(v.version) FILTER (WHERE v.position = 0),"
        " min(v.version) FILTER (WHERE v.newest), min(d.title) FILTER (WHERE v.newest),"
        " min(d.path) FILTER (WHERE v.newest)"
        f" FROM {_VERSIONS} WHERE {_IN_CORPUS} AND {seen}"
        ' GROUP BY 1, 2 HAVING count(*) > 1 ORDER BY v.corpus, v.lineage_id COLLATE "C"',
        values,
    )
    return pl.DataFrame(rows, schema=TOPICS, orient="row")


def lineage_named(store: Store, name: str, corpus: str | None = None) -> pl.DataFrame:
    """The versions of the topic that ``name`` names, oldest first: columns ``MEMBERS``.

    Args:
        name: a lineage's name or a part of it, or the path (its end, or with folders before it),
            title or identifier of one of its documents.
        corpus: its corpus; None: any.

    Raises:
        UnknownName: no topic with several versions has that name; suggests the nearest.
        CrosscorpusError: several topics have it; lists them.
    """
    name = name.strip()
    values: dict[str, Any] = {"name": name, "corpus": corpus}
    seen = is_visible("d", store.visible, values)
    members = store.run(partial(_members, values=values, seen=seen))
    lineages = members.select("corpus", "lineage_id").unique(maintain_order=True)
    if lineages.is_empty():
        raise UnknownName(store.run(partial(_unknown, name=name, values=values, seen=seen)))
    if len(lineages) > 1:
        names = lineages["lineage_id"].to_list()
        shown = first_of([*map(repr, names)], NAMED)
        raise CrosscorpusError(f"{name!r} is in {len(names)} topics, name one: {shown}")
    return members


def _members(conn: Connection, values: Mapping[str, Any], seen: str) -> pl.DataFrame:
    for way in _WAYS:
        with_clause = (
            f"WITH asked AS (SELECT DISTINCT v.corpus, v.lineage_id FROM {_VERSIONS}"
            f" WHERE ({way}) AND {_IN_CORPUS} AND {seen})"
        )
        if rows := conn.execute(with_clause + _MEMBERS.format(seen=seen), values).fetchall():
            return pl.DataFrame(rows, schema=MEMBERS, orient="row")
    return pl.DataFrame(schema=MEMBERS)


def _unknown(conn: Connection, name: str, values: Mapping[str, Any], seen: str) -> str:
    rows = conn.execute(
        "SELECT DISTINCT unnest(ARRAY[v.lineage_id, d.path, d.title])"
        f" FROM {_VERSIONS} WHERE v.newest AND {_IN_CORPUS} AND {seen}",
        values,
    ).fetchall()
    names = sorted(str(row[0]) for row in rows if row[0])
    if not names:
        return "no document has a second version here: ingest one, or see `crosscorpus verify`"
    listed = ": `crosscorpus versions list` lists those that have several versions"
    return f"no topic {name!r}{suggest(name, names, listed)}"
