"""Checks a caller's query and brings it into one form."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import polars as pl

from operators.errors import CrosscorpusError, check_known
from operators.foundation.sanitize import clean_text
from operators.frames import QUERIES
from operators.options import FILTERS, Kind
from operators.question.read_options import check_texts
from operators.ranking.weighting import read_trigger

LONGEST_TEXT = 20_000
LONGEST_VERSION = 100

_COLUMNS = frozenset(one.column for one in FILTERS)


class EmptyQuery(CrosscorpusError, ValueError):
    """A query without a word."""


def ask(
    query: str | Sequence[str],
    *,
    trigger: str | Mapping[str, float] | None = None,
    known_triggers: Sequence[str] = (),
    longest: int = LONGEST_TEXT,
    **filters: Any,
) -> pl.DataFrame:
    """One query as a frame of one row, ``QUERIES``, with query_id 0.

    Args:
        query: the query, or several phrasings of it. A text is cut to ``longest`` characters;
            empty texts and repeats are dropped. Here and in every filter, NUL and lone surrogates
            become U+FFFD, as in the stored texts.
        trigger: a name or a mix of shares; None: no trigger.
        known_triggers: the triggers that exist.
        longest: the most characters of a text.
        filters: by the columns of ``QUERIES``; None: no filter. ``repos`` and ``corpora`` may be
            one text; an empty list is none of them. Of ``pattern``, a regular expression of
            Postgres, ``^`` and ``$`` are the ends of a line. ``symbol`` is such as
            ``Lock.release``; of ``uses`` the last part counts, and of a single lower-case word only
            calls, attributes and decorators. A naive ``as_of`` is UTC. ``versions`` are versions,
            or a policy (``newest``, ``all``); None: those that the query names, else the configured
            policy.

    Raises:
        EmptyQuery: no text has a character other than white space.
        UnknownName: an unknown trigger.
        CrosscorpusError: an empty version, an ``as_of`` outside the range of UTC, a filter that is
            too long (:mod:`operators.options`), or one that does not exist.
    """
    phrasings = [query] if isinstance(query, str) else query
    if not (isinstance(phrasings, Sequence) and all(isinstance(text, str) for text in phrasings)):
        raise CrosscorpusError(f"a query is a text or a list of texts, got {type(query).__name__}")
    texts = asked_texts(phrasings, longest)
    if not texts:
        raise EmptyQuery("the query is empty: ask something")
    for name, value in filters.items():
        check_known("filter", name, _COLUMNS)
        check_texts(name, value)
    cleaned = {of.column: _cleaned(of.name, of.kind, filters.get(of.column)) for of in FILTERS}
    check_order(cleaned["since"], cleaned["until"])
    mix = read_trigger(trigger, known_triggers)
    policy, named = read_versions(filters.get("versions"))
    row = {
        "query_id": 0,
        "texts": texts,
        "cut": shortened(phrasings, longest),
        "trigger": [{"trigger": name, "share": share} for name, share in mix],
        **cleaned,
        "version_policy": policy,
        "versions": named,
    }
    return pl.DataFrame([row], schema=QUERIES)


def _cleaned(name: str, kind: Kind, value: Any) -> Any:
    if value is None or kind == "versions":
        return None
    if kind in ("moment", "date"):
        return in_utc(value, name)
    if kind == "names":
        return [clean_text(one) for one in ([value] if isinstance(value, str) else value)]
    return clean_text(value)


def asked_texts(given: Sequence[str], longest: int) -> list[str]:
    """The texts of one query in the form that is searched, see :func:`ask`.

    >>> asked_texts(["a question", " ", "a question", "more"], 8)
    ['a questi', 'more']
    """
    cleaned = dict.fromkeys(clean_text(text)[:longest] for text in given)
    return [text for text in cleaned if text.strip()]


def in_utc(moment: datetime, name: str = "as_of") -> datetime:
    """``moment`` in UTC, the value of the option ``name``; without a zone, it is UTC.

    Raises:
        CrosscorpusError: in UTC it is outside the years 1 to 9999.
    """
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise CrosscorpusError(
            f"{name} is outside the years 1 to 9999 in UTC: {moment.isoformat()}"
        ) from None


def check_order(since: datetime | None, until: datetime | None) -> None:
    """Raise CrosscorpusError if no moment is between ``since`` and ``until``."""
    if since and until and since > until:
        limits = f"since {since:%Y-%m-%d %H:%M} is after until {until:%Y-%m-%d %H:%M}"
        raise CrosscorpusError(f"{limits} (UTC): nothing is between them; exchange the two")


def read_versions(versions: str | Sequence[str] | None) -> tuple[str | None, list[str] | None]:
    """The policy and the list of versions in a caller's ``versions``.

    >>> read_versions("all"), read_versions(["3.5.3"]), read_versions(None)
    (('all', None), ('pinned', ['3.5.3']), (None, None))

    Raises:
        CrosscorpusError: an empty version.
    """
    named = [versions] if isinstance(versions, str) else list(versions or ())
    if named in (["newest"], ["all"]):
        return named[0], None
    named = [clean_text(version).strip()[:LONGEST_VERSION] for version in named]
    if not all(named):
        raise CrosscorpusError("an empty version: name one such as 3.5.3, or leave it out")
    return ("pinned", list(dict.fromkeys(named))) if named else (None, None)


def shortened(given: Sequence[str], longest: int) -> str | None:
    """A sentence about the text that :func:`asked_texts` cuts off; None if it cuts nothing.

    >>> shortened(["a question"], 5)
    'the question was cut to its first 5 of 10 characters'
    """
    long = [len(text) for text in given if len(text) > longest]
    if not long:
        return None
    of = f"its first {longest:,} of {max(long):,} characters"
    if len(given) == 1:
        return f"the question was cut to {of}"
    return f"{len(long)} of the {len(given)} texts were cut, the longest to {of}"


def query_texts(queries: pl.DataFrame) -> pl.DataFrame:
    """One row per query text: query_id, text_no (its position in the query), text."""
    rows = [
        (query_id, number, text)
        for query_id, texts in queries["query_id", "texts"].iter_rows()
        for number, text in enumerate(texts)
    ]
    schema = {"query_id": pl.UInt32, "text_no": pl.UInt32, "text": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")
