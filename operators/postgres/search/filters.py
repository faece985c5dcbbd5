"""The query builder: the WHERE clause for the chunks that a query may see.

Every search and every read of chunks builds its WHERE clause here, or for versions in
:mod:`operators.postgres.search.version_filters`, and nowhere else: so none bypasses a caller's repo
list. Values are passed as parameters; the text of a clause is fixed.

Meaning of a query's filter columns:

- ``corpora``: a query that does not list the corpus gets nothing from it; null lists all
- ``repos``: null is every repo, an empty list is none
- ``path_prefix``: the path begins exactly with it; a chunk without a path does not match
- ``language``, ``state``: equal
- ``pattern``: a line of the chunk's text matches this regular expression somewhere
- ``symbol``: a definition of this name begins in the chunk; the first parts of a qualified name may
  be its file, folder or repository
- ``uses``: the chunk uses this name, or the last part of a qualified one, by its syntax tree. Where
  none is known, or the name is an operator or has a ``$``, its text has the name; of a single
  lower-case word only calls, attributes and decorators count, and of a chunk that defines the name
  a second place in it
- ``author``: the metadata names an author, or one of several, with this in the name
- ``since``: created then or later; a chunk of unknown creation time does not match
- ``until``: created then or earlier, likewise
- ``as_of``: created strictly before. A chunk of unknown creation time passes, as it may be old
- ``versions_as_of``: likewise, but only for documents that have versions
- ``version_policy``: which versions of a topic pass. ``newest`` (the default): all chunks except
  those that a newer version replaces; with an ``as_of``, the newest of that time. ``pinned``: if a
  topic has one of the pinned versions, only those, else as ``newest``; likewise for the releases of
  a changelog. ``all``: every version. Corpora whose topics have no versions ignore it.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from operators.foundation import tokenizer
from operators.foundation.sanitize import clean_text
from operators.postgres.schema.caller_views import SETTING
from operators.ranking.definitions import (
    KNOWN_USES,
    is_listable,
    listed,
    listed_under,
    names_used,
    qualified_parts,
    use_of,
    used_twice,
)
from operators.ranking.linked_files import File

INDEXED_PATH = 200
"""The index on paths holds this many characters of a path."""


@dataclass(frozen=True)
class Filter:
    """What a query may see of a corpus."""

    repos: tuple[str, ...] | None = None
    texts: tuple[tuple[str, str], ...] = ()  # of each filter with a clause in ``CLAUSES``
    superseded: int | None = None  # chunks that newer versions replace; None: there are none
    pinned: tuple[tuple[str, ...], ...] = ()  # the pinned versions, each with its possible names
    as_of: datetime | None = None
    only_versions: bool = False  # as_of chooses between versions; documents without any stay


def is_visible(
    alias: str, visible: Mapping[str, Mapping[str, Any]], parameters: dict[str, Any]
) -> str:
    """The clause that excludes rows of ``alias`` (chunks or documents) that ``visible`` hides.

    ``visible``: each corpus's filters, as :func:`operators.ranking.query_filters.visible_parts`
    gives them; an unlisted corpus has none. The values are added to ``parameters``.
    """
    parameters["filtered"] = list(visible)
    clauses = [f"{alias}.corpus <> ALL(%(filtered)s::text[])"]
    for index, (corpus, filters) in enumerate(visible.items()):
        own = f"_visible_{index}"
        parameters[f"corpus{own}"] = corpus
        seen = condition(_filter(filters), alias, parameters, suffix=own)
        clauses.append(f"{alias}.corpus = %(corpus{own})s AND {seen}")
    return f"({' OR '.join(clauses)})"


def scopes(queries: pl.DataFrame, corpus: str, superseded: int | None) -> list[tuple[int, Filter]]:
    """The query_id and the filter of each of ``queries`` that may search ``corpus``.

    A query that does not list the corpus, or whose repo list is empty, is left out.

    Args:
        queries: columns ``SCOPED_QUERIES``, or ``QUERIES``, whose versions then are exact names.
        superseded: chunks of the corpus; None: its topics have no versions.
    """
    pairs = [
        (row["query_id"], _filter(row, None if row["version_policy"] == "all" else superseded))
        for row in queries.iter_rows(named=True)
        if row["corpora"] is None or corpus in row["corpora"]
    ]
    return [(query_id, scope) for query_id, scope in pairs if scope.repos != ()]


def condition(scope: Filter, alias: str, parameters: dict[str, Any], *, suffix: str = "") -> str:
    """The clause for the rows of ``alias`` that pass ``scope``.

    Its values are added to ``parameters``, under names that end in ``suffix``, except for the
    corpus: the caller adds ``corpus`` with this suffix. The text of a clause is fixed, and only the
    names of its values are put into it.
    """
    clauses: list[str] = []
    if scope.repos is not None:
        parameters[f"repos{suffix}"] = list(scope.repos)
        clauses.append(f"{alias}.repo = ANY(%(repos{suffix})s::text[])")
    for name, text in scope.texts:
        clause, values = CLAUSES[name](text)
        parameters |= {f"{name}_{one}{suffix}": value for one, value in values.items()}
        placeholders = {one: f"%({name}_{one}{suffix})s" for one in values}
        placeholders |= {"row": alias, "corpus": f"%(corpus{suffix})s"}
        clauses.append(clause.format_map(placeholders))
    return " AND ".join(clauses) or "true"


Clause = tuple[str, dict[str, object]]
"""The text of a clause, and its values by the names that the text has in braces; ``{row}`` is the
chunk or document, ``{corpus}`` its corpus."""


def _path_prefix(text: str) -> Clause:
    # twice: the second condition has the form that the index on path beginnings supports
    clause = (
        "starts_with({row}.path, {whole}::text)"
        f' AND left({{row}}.path, {INDEXED_PATH}) COLLATE "C" ^@ {{short}}::text'
    )
    return clause, {"whole": text, "short": text[:INDEXED_PATH]}


def _pattern(text: str) -> Clause:
    matches = _on_visible("regexp_match(x.text, {text}::text, 'n') IS NOT NULL")
    matching = f"SELECT x.chunk_id FROM chunks x WHERE x.corpus = {{corpus}} AND {matches}"
    return f"{{row}}.chunk_id IN ({matching})", {"text": text}


def _symbol(text: str) -> Clause:
    test = "concat_ws('/', x.repo, x.path) || E'\\n' || x.metadata ~ {listed}::text"
    return _with_terms(test), {"terms": _terms(text), "listed": listed_under(text)}


def _uses(text: str) -> Clause:
    test = (
        "x.text ~ {use}::text AND ((x.metadata ~ {defined}::text) IS NOT TRUE"
        " OR x.text ~ {twice}::text)"
    )
    values: dict[str, object] = {"terms": _terms(text), "use": use_of(text)}
    values |= {"defined": listed(qualified_parts(text)[-1]), "twice": used_twice(text)}
    if is_listable(text):
        test = (
            "CASE WHEN x.metadata ~ {known}::text"
            f" THEN x.metadata ~ {{listed}}::text ELSE {test} END"
        )
        values |= {"known": KNOWN_USES, "listed": names_used(text)}
    return _with_terms(test), values


def _author(text: str) -> Clause:
    name = re.escape(json.dumps(text, ensure_ascii=False)[1:-1])
    test = _on_visible("x.metadata ~* {named}::text")
    matching = f"SELECT x.chunk_id FROM chunks x WHERE x.corpus = {{corpus}} AND {test}"
    letters = r'([^"\\]|\\.)*'
    named = rf'"authors?": ?(\[([^]"]|"{letters}")*)?"{letters}{name}'
    return f"{{row}}.chunk_id IN ({matching})", {"named": named}


CLAUSES: dict[str, Callable[[str], Clause]] = {
    "path_prefix": _path_prefix,
    "language": lambda text: ("{row}.language = {text}::text", {"text": text}),
    "state": lambda text: ("{row}.item_state = {text}::text", {"text": text}),
    "pattern": _pattern,
    "symbol": _symbol,
    "uses": _uses,
    "author": _author,
    "since": lambda text: ("{row}.created_at >= {text}::timestamptz", {"text": text}),
    "until": lambda text: ("{row}.created_at <= {text}::timestamptz", {"text": text}),
}
"""The clause of each filter that is a text, by its column of ``QUERIES``."""


def in_files(alias: str, files: Sequence[File], parameters: dict[str, Any]) -> str:
    """The clause for the rows of ``alias`` in ``files``, found through the index on paths."""
    parameters["files"] = [f"{repo}\n{path}" for repo, path in files]
    parameters["short_paths"] = [path[:INDEXED_PATH] for _, path in files]
    return (
        f'left({alias}.path, {INDEXED_PATH}) COLLATE "C" = ANY(%(short_paths)s::text[])'
        f" AND {alias}.repo || E'\\n' || {alias}.path = ANY(%(files)s::text[])"
    )


def _with_terms(test: str) -> str:
    """The rows whose chunk ``x`` passes ``test``, among those with all ``terms`` of a name.

    The terms are found through an index; a name occurs only where all its terms do.
    """
    return (
        "{row}.chunk_id IN (SELECT x.chunk_id FROM postings y JOIN chunks x"
        " ON x.corpus = y.corpus AND x.chunk_id = y.chunk_id"
        " WHERE y.corpus = {corpus} AND y.terms @> {terms}::int[]"
        f" AND {_on_visible(test)})"
    )


def _on_visible(test: str) -> str:
    """``test`` of a chunk ``x``, which is evaluated only if the caller may see the chunk.

    Without this the server may run it before it checks the rights: the time that a regular
    expression takes, or its error, then depends on hidden texts.
    """
    classes = f"nullif(current_setting('{SETTING}', true), '')"
    visible = f"{classes} IS NULL OR x.access = ANY({classes}::bigint[])"
    return f"CASE WHEN {visible} THEN {test} ELSE false END"


def _terms(symbol: str) -> list[int]:
    terms = tokenizer.tokens(" ".join(tokenizer.words(qualified_parts(symbol)[-1])))
    return sorted(set(map(tokenizer.term_id, terms)))


def _filter(row: Mapping[str, Any], superseded: int | None = None) -> Filter:
    """The filter of a query's columns, or of a configuration, which has no versions."""
    repos = row.get("repos")
    if repos is not None:
        repos = tuple(sorted({clean_text(repo) for repo in repos if repo is not None}))
    given = {name: clean_text(str(row.get(name) or "")) for name in CLAUSES}
    texts = tuple((name, text) for name, text in given.items() if text)
    as_of, later, pinned = row.get("as_of"), None, None
    if superseded is not None:
        later = row.get("versions_as_of")
        pinned = row["pinned"] if "pinned" in row else [[v] for v in row["versions"] or ()]
    versions = tuple(tuple(sorted(map(clean_text, of))) for of in pinned or ())
    moment = min(filter(None, (as_of, later)), default=None)
    only = as_of is None and later is not None
    return Filter(repos, texts, superseded, versions, moment, only)
