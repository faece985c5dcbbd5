"""The versions of a topic to search for a query, and the notes about them.

An explicit input beats the version in the query's text, and that beats the default:

- ``newest``: the newest version of each topic, and passages that only an older one has
- ``pinned``: one of the named versions, if the topic has it; else as ``newest``
- ``as_of``: the newest version at a given time
- ``all``: every version; also for a query about when something was added or removed
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import polars as pl

from operators.arrays.rows import replaced
from operators.frames import NOTES, SCOPED_QUERIES, VERSION_SCOPE, empty
from operators.versions.asked_versions import KnownVersions, shown
from operators.versions.mentions import Mention
from operators.versions.named_date import Limits

_VIEW = ("corpora", "repos")
_TIMES = ("since", "until", "as_of")

MOST_MENTIONS = 8
"""The most versions that one query may name; a text with more is a table, and asks for none."""

MOST_NOTES = 8
"""The most notes of one query: the context is for the passages."""

UNKNOWN = "which versions there are could not be looked up"

ELSEWHERE = "topics that have no such version answer with their newest"

NO_DATE = (
    '"{}" in the question hides nothing: ask as of that moment (as_of, --as-of {:%Y-%m-%d})'
    " for what was there then"
)

TIMES = (
    'read "{}" as {}; since and until (--since, --until) choose other dates, and words in quotation'
    " marks are searched for"
)

NO_RELEASE = '"{}" in the question hides nothing: the date of that release is not known here'

ORIGINS = "answered from all versions, because the question asks in which one something changed"


def may_ask(queries: pl.DataFrame, intent: pl.DataFrame, *, understand: bool) -> bool:
    """Whether one of ``queries`` (``QUERIES``) may name a version: then the known ones are read.

    ``understand``: whether a version in a text counts (``intent``: ``INTENT``).
    """
    named = intent["versions", "origins"].rows() if understand else []
    released = understand and intent["limits"].struct.field("version").count() > 0
    return released or any(queries["versions"].to_list()) or any(map(any, named))


def version_scope(
    queries: pl.DataFrame,
    intent: pl.DataFrame,
    known: pl.DataFrame | None,
    *,
    default: str,
    understand: bool,
    corpora: Mapping[str, Mapping[str, Any]] | None = None,
) -> pl.DataFrame:
    """``VERSION_SCOPE``: the policy of each of ``queries``, in order.

    Args:
        queries: columns ``QUERIES``.
        intent: columns ``INTENT``, of the same queries in the same order.
        known: columns ``KNOWN_VERSIONS``; empty: no version is ever pinned. None: the lookup
            failed; then a caller's version is taken literally.
        default: the policy of a query that names none.
        understand: whether a version or date in the text counts.
        corpora: the corpora to search, each with the filters of what is visible there;
            None: all.
    """
    every = None if known is None else KnownVersions(known)
    seen: dict[Any, KnownVersions] = {}  # most queries of a batch may see the same

    def versions(row: Mapping[str, Any]) -> KnownVersions | None:
        if not every:
            return every
        view = tuple(None if row[name] is None else tuple(row[name]) for name in _VIEW)
        if view not in seen:
            seen[view] = every.within(corpora, *(row[name] for name in _VIEW))
        return seen[view]

    columns = queries[["query_id", "texts", *_TIMES, "version_policy", "versions", *_VIEW]]
    meant = map(_meant, intent["versions"], intent["origins"], intent["limits"])
    rows = [
        _decide(row, said if understand else ([], [], None), versions(row), default)
        for row, said in zip(columns.iter_rows(named=True), meant, strict=True)
    ]
    return pl.DataFrame(rows, schema=VERSION_SCOPE, orient="row")


def scoped(queries: pl.DataFrame, scope: pl.DataFrame) -> pl.DataFrame:
    """``SCOPED_QUERIES``: ``queries`` with the versions of ``scope`` (of the same rows).

    Raises:
        ValueError: the frames are not of the same queries in the same order.
    """
    if queries["query_id"].to_list() != scope["query_id"].to_list():
        raise ValueError("version_scope is not of these queries, in their order")
    columns = [scope[name] for name in ("version_policy", "pinned", "versions_as_of")]
    columns += [queries[name].fill_null(scope[name]) for name in ("since", "until")]
    return replaced(queries, *columns)[list(SCOPED_QUERIES)]


def notes(scope: pl.DataFrame) -> pl.DataFrame:
    """``NOTES``: the versions that were understood, and those that do not exist."""
    rows = []
    for query_id, texts in scope["query_id", "notes"].iter_rows():
        rows += [(query_id, note) for note in (texts or ())[:MOST_NOTES]]
        if texts and len(texts) > MOST_NOTES:
            rows.append((query_id, f"and {len(texts) - MOST_NOTES} more notes on versions"))
    return pl.DataFrame(rows, schema=NOTES, orient="row") if rows else empty(NOTES)


def degraded(scope: pl.DataFrame) -> list[str]:
    """The notes on a lookup that failed, each sentence once."""
    texts = notes(scope)["note"].to_list()
    return list(dict.fromkeys(note for note in texts if note.startswith(UNKNOWN)))


_Meant = tuple[list[Mention], list[list[str]], Limits | None]


def _meant(versions: pl.Series, origins: pl.Series, limits: Mapping[str, Any] | None) -> _Meant:
    """The versions that a query names, for each origin that it asks for the words, its times."""
    named = [Mention(**one) for one in versions]
    times = Limits(**limits) if limits else None
    return named if len(named) <= MOST_MENTIONS else [], origins.to_list(), times


def _times(
    limits: Limits | None, known: KnownVersions | None
) -> tuple[datetime | None, datetime | None, list[str]]:
    """The first and the last moment that ``limits`` mean, and a note."""
    since, until = (limits.since, limits.until) if limits else (None, None)
    if limits and limits.version:
        dates = known.released(limits.version) if known else None
        since = dates and dates[0]
        if not since:
            return None, None, [NO_RELEASE.format(shown(limits.written))]
    ends = [f"{word} {one:%Y-%m-%d}" for word, one in (("from", since), ("to", until)) if one]
    return since, until, [TIMES.format(limits.written, " ".join(ends))] if limits else []


def _decide(
    row: Mapping[str, Any],
    said: _Meant,
    known: KnownVersions | None,
    default: str,
) -> tuple[Any, ...]:
    policy, as_of, versions = row["version_policy"], row["as_of"], row["versions"] or []
    texts = tuple(row["texts"] or ())
    named, origins = ([], []) if policy or versions else said[:2]
    given = any(row[name] for name in _TIMES)
    since, last, time_notes = _times(None if given else said[2], known)
    pinned: list[list[str]] = []
    remarks: list[str] = []
    until: datetime | None = None
    basis = "input" if policy or versions or as_of else "config"
    if known is None and versions:
        pinned = [[version] for version in versions]
        remarks = [f"{UNKNOWN}: {', '.join(map(shown, versions))} is taken literally"]
    elif known is None:
        remarks = [f"{UNKNOWN}: the newest answer"] if named or origins else []
    elif versions:
        matches = [known.requested(version, " ".join(texts)) for version in versions]
        pinned, remarks = [of for of, _ in matches if of], [note for _, note in matches]
    elif known:
        pinned, until, remarks = known.understood(named, texts)
        until = until if as_of is None else None
        basis = "question" if pinned or until else basis
        if not pinned and not until and any(map(known.has_origins, origins)):
            policy, basis = "all", "question"
            remarks.append(ORIGINS)
    if basis != "input" and until is None and not (since or last):
        remarks += [NO_DATE.format(shown(m.written), m.until) for m in named if m.until is not None]
    if pinned:
        chosen = "pinned"
        remarks += [ELSEWHERE] if known is not None and not known.has_everywhere(pinned) else []
    elif policy in ("newest", "all"):
        chosen = policy
    elif as_of or until:
        chosen = "all" if default == "all" and not until else "as_of"
    else:
        chosen = default if default in ("newest", "all") else "newest"
    remarks = [*time_notes, *dict.fromkeys(remarks)]
    return row["query_id"], chosen, pinned, until, since, last, basis, remarks
