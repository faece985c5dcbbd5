"""The clauses for versions: which chunks a query sees if its topics have several versions.

A chunk that a newer version replaces is a row of ``superseded_chunks``, with the moment of that.
"""

from typing import Any

from operators.postgres.search.filters import Filter, condition, created_before

HASHED_BELOW = 20_000
"""A search hashes up to this many superseded chunks of a corpus, which costs a quarter of a
microsecond a chunk. If there are more, the planner decides."""


def up_to_date(
    one: Filter,
    alias: str,
    parameters: dict[str, Any],
    *,
    moment: str | None = None,
    each: bool = False,
) -> str:
    """The clause that holds for the rows of ``alias`` that ``one``'s versions let through.

    ``moment`` is an SQL expression for ``as_of``, None for none. ``each``: the clause tests row by
    row, for scans that end early.
    """
    if one.superseded is None:
        return "true"
    if one.visible is not None and moment is None:
        parameters["visible"] = one.visible
        return f"{alias}.chunk_id = ANY(%(visible)s::bigint[])"
    by_then = "" if moment is None else f" AND {_SINCE} < {moment}"
    replaced = f"""superseded_chunks s
        WHERE s.corpus = %(corpus)s AND s.relation <> 'gone'{by_then}"""
    same = f"s.chunk_id = {alias}.chunk_id"
    if each:  # an OFFSET keeps the planner from a join
        newest = f"NOT EXISTS (SELECT 1 FROM {replaced} AND {same} OFFSET 0)"
    elif one.superseded.total <= HASHED_BELOW:
        newest = f"{alias}.chunk_id NOT IN (SELECT s.chunk_id FROM {replaced})"
    else:
        newest = f"NOT EXISTS (SELECT 1 FROM {replaced} AND {same})"
    return _or_pinned(one, alias, newest, parameters)


def seen(
    one: Filter, alias: str, parameters: dict[str, Any], at: str | None, *, each: bool = False
) -> str:
    """The whole clause for the rows of ``alias`` that ``one`` lets through at the moment ``at``."""
    clauses = (
        f"{alias}.corpus = %(corpus)s",
        condition(one, alias, parameters),
        created_before(one, alias, at),
        up_to_date(one, alias, parameters, moment=at, each=each),
    )
    return " AND ".join(clauses)


OF_VERSIONS = """
    LEFT JOIN document_versions v ON v.document_key = c.document_key
    LEFT JOIN superseded_chunks s ON s.corpus = c.corpus AND s.chunk_id = c.chunk_id
"""
"""The joins that add the versions of chunks ``c``."""


def by_documents(one: Filter, parameters: dict[str, Any], *, moment: str, number: int = 0) -> str:
    """The clause of :func:`up_to_date` for few chunks ``c`` with ``OF_VERSIONS``, without a cache.

    It puts its values into ``parameters``, under names that end in ``number``.
    """
    if one.superseded is None:
        return "true"
    newest = f"(s.chunk_id IS NULL OR s.relation = 'gone' OR {_SINCE} >= {moment})"
    if not one.pinned:
        return newest
    asked = pinned_documents(one, parameters, number=number)
    return f"""(c.document_key IN (SELECT a.document_key FROM ({asked}) AS a)
        OR ({newest} AND (v.lineage_id IS NULL
            OR v.lineage_id NOT IN (SELECT a.lineage_id FROM ({asked}) AS a))))
        AND (c.version IS NULL OR c.version = ANY(%(pins_{number})s::text[])
            OR c.document_key NOT IN ({PINNED_CHANGELOGS.format(number)}))"""


def pinned_documents(one: Filter, parameters: dict[str, Any], *, number: int = 0) -> str:
    """A subquery of the documents that ``one`` pins, and their topics.

    If one name stands for several versions, the newest that the topic has counts.
    """
    parameters[f"pins_{number}"] = [version for of in one.pinned for version in of]
    if all(len(of) == 1 for of in one.pinned):
        return f"""
            SELECT v.document_key, v.lineage_id FROM document_versions v
            WHERE v.corpus = %(corpus)s AND v.version = ANY(%(pins_{number})s::text[])
        """
    parameters[f"pin_groups_{number}"] = [n for n, of in enumerate(one.pinned) for _ in of]
    return f"""
        SELECT m.document_key, m.lineage_id FROM (
            SELECT v.document_key, v.lineage_id, v.version, first_value(v.version)
                OVER (PARTITION BY v.lineage_id, p.pin ORDER BY v.position DESC) AS newest
            FROM unnest(%(pins_{number})s::text[], %(pin_groups_{number})s::int[])
                 AS p(version, pin)
            JOIN document_versions v ON v.corpus = %(corpus)s AND v.version = p.version
        ) AS m WHERE m.version = m.newest
    """


PINNED_CHANGELOGS = (
    "SELECT r.document_key FROM releases r"
    " WHERE r.corpus = %(corpus)s AND r.version = ANY(%(pins_{})s::text[])"
)
"""The changelogs with a pinned release, after :func:`pinned_documents` with the same number."""

_SINCE = "coalesce(s.superseded_at, '-infinity')"


def _or_pinned(one: Filter, alias: str, newest: str, parameters: dict[str, Any]) -> str:
    """The clause for chunks of the pinned versions, and for ``newest`` chunks of other topics."""
    if not one.pinned:
        return newest
    parameters |= {"inside": one.inside, "outside": one.outside}
    # the planner would estimate each chunk of an array, but it does not look into a CASE
    return f"""CASE WHEN {alias}.chunk_id = ANY(%(inside)s::bigint[]) THEN true
        WHEN {alias}.chunk_id <> ALL(%(outside)s::bigint[]) THEN {newest} ELSE false END"""
