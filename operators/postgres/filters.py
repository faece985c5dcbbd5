"""The one query builder: which chunks a query may see.

Every search and every read of chunks builds its WHERE clause here and nowhere else, so that no path
around a caller's repo list exists. Values travel as parameters; the text of a clause is fixed.

Meaning of a query's filter columns:

- ``corpora``: a query that does not list the corpus gets nothing from it; null lists all
- ``repos``: null is every repo, an empty list is none
- ``path_prefix``: the path begins so, to the letter; a chunk without a path does not match
- ``language``, ``state``: equal
- ``as_of``: created strictly before. A chunk of unknown creation time stays, because it may be old
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from operators.postgres.store import Connection
from operators.postgres.text_border import clean_text

INDEXED_PATH = 200
"""How many characters of a path the index on paths holds."""


@dataclass(frozen=True)
class Filter:
    """What a group of queries may see; ``as_of`` differs within a group and is no part of it."""

    repos: tuple[str, ...] | None = None
    path_prefix: str | None = None
    language: str | None = None
    state: str | None = None

    @property
    def only_repos(self) -> bool:
        """Whether the repo list alone decides."""
        return self.path_prefix is None and self.language is None and self.state is None


@dataclass(frozen=True)
class Scope:
    """One query's filter within a corpus."""

    query_id: int
    filter: Filter
    as_of: datetime | None


def scopes(queries: pl.DataFrame, corpus: str) -> list[Scope]:
    """The filter of each query of ``queries`` (columns: ``QUERIES``) that may search ``corpus``.

    A query that cannot see anything there - the corpus is not listed, or its repo list is empty -
    is left out.
    """
    found = []
    for row in queries.iter_rows(named=True):
        repos = row["repos"]
        if repos is not None:
            repos = tuple(sorted({clean_text(repo) for repo in repos if repo is not None}))
        listed = row["corpora"] is None or corpus in row["corpora"]
        if not listed or repos == ():
            continue
        one = Filter(
            repos, _cleaned(row["path_prefix"]), _cleaned(row["language"]), _cleaned(row["state"])
        )
        found.append(Scope(row["query_id"], one, row["as_of"]))
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


def created_before(alias: str, moment: str) -> str:
    """The clause of ``as_of``: ``moment`` is an SQL expression, ``infinity`` for none."""
    return f"({alias}.created_at IS NULL OR {alias}.created_at < {moment})"


def moment(as_of: datetime | None) -> str:
    """``as_of`` as the server reads it; ``infinity`` for none."""
    return "infinity" if as_of is None else as_of.isoformat()


def count_visible(
    conn: Connection,
    corpus: str,
    one: Filter,
    moments: Sequence[datetime | None],
    repo_sizes: Mapping[str, int],
    *,
    limit: int,
) -> list[int]:
    """How many chunks of ``corpus`` each of ``moments`` (``as_of``) leaves visible, at most.

    ``repo_sizes`` answers without a look at the chunks where it can: exactly when the repo list
    alone decides, and with an upper bound when the listed repos hold no more than ``limit`` chunks.
    Else they are counted, up to ``limit`` + 1.
    """
    names = repo_sizes if one.repos is None else one.repos
    bound = sum(repo_sizes.get(name, 0) for name in names)
    if bound <= limit or (one.only_repos and all(moment is None for moment in moments)):
        return [bound] * len(moments)
    distinct = sorted({moment(value) for value in moments})
    parameters: dict[str, Any] = {"corpus": corpus, "moments": distinct, "limit": limit + 1}
    statement = f"""
        SELECT m.at, (SELECT count(*) FROM (
            SELECT 1 FROM chunks c
            WHERE c.corpus = %(corpus)s AND {condition(one, "c", parameters)}
              AND {created_before("c", "m.at::timestamptz")}
            LIMIT %(limit)s) AS visible)
        FROM unnest(%(moments)s::text[]) AS m(at)
    """
    counted: dict[str, int] = dict(conn.execute(statement, parameters).fetchall())
    return [int(counted[moment(value)]) for value in moments]


def _cleaned(value: str | None) -> str | None:
    return clean_text(value) if value else None
