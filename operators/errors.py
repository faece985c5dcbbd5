"""Errors for a person: one line that says what is wrong and what to do."""

import difflib
import logging
from collections.abc import Collection, Iterable, Sequence
from time import monotonic
from traceback import extract_tb

LOG = logging.getLogger("crosscorpus.errors")
QUIET_S = 10.0
_LOGGED: dict[str, float] = {}
"""The last text in the log, and when."""


class CrosscorpusError(Exception):
    """Base of every error that this package raises on purpose; its text is one readable line."""

    plain = ""  # the text for a caller who may not know the server's address; empty: the whole


class UnknownName(CrosscorpusError, LookupError):
    """An unknown name, with the nearest known one."""


class SearchError(CrosscorpusError):
    """Every search of a question failed, so that there is no answer, not even an empty one."""


def plain_text(error: Exception) -> str:
    """The text of ``error`` for the caller of a service; the log has a text with an address.

    It has one text once in ``QUIET_S`` seconds: a question searches many corpora of a server.
    """
    if isinstance(error, CrosscorpusError) and error.plain:
        text, now = str(error), monotonic()
        if now - _LOGGED.get(text, -QUIET_S) >= QUIET_S:
            _LOGGED.clear()
            _LOGGED[text] = now
            LOG.warning("%s", text)
        return error.plain
    return str(error).strip() or type(error).__name__


def suggest(name: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """The end of an error message: the nearest known name, else ``otherwise`` or all known names.

    >>> suggest("wki", ["wiki", "code"])
    ", did you mean 'wiki'?"
    >>> suggest("ndgc@10", ["nDCG@10", "RR@10"])
    ", did you mean 'nDCG@10'?"
    >>> suggest("zebra", ["wiki", "code"])
    '; known: code, wiki'
    >>> suggest("zebra", ["wiki", "code"], "; give one of 200 corpora")
    '; give one of 200 corpora'
    """
    names = sorted(set(known))
    folded = {one.casefold(): one for one in names}
    if near := difflib.get_close_matches(name.casefold(), folded, 1):
        return f", did you mean {folded[near[0]]!r}?"
    if otherwise is not None:
        return otherwise
    return f"; known: {', '.join(names)}" if names else ""


def raised(error: Exception, file: str, columns: Iterable[str]) -> str:
    """What ``error`` is, and the last line of ``file`` that it came from, as one line.

    Of a column that there is not, with the nearest of ``columns``, or all.
    """
    what = str(error).partition("\n")[0]
    if type(error).__name__ == "ColumnNotFoundError":  # of Polars, which this module does not load
        what = what.partition("; valid columns")[0].removesuffix(" not found")
        what += suggest(what.strip('"').rpartition('"')[2], columns)
    own = [f" line {one.lineno}" for one in extract_tb(error.__traceback__) if one.filename == file]
    return f"{type(error).__name__}: {what} ({file}{own[-1] if own else ''})"


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things: ``one`` is their name, ``many`` its plural unless that is with an s.

    >>> counted(1, "chunk"), counted(0, "chunk"), counted(2_000, "query", "queries")
    ('1 chunk', '0 chunks', '2,000 queries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def first_of(names: Sequence[str], most: int) -> str:
    """The first ``most`` of ``names``, and how many more there are.

    >>> first_of(["a", "b", "c"], 3), first_of(["a", "b", "c"], 1)
    ('a, b, c', 'a and 2 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def check_known(what: str, name: str, known: Collection[str]) -> None:
    """Raise :class:`UnknownName` with the nearest name unless ``name`` is ``known``."""
    if name not in known:
        raise UnknownName(f"unknown {what} {name!r}{suggest(str(name), known)}")
