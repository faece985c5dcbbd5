"""The clauses for versions: which chunks a query sees if its topics have several versions.

A chunk that a newer version replaces has a row in ``superseded_chunks``, with the time of that.
"""

from dataclasses import dataclass
from typing import Any

from operators.postgres.search.filters import Filter, condition

NO_CHUNKS = "{}"
"""The empty array literal of chunks."""

HASHED_BELOW = 20_000
"""A search hashes up to this many superseded chunks of a corpus, a quarter of a microsecond each.
If there are more, the planner decides."""


@dataclass(frozen=True)
class SearchFilter:
    """A filter with the chunk lists that a search looks up for it; reading chunks needs no list."""

    filter: Filter
    inside: str = NO_CHUNKS  # the chunks of the pinned versions
    outside: str = NO_CHUNKS  # the other chunks of their topics
    visible: str | None = None  # all chunks that pass the versions; None: a list is no faster

    @property
    def pinned_chunks(self) -> int:
        """How many chunks the pinned versions have."""
        return self.inside.count(",") + (self.inside != NO_CHUNKS)


def seen(
    scope: SearchFilter,
    alias: str,
    parameters: dict[str, Any],
    *,
    each: bool = False,
    listed: bool = False,
) -> str:
    """The complete clause for the rows of ``alias`` that pass ``scope``.

    ``each``: the clause tests row by row, for scans that end early. ``listed``: it uses the list
    of visible chunks, if there is one.
    """
    filters = scope.filter
    at = None if filters.as_of is None else "%(as_of)s::timestamptz"
    parameters["as_of"] = filters.as_of and filters.as_of.isoformat()
    clauses = [
        f"{alias}.corpus = %(corpus)s",
        condition(filters, alias, parameters),
        created_before(filters, alias, at),
    ]
    if listed and scope.visible is not None:
        parameters["visible"] = scope.visible
        clauses.append(f"{alias}.chunk_id = ANY(%(visible)s::bigint[])")
    elif filters.superseded is not None:
        newest = _newest(filters.superseded, alias, at, each=each)
        clauses.append(_or_pinned(scope, alias, newest, parameters))
    return " AND ".join(clauses)


def created_before(
    scope: Filter, alias: str, moment: str | None, *, versions_joined: bool = False
) -> str:
    """The clause of ``as_of``: ``moment`` is an SQL expression, None for none.

    ``versions_joined``: the statement joins ``OF_VERSIONS``.
    """
    if moment is None:
        return "true"
    before = f"{alias}.created_at IS NULL OR {alias}.created_at < {moment}"
    if not scope.only_versions:
        return f"({before})"
    if versions_joined:
        return f"({before} OR v.document_key IS NULL)"
    return f"""({before} OR {alias}.chunk_id NOT IN (
        SELECT n.chunk_id FROM document_versions d
        JOIN chunks n ON n.corpus = %(corpus)s AND n.document_key = d.document_key
        WHERE d.corpus = %(corpus)s AND n.created_at >= {moment}))"""


OF_VERSIONS = """
    LEFT JOIN document_versions v ON v.document_key = c.document_key
    LEFT JOIN superseded_chunks s ON s.corpus = c.corpus AND s.chunk_id = c.chunk_id
"""
"""The joins that add the versions of chunks ``c``."""


def by_documents(scope: Filter, parameters: dict[str, Any], *, moment: str, suffix: str) -> str:
    """The clause for the versions of few chunks ``c`` with ``OF_VERSIONS``, without a cache.

    Its values are added to ``parameters``, as :func:`condition` does.
    """
    if scope.superseded is None:
        return "true"
    newest = f"(s.chunk_id IS NULL OR s.relation = 'gone' OR {_SINCE} >= {moment})"
    if not scope.pinned:
        return newest
    pinned = pinned_documents(scope, parameters, suffix=suffix)
    return f"""(c.document_key IN (SELECT a.document_key FROM ({pinned}) AS a)
        OR ({newest} AND (v.lineage_id IS NULL
            OR v.lineage_id NOT IN (SELECT a.lineage_id FROM ({pinned}) AS a))))
        AND (c.version IS NULL OR c.version = ANY(%(pins{suffix})s::text[])
            OR c.document_key NOT IN ({PINNED_CHANGELOGS.format(suffix)}))"""


def pinned_documents(scope: Filter, parameters: dict[str, Any], *, suffix: str = "") -> str:
    """A subquery of the documents that ``scope`` pins, and their topics.

    If a name matches several versions, the newest of the topic counts.
    """
    parameters[f"pins{suffix}"] = [version for of in scope.pinned for version in of]
    parameters[f"pin_groups{suffix}"] = [n for n, of in enumerate(scope.pinned) for _ in of]
    return f"""
        SELECT m.document_key, m.lineage_id FROM (
            SELECT v.document_key, v.lineage_id, v.version, first_value(v.version)
                OVER (PARTITION BY v.lineage_id, p.pin ORDER BY v.position DESC) AS newest
            FROM unnest(%(pins{suffix})s::text[], %(pin_groups{suffix})s::int[])
                 AS p(version, pin)
            JOIN document_versions v ON v.corpus = %(corpus{suffix})s AND v.version = p.version
        ) AS m WHERE m.version = m.newest
    """


PINNED_CHANGELOGS = (
    "SELECT r.document_key FROM releases r"
    " WHERE r.corpus = %(corpus{0})s AND r.version = ANY(%(pins{0})s::text[])"
)
"""The changelogs with a pinned release; needs :func:`pinned_documents` with the same suffix."""

_SINCE = "coalesce(s.superseded_at, '-infinity')"


def _newest(replaced_chunks: int, alias: str, moment: str | None, *, each: bool) -> str:
    """The clause for chunks that no newer version replaces by ``moment``."""
    by_then = "" if moment is None else f" AND {_SINCE} < {moment}"
    replaced = f"""superseded_chunks s
        WHERE s.corpus = %(corpus)s AND s.relation <> 'gone'{by_then}"""
    if not each and replaced_chunks <= HASHED_BELOW:
        return f"{alias}.chunk_id NOT IN (SELECT s.chunk_id FROM {replaced})"
    offset = " OFFSET 0" if each else ""  # prevents a join
    return f"NOT EXISTS (SELECT 1 FROM {replaced} AND s.chunk_id = {alias}.chunk_id{offset})"


def _or_pinned(scope: SearchFilter, alias: str, newest: str, parameters: dict[str, Any]) -> str:
    """The clause for chunks of the pinned versions, and for ``newest`` chunks of other topics."""
    if not scope.filter.pinned:
        return newest
    parameters |= {"inside": scope.inside, "outside": scope.outside}
    # the planner estimates each chunk of an array, except inside a CASE
    return f"""CASE WHEN {alias}.chunk_id = ANY(%(inside)s::bigint[]) THEN true
        WHEN {alias}.chunk_id <> ALL(%(outside)s::bigint[]) THEN {newest} ELSE false END"""
