"""The values of a question's filters that no document has, with the nearest that exist."""

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from operators.foundation.sanitize import clean_text
from operators.frames import NOTES
from operators.postgres.search.filters import within_border
from operators.postgres.store import Connection, Store

NAMED = 8
"""Values that a sentence names."""


def unmet_filters(
    store: Store,
    queries: pl.DataFrame,
    results: pl.DataFrame,
    visible: Mapping[str, Sequence[str] | None],
) -> pl.DataFrame:
    """``NOTES``: for each query without a result, its filter values that no visible document has.

    Args:
        store: the open collection; read only for such a query.
        queries: columns ``QUERIES``.
        results: has the column query_id.
        visible: the visible repositories of each corpus, as :func:`absent_values` takes them.
    """
    answered = set(results["query_id"])
    rows = []
    for query in queries.filter(~pl.col("query_id").is_in(answered)).iter_rows(named=True):
        filters = {name: query[name] for name in ("repos", "path_prefix", "language", "state")}
        if any(filters.values()):
            asked = query["corpora"]
            searched = {c: repos for c, repos in visible.items() if asked is None or c in asked}
            found = absent_values(store, searched, **filters)
            rows += [(query["query_id"], sentence) for sentence in found]
    return pl.DataFrame(rows, schema=NOTES, orient="row")


def absent_values(
    store: Store,
    corpora: Mapping[str, Sequence[str] | None],
    *,
    repos: Sequence[str] | None = None,
    path_prefix: str | None = None,
    language: str | None = None,
    state: str | None = None,
) -> list[str]:
    """A sentence for each filter value that no visible document has.

    Args:
        store: the open collection.
        corpora: the searched corpora -> their visible repositories, as
            :func:`operators.ranking.query_filters.visible_repos` gives them; None: every one. The
            sentences do not even name others.
        repos: a filter. Those of them that exist limit the search for the other values.
        path_prefix: a filter, as ``language`` and ``state``.

    Returns:
        Nothing if the corpora are empty: then no value is wrong.
    """
    parameters: dict[str, Any] = {"corpora": list(corpora)}
    seen = "d.chunks > 0 AND d.corpus = ANY(%(corpora)s::text[]) AND "
    seen += within_border("d", corpora, parameters)

    def read(conn: Connection) -> list[str]:
        rows = conn.execute(
            f"SELECT DISTINCT d.repo, d.language, d.item_state FROM documents d WHERE {seen}",
            parameters,
        ).fetchall()
        if not rows:
            return []
        known = {row[0] for row in rows}
        within = known & {clean_text(repo) for repo in repos or ()} or known
        sentences = [_sentence("of repo", repo, known) for repo in repos or ()]
        for what, value, column in (("in language", language, 1), ("in state", state, 2)):
            has = {row[column] for row in rows if row[0] in within}
            sentences.append(_sentence(what, value, has))
        if path_prefix:
            near = _paths(conn, path_prefix, seen, {**parameters, "within": list(within)})
            sentences.append(_sentence("with a path that begins with", path_prefix, near))
        return [sentence for sentence in sentences if sentence]

    return store.run(read)


def _paths(conn: Connection, prefix: str, seen: str, parameters: Mapping[str, Any]) -> set[str]:
    """``prefix`` if a path begins so, else the start of the path that has it nearest the front."""
    row = conn.execute(
        f"""
        SELECT CASE place WHEN 0 THEN %(prefix)s ELSE left(path, place + length(%(short)s) - 1) END
        FROM (
            SELECT d.path, CASE WHEN starts_with(d.path, %(prefix)s) THEN 0
                ELSE position(lower(%(short)s) IN lower(d.path)) END AS place
            FROM documents d WHERE {seen} AND d.repo = ANY(%(within)s::text[])
              AND (starts_with(d.path, %(prefix)s)
                   OR position(lower(%(short)s) IN lower(d.path)) > 0)
        ) AS near ORDER BY place, path COLLATE "C" LIMIT 1
        """,
        {
            **parameters,
            "prefix": clean_text(prefix),
            "short": clean_text(prefix).removeprefix("./").lstrip("/"),
        },
    ).fetchone()
    return {row[0]} if row else set()


def _sentence(what: str, value: str | None, known: Collection[str | None]) -> str | None:
    if not value or clean_text(value) in known:
        return None
    names = _nearest(value, sorted(filter(None, known)))
    shown = ", ".join(map(repr, names[:NAMED]))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    there = f"; there {'is' if len(names) == 1 else 'are'} {shown}{more}" if names else ""
    return f"no document {what} {value!r} here{there}"


def _nearest(value: str, known: Sequence[str]) -> Sequence[str]:
    """The ``known`` names equal to ``value`` but for case or owner, else like it, else all."""
    folded = value.casefold()
    same = [name for name in known if name.casefold() == folded]
    same = same or [n for n in known if n.casefold().split("/")[-1] == folded.split("/")[-1]]
    close = difflib.get_close_matches(folded, sorted({name.casefold() for name in known}), 3)
    return same or [name for name in known if name.casefold() in close] or known
