"""The one query builder: which chunks a query may see.

Every search and every read of chunks builds its WHERE clause here and nowhere else, so that no path
around a caller's repo list exists. Values travel as parameters; the text of a clause is fixed.

Meaning of a query's filter columns:

- ``corpora``: a query that does not list the corpus gets nothing from it; null lists all
- ``repos``: null is every repo, an empty list is none
- ``path_prefix``: the path begins so, to the letter; a chunk without a path does not match
- ``language``, ``state``: equal
- ``as_of``: created strictly before. A chunk of unknown creation time stays, because it may be old
- ``versions_as_of``: likewise, but only of documents that have versions
- ``version_policy``: which versions of a topic answer. ``newest`` (null too): not what a newer
  version replaces, and what no newer one has stays; with an ``as_of``, the newest of that time.
  ``pinned``: where a topic has one of the versions, only those, else as ``newest``. ``all``: all.
  Corpora whose topics have no versions are searched as if it were not there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from operators.foundation.sanitize import clean_text
from operators.postgres.search.batches import Deadline, run
from operators.postgres.store import Connection, Store, collection_info
from operators.postgres.superseded_counts import Superseded

INDEXED_PATH = 200
"""How many characters of a path the index on paths holds."""

HASHED_BELOW = 20_000
"""Of a corpus with up to this many superseded chunks a search hashes all of them, which costs a
quarter of a microsecond a chunk; of one with more, the planner decides."""

NO_CHUNKS = "{}"

SHARED = "q.as_of"
"""The ``as_of`` of the query ``q``, where the queries of a statement have different ones."""

FOREVER = datetime.max.replace(tzinfo=UTC)
"""Later than every moment: the ``as_of`` of a query that has none, where one is needed."""


@dataclass(frozen=True)
class Filter:
    """What a group of queries may see; ``as_of`` differs within a group and is no part of it.

    Attributes:
        superseded: the chunks that a newer version replaces; None: versions do not count.
        pinned: the versions that are asked for, each with the names that it may have.
        inside: the chunks of those versions, outside: all others of their topics, both as array
            literals; None before :func:`operators.postgres.search.version_pins.with_chunks` has put
            them there.
        current: all chunks that the versions leave, as an array literal, where
            :func:`operators.postgres.search.visible_chunks.with_current` has listed them.
        only_versions: ``as_of`` chooses between versions, and hides nothing that has none.
    """

    repos: tuple[str, ...] | None = None
    path_prefix: str | None = None
    language: str | None = None
    state: str | None = None
    superseded: Superseded | None = None
    pinned: tuple[tuple[str, ...], ...] = ()
    inside: str | None = None
    outside: str | None = None
    current: str | None = None
    only_versions: bool = False

    @property
    def pinned_chunks(self) -> int:
        """How many chunks the asked versions have."""
        return self.inside.count(",") + 1 if self.inside and self.inside != NO_CHUNKS else 0

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


def within_border(
    alias: str, corpus_repos: Mapping[str, Sequence[str] | None], parameters: dict[str, Any]
) -> str:
    """The clause that ``alias`` is of no repository that the configuration hides.

    Args:
        alias: a table with the columns corpus and repo.
        corpus_repos: a corpus's name -> the repositories that may be seen of it; None: every one,
            as of a corpus that is not named.
        parameters: receives the values.
    """
    limited = {name: of for name, of in corpus_repos.items() if of is not None}
    pairs = [(corpus, clean_text(repo)) for corpus, of in limited.items() for repo in of]
    parameters |= {
        "limited": list(limited),
        "of": [corpus for corpus, _ in pairs],
        "seen": [repo for _, repo in pairs],
    }
    return (
        f"({alias}.corpus <> ALL(%(limited)s::text[]) OR ({alias}.corpus, {alias}.repo) IN "
        "(SELECT * FROM unnest(%(of)s::text[], %(seen)s::text[])))"
    )


def scopes(queries: pl.DataFrame, corpus: str, superseded: Superseded | None) -> list[Scope]:
    """The filter of each query of ``queries`` that may search ``corpus``.

    A query that cannot see anything there - the corpus is not listed, or its repo list is empty -
    is left out.

    Args:
        queries: columns ``SCOPED_QUERIES``, or ``QUERIES``, whose versions then are taken to the
            letter.
        corpus: the corpus.
        superseded: chunks of the corpus; None: its topics have no versions.
    """
    found = []
    for row in queries.iter_rows(named=True):
        repos = row["repos"]
        if repos is not None:
            repos = tuple(sorted({clean_text(repo) for repo in repos if repo is not None}))
        listed = row["corpora"] is None or corpus in row["corpora"]
        if not listed or repos == ():
            continue
        current = superseded is not None and row["version_policy"] != "all"
        pinned = row["pinned"] if "pinned" in row else [[v] for v in row["versions"] or ()]
        moments = [row["as_of"], row.get("versions_as_of") if current else None]
        one = Filter(
            repos,
            _cleaned(row["path_prefix"]),
            _cleaned(row["language"]),
            _cleaned(row["state"]),
            superseded if current else None,
            tuple(tuple(sorted(map(clean_text, of))) for of in pinned or ()) if current else (),
            only_versions=moments[0] is None and moments[1] is not None,
        )
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


def up_to_date(
    one: Filter,
    alias: str,
    parameters: dict[str, Any],
    *,
    moment: str | None = None,
    each: bool = False,
) -> str:
    """The clause that holds for the rows of ``alias`` that ``one``'s versions let through.

    ``moment`` is an SQL expression for ``as_of``, None for none. ``each``: each row is asked when
    it is met, for scans that end early.
    """
    if one.superseded is None:
        return "true"
    if one.current is not None and moment is None:
        parameters["current"] = one.current
        return f"{alias}.chunk_id = ANY(%(current)s::bigint[])"
    by_then = "" if moment is None else f" AND {_SINCE} < {moment}"
    replaced = f"""superseded_chunks s
        WHERE s.corpus = %(corpus)s AND s.relation <> 'gone'{by_then}"""
    same = f"s.chunk_id = {alias}.chunk_id"
    if each:  # an OFFSET keeps the planner from a join
        newest = f"NOT EXISTS (SELECT 1 FROM {replaced} AND {same} OFFSET 0)"
    elif moment != SHARED and one.superseded.total <= HASHED_BELOW:
        newest = f"{alias}.chunk_id NOT IN (SELECT s.chunk_id FROM {replaced})"
    else:
        newest = f"NOT EXISTS (SELECT 1 FROM {replaced} AND {same})"
    return _or_pinned(one, alias, newest, parameters)


def with_since(
    one: Filter, alias: str, source: str, parameters: dict[str, Any]
) -> tuple[str, str, str]:
    """For one scan that queries of many moments share: column ``since``, from what, and clause.

    ``since`` is the moment of ``as_of`` after which a row of ``alias`` (in ``source``) is left out,
    null for never; the clause holds for rows that are not left out at every moment.
    """
    joined = f"""{source} LEFT JOIN superseded_chunks s ON s.corpus = %(corpus)s
        AND s.relation <> 'gone' AND s.chunk_id = {alias}.chunk_id"""
    since = f"CASE WHEN s.chunk_id IS NOT NULL THEN {_SINCE} END"
    clause = _or_pinned(one, alias, "true", parameters)
    if one.pinned:
        since = f"CASE WHEN {alias}.chunk_id <> ALL(%(inside)s::bigint[]) THEN {since} END"
    return f"{since} AS since", joined, clause


OF_VERSIONS = """
    LEFT JOIN document_versions v ON v.document_key = c.document_key
    LEFT JOIN superseded_chunks s ON s.corpus = c.corpus AND s.chunk_id = c.chunk_id
"""
"""What is known of the versions of chunks ``c``."""


def by_documents(one: Filter, parameters: dict[str, Any], *, moment: str, number: int = 0) -> str:
    """As :func:`up_to_date` for few chunks ``c`` with ``OF_VERSIONS``, as it is at this moment.

    Puts its values into ``parameters``, under names that end in ``number``.
    """
    if one.superseded is None:
        return "true"
    newest = f"(s.chunk_id IS NULL OR s.relation = 'gone' OR {_SINCE} >= {moment})"
    if not one.pinned:
        return newest
    asked = pinned_documents(one, parameters, number=number)
    return f"""(c.document_key IN (SELECT a.document_key FROM ({asked}) AS a)
        OR ({newest} AND (v.lineage_id IS NULL
            OR v.lineage_id NOT IN (SELECT a.lineage_id FROM ({asked}) AS a))))"""


def pinned_documents(one: Filter, parameters: dict[str, Any], *, number: int = 0) -> str:
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


_SINCE = "coalesce(s.superseded_at, '-infinity')"


def _or_pinned(one: Filter, alias: str, newest: str, parameters: dict[str, Any]) -> str:
    """The clause that holds for chunks of the pinned versions; of other topics, if ``newest``."""
    if not one.pinned:
        return newest
    parameters |= {"inside": one.inside, "outside": one.outside}
    # the planner would weigh each chunk of an array, but it does not look into a CASE
    return f"""CASE WHEN {alias}.chunk_id = ANY(%(inside)s::bigint[]) THEN true
        WHEN {alias}.chunk_id <> ALL(%(outside)s::bigint[]) THEN {newest} ELSE false END"""


def created_before(
    one: Filter, alias: str, moment: str | None, *, versions_joined: bool = False
) -> str:
    """The clause of ``as_of``: ``moment`` is an SQL expression, None for none.

    ``versions_joined``: ``OF_VERSIONS`` is there to be read.
    """
    if moment is None:
        return "true"
    before = f"{alias}.created_at IS NULL OR {alias}.created_at < {moment}"
    if not one.only_versions:
        return f"({before})"
    if versions_joined:
        return f"({before} OR v.document_key IS NULL)"
    later = "" if moment == SHARED else f" AND n.created_at >= {moment}"
    return f"""({before} OR {alias}.chunk_id NOT IN (
        SELECT n.chunk_id FROM document_versions d
        JOIN chunks n ON n.corpus = %(corpus)s AND n.document_key = d.document_key
        WHERE d.corpus = %(corpus)s{later}))"""


def moment_of(moments: Collection[datetime | None], parameters: dict[str, Any]) -> str | None:
    """An SQL expression for the ``as_of`` of the queries ``q``: one value, if all have the same.

    Puts the value into ``parameters``. None where no query has any.
    """
    if all(as_of is None for as_of in moments):
        return None
    if len(set(moments)) > 1:
        return SHARED
    parameters["moment"] = moment(next(iter(moments)))
    return "%(moment)s::timestamptz"


def moment(as_of: datetime | None) -> str:
    """``as_of`` as the server reads it; ``infinity`` for none."""
    return "infinity" if as_of in (None, FOREVER) else as_of.isoformat()


def visible_chunks(
    store: Store,
    deadline: Deadline,
    corpus: str,
    one: Filter,
    moments: Sequence[datetime | None],
    *,
    limit: int,
) -> list[int]:
    """How many chunks each of ``moments`` leaves visible: known, or counted up to ``limit`` + 1.

    Raises:
        SearchTimeout: the deadline has passed.
    """
    sizes = collection_info(store).repos.get(corpus, {})
    known = visible_at_most(one, moments, sizes, limit=limit)
    if known is not None:
        return known
    return run(store, deadline, lambda conn: count_visible(conn, corpus, one, moments, limit=limit))


def visible_at_most(
    one: Filter,
    moments: Sequence[datetime | None],
    repo_sizes: Mapping[str, int],
    *,
    limit: int,
) -> list[int] | None:
    """How many chunks each of ``moments`` (``as_of``) leaves visible, where no look is needed.

    ``repo_sizes`` and the known number of superseded chunks tell when the repo list and versions
    alone decide, exactly but for lists of repos or versions, then with an upper bound; and where an
    upper bound is no more than ``limit`` chunks. Else None: :func:`count_visible` counts them.
    """
    names = repo_sizes if one.repos is None else one.repos
    bounds = [sum(repo_sizes.get(name, 0) for name in names)] * len(moments)
    undated = all(moment is None for moment in moments)
    if one.superseded is not None:
        most = sum(repo_sizes.values()) + one.pinned_chunks
        bounds = [
            min(bound, most - one.superseded.by(at))
            for bound, at in zip(bounds, moments, strict=True)
        ]
    known = max(bounds, default=0) <= limit or (one.only_repos and undated)
    return bounds if known else None


def count_visible(
    conn: Connection,
    corpus: str,
    one: Filter,
    moments: Sequence[datetime | None],
    *,
    limit: int,
) -> list[int]:
    """How many chunks of ``corpus`` each of ``moments`` leaves visible, up to ``limit`` + 1."""
    parameters: dict[str, Any] = {"corpus": corpus, "limit": limit + 1}
    parameters["moments"] = sorted({moment(value) for value in moments})
    at = moment_of(moments, parameters)
    statement = f"""
        SELECT q.at, (SELECT count(*) FROM (
            SELECT 1 FROM chunks c
            WHERE c.corpus = %(corpus)s AND {condition(one, "c", parameters)}
              AND {created_before(one, "c", at)} AND {up_to_date(one, "c", parameters, moment=at)}
            LIMIT %(limit)s) AS visible)
        FROM (SELECT m.at, m.at::timestamptz AS as_of FROM unnest(%(moments)s::text[]) AS m(at)) q
    """
    counted: dict[str, int] = dict(conn.execute(statement, parameters).fetchall())
    return [int(counted[moment(value)]) for value in moments]


def _cleaned(value: str | None) -> str | None:
    return clean_text(value) if value else None
