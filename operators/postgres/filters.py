"""The one query builder: which chunks a query may see.

Every search and every read of chunks builds its WHERE clause here and nowhere else, so that no path
around a caller's repo list exists. Values travel as parameters; the text of a clause is fixed.

Meaning of a query's filter columns:

- ``corpora``: a query that does not list the corpus gets nothing from it; null lists all
- ``repos``: null is every repo, an empty list is none
- ``path_prefix``: the path begins so, to the letter; a chunk without a path does not match
- ``language``, ``state``: equal
- ``as_of``: created strictly before. A chunk of unknown creation time stays, because it may be old
- ``version_policy``: which versions of a topic answer. ``newest`` (null too): not what a newer
  version replaces, and what no newer one has stays; with an ``as_of``, the newest of that time.
  ``pinned``: where a topic has one of the versions, only those, else as ``newest``. ``all``: all.
  Corpora whose topics have no versions are searched as if it were not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from operators.postgres.store import Connection
from operators.postgres.text_border import clean_text

INDEXED_PATH = 200
"""How many characters of a path the index on paths holds."""

FOREVER = datetime.max.replace(tzinfo=UTC)
"""Later than every moment: the ``as_of`` of a query that has none, where one is needed."""


@dataclass(frozen=True)
class Filter:
    """What a group of queries may see; ``as_of`` differs within a group and is no part of it."""

    repos: tuple[str, ...] | None = None
    path_prefix: str | None = None
    language: str | None = None
    state: str | None = None
    current: bool = False
    pinned: tuple[tuple[str, ...], ...] = ()

    @property
    def only_repos(self) -> bool:
        """Whether the repo list decides, and which versions are asked for, but nothing else."""
        return self.path_prefix is None and self.language is None and self.state is None


@dataclass(frozen=True)
class Scope:
    """One query's filter within a corpus."""

    query_id: int
    filter: Filter
    as_of: datetime | None


def scopes(queries: pl.DataFrame, corpus: str, *, versioned: bool) -> list[Scope]:
    """The filter of each query of ``queries`` that may search ``corpus``.

    A query that cannot see anything there - the corpus is not listed, or its repo list is empty -
    is left out.

    Args:
        queries: columns ``SCOPED_QUERIES``, or ``QUERIES``, whose versions then are taken to the
            letter.
        corpus: the corpus.
        versioned: whether topics of the corpus have versions.
    """
    found = []
    for row in queries.iter_rows(named=True):
        repos = row["repos"]
        if repos is not None:
            repos = tuple(sorted({clean_text(repo) for repo in repos if repo is not None}))
        listed = row["corpora"] is None or corpus in row["corpora"]
        if not listed or repos == ():
            continue
        current = versioned and row["version_policy"] != "all"
        pinned = row["pinned"] if "pinned" in row else [[v] for v in row["versions"] or ()]
        one = Filter(
            repos,
            _cleaned(row["path_prefix"]),
            _cleaned(row["language"]),
            _cleaned(row["state"]),
            current,
            tuple(tuple(sorted(map(clean_text, of))) for of in pinned or ()) if current else (),
        )
        moments = [row["as_of"], row.get("versions_as_of") if current else None]
        found.append(Scope(row["query_id"], one, min(filter(None, moments), default=None)))
    return found


def condition(one: Filter, alias: str, parameters: dict[str, Any], *, number: int = 0) -> str:
    """The clause that holds for the rows of ``alias`` that ``one`` lets through.

    Puts its values into ``parameters``, under names that end in ``number``.
    """
    clauses: list[str] = []

    def add(name: str, value: object, clause: str) -> None:
        parameters[f"{name}_{number}"] = value
        clauses.append(clause.replace("$", alias + ".").replace("?", f"%({name}_{number})s"))

    if one.repos is not None:
        add("repos", list(one.repos), "$repo = ANY(?::text[])")
    if one.path_prefix is not None:
        add("path", one.path_prefix, "starts_with($path, ?::text)")
        # the same again in the form that the index on the beginning of paths answers
        short = one.path_prefix[:INDEXED_PATH]
        add("short_path", short, f'left($path, {INDEXED_PATH}) COLLATE "C" ^@ ?::text')
    if one.language is not None:
        add("language", one.language, "$language = ?::text")
    if one.state is not None:
        add("state", one.state, "$item_state = ?::text")
    return " AND ".join(clauses) or "true"


def outdated(
    one: Filter, parameters: dict[str, Any], *, dated: bool, number: int = 0
) -> str | None:
    """A subquery of the chunks that ``one``'s versions leave out, or None for none.

    Its columns are chunk_id and, if ``dated``, ``since``: the moment of ``as_of`` after which each
    is left out. ``parameters`` must have ``corpus``, and gets its values under names that end in
    ``number``.
    """
    if not one.current:
        return None
    since = "coalesce(s.superseded_at, '-infinity')"
    if not one.pinned:
        return f"""
            SELECT s.chunk_id{f", {since} AS since" if dated else ""}
            FROM superseded_chunks s WHERE s.corpus = %(corpus)s AND s.relation <> 'gone'
        """
    topic = """EXISTS (SELECT 1 FROM document_versions v WHERE v.document_key = s.document_key
        AND v.lineage_id IN (SELECT a.lineage_id FROM asked a))"""
    since = f", CASE WHEN {topic} THEN '-infinity' ELSE {since} END AS since" if dated else ""
    always = ", '-infinity'::timestamptz" if dated else ""
    return f"""
        WITH asked AS MATERIALIZED ({_asked(one, parameters, number)})
        SELECT s.chunk_id{since} FROM superseded_chunks s
        WHERE s.corpus = %(corpus)s AND s.relation <> 'gone'
          AND s.document_key NOT IN (SELECT a.document_key FROM asked a)
        UNION ALL
        SELECT s.chunk_id{always} FROM superseded_chunks s
        WHERE s.corpus = %(corpus)s AND s.relation = 'gone' AND {topic}
          AND s.document_key NOT IN (SELECT a.document_key FROM asked a)
        UNION ALL
        SELECT n.chunk_id{always} FROM document_versions v
        JOIN chunks n ON n.corpus = %(corpus)s AND n.document_key = v.document_key
        WHERE v.corpus = %(corpus)s AND v.newest
          AND v.lineage_id IN (SELECT a.lineage_id FROM asked a)
          AND v.document_key NOT IN (SELECT a.document_key FROM asked a)
    """


def _asked(one: Filter, parameters: dict[str, Any], number: int) -> str:
    """A subquery of the documents that ``one`` pins, and their topics.

    Of the versions that one name stands for, those of the newest that the topic has.
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


def up_to_date(
    one: Filter,
    alias: str,
    parameters: dict[str, Any],
    *,
    moment: str | None = None,
    number: int = 0,
) -> str:
    """The clause that holds for the rows of ``alias`` that ``one``'s versions let through.

    ``moment`` is an SQL expression for ``as_of``, None for none.
    """
    left_out = outdated(one, parameters, dated=moment is not None, number=number)
    if left_out is None:
        return "true"
    by_then = "" if moment is None else f" AND o.since < {moment}"
    return (
        f"NOT EXISTS (SELECT 1 FROM ({left_out}) AS o WHERE o.chunk_id = {alias}.chunk_id{by_then})"
    )


def each_up_to_date(
    one: Filter, parameters: dict[str, Any], *, moment: str | None = None, number: int = 0
) -> str:
    """As :func:`up_to_date` for chunks ``c``, asked of each when it is met.

    For few rows, and for scans that end early: a join would need all rows at its start.
    """
    if not one.current:
        return "true"
    by_then = "" if moment is None else f"AND coalesce(s.superseded_at, '-infinity') < {moment}"
    # an OFFSET keeps the planner from a join
    newest = f"""NOT EXISTS (SELECT 1 FROM superseded_chunks s WHERE s.corpus = c.corpus
        AND s.chunk_id = c.chunk_id AND s.relation <> 'gone' {by_then} OFFSET 0)"""
    if not one.pinned:
        return newest
    asked = _asked(one, parameters, number)
    return f"""(c.document_key IN (SELECT a.document_key FROM ({asked}) AS a)
        OR ({newest} AND NOT EXISTS (
            SELECT 1 FROM document_versions v WHERE v.document_key = c.document_key
            AND v.lineage_id IN (SELECT a.lineage_id FROM ({asked}) AS a) OFFSET 0)))"""


def created_before(alias: str, moment: str) -> str:
    """The clause of ``as_of``: ``moment`` is an SQL expression, ``infinity`` for none."""
    return f"({alias}.created_at IS NULL OR {alias}.created_at < {moment})"


def moment(as_of: datetime | None) -> str:
    """``as_of`` as the server reads it; ``infinity`` for none."""
    return "infinity" if as_of in (None, FOREVER) else as_of.isoformat()


def count_visible(
    conn: Connection,
    corpus: str,
    one: Filter,
    moments: Sequence[datetime | None],
    repo_sizes: Mapping[str, int],
    superseded: int = 0,
    *,
    limit: int,
) -> list[int]:
    """How many chunks of ``corpus`` each of ``moments`` (``as_of``) leaves visible, at most.

    ``repo_sizes``, and ``superseded`` (how many chunks a newer version replaces), answer without a
    look at the chunks where they can: when the repo list and versions alone decide, exactly but for
    lists of repos or versions, then with an upper bound; and where an upper bound is no more than
    ``limit`` chunks. Else they are counted, up to ``limit`` + 1.
    """
    names = repo_sizes if one.repos is None else one.repos
    bound = sum(repo_sizes.get(name, 0) for name in names)
    parameters: dict[str, Any] = {"corpus": corpus}
    undated = all(moment is None for moment in moments)
    if one.current and undated and bound > limit:
        pinned = _pinned_chunks(conn, one, parameters) if one.pinned else 0
        bound = min(bound, sum(repo_sizes.values()) - superseded + pinned)
    if bound <= limit or (one.only_repos and undated):
        return [bound] * len(moments)
    distinct = sorted({moment(value) for value in moments})
    parameters |= {"moments": distinct, "limit": limit + 1}
    statement = f"""
        SELECT m.at, (SELECT count(*) FROM (
            SELECT 1 FROM chunks c
            WHERE c.corpus = %(corpus)s AND {condition(one, "c", parameters)}
              AND {created_before("c", "m.at::timestamptz")}
              AND {up_to_date(one, "c", parameters, moment="m.at::timestamptz")}
            LIMIT %(limit)s) AS visible)
        FROM unnest(%(moments)s::text[]) AS m(at)
    """
    counted: dict[str, int] = dict(conn.execute(statement, parameters).fetchall())
    return [int(counted[moment(value)]) for value in moments]


def _pinned_chunks(conn: Connection, one: Filter, parameters: dict[str, Any]) -> int:
    asked = _asked(one, parameters, 0)
    row = conn.execute(
        "SELECT coalesce(sum(d.chunks), 0) FROM documents d"
        f" WHERE d.document_key IN (SELECT a.document_key FROM ({asked}) AS a)",
        parameters,
    ).fetchone()
    return int(row[0]) if row else 0


def _cleaned(value: str | None) -> str | None:
    return clean_text(value) if value else None
