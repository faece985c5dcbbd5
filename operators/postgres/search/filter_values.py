"""The filter values of a query that no document has, with the nearest existing values."""

import difflib
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl
from psycopg.rows import TupleRow

from operators.errors import CrosscorpusError, UnknownName, first_of
from operators.foundation.sanitize import clean_text
from operators.frames import NOTES
from operators.postgres.errors import DatabaseError
from operators.postgres.search.filters import is_visible
from operators.postgres.store import Connection, Home, Store, by_store

NAMED = 8
"""Maximum number of values that a sentence lists."""


def unmet_filters(
    homes: Mapping[str, Home],
    queries: pl.DataFrame,
    results: pl.DataFrame,
    visible: Mapping[str, Mapping[str, Any]],
) -> pl.DataFrame:
    """``NOTES``: for each query without a result, its filter values that nothing visible has.

    ``queries`` has columns ``QUERIES``, or more, ``results`` query_id; ``homes`` are read only for
    such a query. ``visible``: the visible part of each corpus, as :func:`absent_values` takes it.
    """
    answered = set(results["query_id"])
    rows = []
    left_out = "and what has no known date is left out: choose other dates by since and until"
    for query in queries.filter(~pl.col("query_id").is_in(answered)).iter_rows(named=True):
        filters = {name: query[name] for name in ("repos", "path_prefix", "language", "state")}
        if any(filters.values()):
            corpora = query["corpora"]
            searched = {c: of for c, of in visible.items() if corpora is None or c in corpora}
            sentences = absent_everywhere(homes, searched, **filters)
            rows += [(query["query_id"], sentence) for sentence in sentences]
        ends = {"since": query["since"], "until": query["until"]}
        if limits := [f"{name} {one:%Y-%m-%d}" for name, one in ends.items() if one]:
            rows.append((query["query_id"], f"nothing was found {' '.join(limits)}, {left_out}"))
        asked = {"defines": "symbol", "uses": "uses", "names an author": "author"}
        for does, name in ((does, query[column]) for does, column in asked.items()):
            if name:
                rows.append((query["query_id"], f"found no passage that {does} {name!r}"))
    return pl.DataFrame(rows, schema=NOTES, orient="row")


def absent_everywhere(
    homes: Mapping[str, Home], visible: Mapping[str, Mapping[str, Any]], **filters: Any
) -> list[str]:
    """The sentences of :func:`absent_values` about values that none of the collections has."""
    absent = [
        absent_values(store, {corpus: visible[name] for corpus, name in of.items()}, **filters)
        for store, of in by_store({name: homes[name] for name in visible})
    ]
    lacks = [{sentence.partition(" here")[0] for sentence in one} for one in absent]
    first = absent[0] if absent else ()
    return [s for s in first if all(s.partition(" here")[0] in one for one in lacks)]


def as_known(
    homes: Mapping[str, Home],
    visible: Mapping[str, Mapping[str, Any]],
    inputs: Mapping[str, Any],
) -> tuple[dict[str, Any], list[str]]:
    """The repositories, language and state of ``inputs`` in the spelling of visible documents.

    A value that no document has is replaced by the one that differs only in case, or, if it is a
    repository without its owner, by the repository of that name; if several match, it stays.

    Args:
        homes, visible: as for :func:`unmet_filters`.
        inputs: ``repos``, ``language`` and ``state``, each if it is set; others are ignored.

    Returns:
        The given ones of these filters, and a sentence for each replaced value.

    Raises:
        UnknownName: no visible document is of the repository or in the language.
    """
    filters = {name: inputs[name] for name in ("repos", "language", "state") if inputs.get(name)}
    if not filters:
        return {}, []
    rows = list[TupleRow]()
    for store, of in by_store(homes):
        parts = {corpus: visible[name] for corpus, name in of.items()}
        rows += store.run(partial(_values, visible=parts))[0]
    sentences = list[str]()

    def spelled(what: str, value: str, known: set[str]) -> str:
        if value in known:
            return value
        folded = value.casefold()
        same = [name for name in known if name.casefold() == folded]
        same = same or [name for name in known if name.casefold().endswith(f"/{folded}")]
        if len(same) != 1:
            return value
        sentences.append(f"{what} {value!r} is taken for {same[0]!r}")
        return same[0]

    for index, name in enumerate(("repos", "language", "state")):
        known = {row[index] for row in rows if row[index]}
        if name == "repos" and name in filters:
            filters[name] = [spelled("repo", repo, known) for repo in filters[name]]
        elif name in filters:
            filters[name] = spelled(name, filters[name], known)
    repos, language = filters.get("repos") or (), filters.get("language")
    seen = {row[0] for row in rows}
    missing = [repo for repo in repos if clean_text(repo) not in seen][:1]  # the one that is said
    used = {row[1] for row in rows if not repos or row[0] in repos}
    if missing or (language and language not in used):
        named = {"repos": missing or repos, "language": language}
        if absent := absent_everywhere(homes, visible, **named):
            raise UnknownName(absent[0])
    return filters, sentences


def absent_values(
    store: Store,
    corpora: Mapping[str, Mapping[str, Any]],
    *,
    repos: Sequence[str] | None = None,
    path_prefix: str | None = None,
    language: str | None = None,
    state: str | None = None,
) -> list[str]:
    """A sentence for each filter value that no visible document has.

    Args:
        corpora: the searched corpora -> their visible parts, as
            :func:`operators.ranking.query_filters.visible_parts` gives them. The sentences never
            name hidden values.
        repos: a filter. The existing ones limit the lookup of the other values.
        path_prefix: a filter, as ``language`` and ``state``.

    Returns:
        An empty list if the corpora are empty: then no value is wrong.
    """

    def read(conn: Connection) -> list[str]:
        rows, seen, parameters = _values(conn, corpora)
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


def check_pattern(store: Store, pattern: str, called: str = "pattern") -> None:
    """Raise CrosscorpusError with the reason if ``pattern`` is no regular expression."""
    try:
        store.row("SELECT regexp_match('', %(pattern)s, 'n')", {"pattern": clean_text(pattern)})
    except DatabaseError as error:
        what, _, reason = str(error).partition("invalid regular expression")
        if not (what and reason):
            raise
        says = f"{called} {pattern!r}: invalid regular expression{reason}"
        raise CrosscorpusError(says) from None


def _values(
    conn: Connection, visible: Mapping[str, Mapping[str, Any]]
) -> tuple[list[TupleRow], str, dict[str, Any]]:
    """The repos, languages and states of the visible documents ``d``, and the clause for these."""
    parameters: dict[str, Any] = {"corpora": list(visible)}
    seen = "d.chunks > 0 AND d.corpus = ANY(%(corpora)s::text[]) AND "
    seen += is_visible("d", visible, parameters)
    rows = conn.execute(
        f"SELECT DISTINCT d.repo, d.language, d.item_state FROM documents d WHERE {seen}",
        parameters,
    )
    return rows.fetchall(), seen, parameters


def _paths(conn: Connection, prefix: str, seen: str, parameters: Mapping[str, Any]) -> set[str]:
    """``prefix`` if a path begins with it, else the start of a path that contains it, up to it."""
    row = conn.execute(
        f"""
        SELECT CASE start WHEN 0 THEN %(prefix)s ELSE left(path, start + length(%(short)s) - 1) END
        FROM (
            SELECT d.path, CASE WHEN starts_with(d.path, %(prefix)s) THEN 0
                ELSE position(lower(%(short)s) IN lower(d.path)) END AS start
            FROM documents d WHERE {seen} AND d.repo = ANY(%(within)s::text[])
              AND (starts_with(d.path, %(prefix)s)
                   OR position(lower(%(short)s) IN lower(d.path)) > 0)
        ) AS near ORDER BY start, path COLLATE "C" LIMIT 1
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
    shown = first_of([*map(repr, names)], NAMED)
    there = f"; there {'is' if len(names) == 1 else 'are'} {shown}" if names else ""
    return f"no document {what} {value!r} here{there}"


def _nearest(value: str, known: Sequence[str]) -> Sequence[str]:
    """The ``known`` names equal to ``value`` but for case or owner, or similar ones, or all."""
    cases = sorted({name.casefold() for name in known})
    folded = value.casefold()
    close = difflib.get_close_matches(folded, cases, 3)
    same = [name for name in known if name.casefold() == folded]
    same = same or [n for n in known if n.casefold().split("/")[-1] == folded.split("/")[-1]]
    return same or [name for name in known if name.casefold() in close] or known
