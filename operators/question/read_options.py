"""Reads the options of a question (:mod:`operators.options`) as people and agents write them.

- Blank means not given: white space, a list of blank texts, None. So does an empty list, but a
  caller in Python may mean "none of them" by it.
- For a list of texts, a text is a list of one, and a JSON list in a text is that list. Blank texts
  in a list are dropped. Commas separate the names of corpora and of repositories.
- For one text, a list of one text is that text. A path may begin with ``./``, which is dropped.
- A number in a text is that number, and a text is parsed as a time for a time option.
- Anything else is an error, which names the option and the values it takes; so is a text that is
  longer than its option takes, or a name with too many parts: it becomes regular expressions, which
  grow with the square of its parts (one of 5,000 made 87 MB).
"""

import json
import re
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime
from typing import Any

from operators.errors import CrosscorpusError
from operators.foundation.date_span import span_of
from operators.options import DATES, OPTIONS, Kind
from operators.versions.asking import VERSION

MOST_PARTS = 32
"""The most parts of a qualified name."""

SHOWN = 80
"""Characters of a value that a message repeats."""


def read_asked(
    given: Mapping[str, Any], *, empty_is_none: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """The options in ``given``, each in its own type.

    Args:
        given: options by name. Options of another name are unchanged; "last month" is relative to
            the input ``now``, if there is one.
        empty_is_none: an empty list of names means none of them; otherwise it is blank.

    Returns:
        The options without the blank ones, and a sentence for each that was dropped or changed,
        sorted by name. A value of None is dropped without a sentence.

    Raises:
        CrosscorpusError: a value can't be read; names the option and the values it takes.
    """
    options, changes = dict[str, Any](), list[str]()
    now = given.get("now")
    for name, value in given.items():
        if value is None:
            continue
        kind = OPTIONS[name].kind if name in OPTIONS else None
        if empty_is_none and kind == "names" and _is_list(value) and not value:
            options[name] = []
            continue
        read = _read(name, kind, value, now)
        if read is None:
            changes.append(f"{name} {_shown(value)} was left out: blank")
            continue
        check_texts(name, read)
        options[name] = read
        if _is_changed(kind, value, read):
            changes.append(f"{name} {_shown(value)} was read as {_shown(read)}")
    return options, sorted(changes)


def read_date(text: str, now: datetime, *, last: bool = False) -> datetime | str:
    """The first moment of the time in ``text``, or its last one; a version stays a text.

    ``now``: what "last month" is relative to.

    Raises:
        CrosscorpusError: it is neither a time nor a version.
    """
    if span := span_of(text, now):
        return span[last]
    if re.fullmatch(VERSION, text.strip(), re.IGNORECASE):
        return text.strip()
    raise CrosscorpusError(f"{text[:SHOWN]!r} is no date: write {DATES}")


def read_moment(text: str) -> datetime:
    """The time in ``text``: ISO 8601, a date or a date with time.

    Raises:
        CrosscorpusError: it is no time.
    """
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        hint = "write a day, 2026-11-23, or a moment, 2026-11-23T14:00+02:00"
        raise CrosscorpusError(f"{text[:SHOWN]!r} is no time: {hint}") from None


def check_texts(name: str, value: object) -> None:
    """Check the texts of the option ``name``: one, or those of a list.

    >>> check_texts("symbol", "a" * 501)
    Traceback (most recent call last):
    operators.errors.CrosscorpusError: symbol has 501 characters: give at most 500

    Raises:
        CrosscorpusError: a text, or the number of its parts, is over its limit.
    """
    if isinstance(value, list | tuple | set | frozenset):
        for one in value:
            check_texts(name, one)
    if not isinstance(value, str) or name not in OPTIONS:
        return
    if len(value) > (longest := OPTIONS[name].longest):
        raise CrosscorpusError(f"{name} has {len(value):,} characters: give at most {longest:,}")
    if name in ("symbol", "uses"):
        from operators.ranking.definitions import qualified_parts  # loads Polars

        if (parts := len(qualified_parts(value))) > MOST_PARTS:
            raise CrosscorpusError(f"{name} has {parts} parts: give at most {MOST_PARTS}")


def _read(name: str, kind: Kind | None, value: Any, now: Any) -> Any:
    """The value in the option's type; None: it is blank."""
    if kind is None or (name == "trigger" and isinstance(value, Mapping)):
        return value
    if kind == "names" or kind == "texts":
        return _texts(name, kind, value)
    if kind in ("moment", "date"):
        return _moment(name, value, now)
    if kind == "number":
        return _number(name, value)
    read: Any = _text(name, value, several=kind == "versions")
    return read.removeprefix("./") or None if read and name.startswith("path") else read


def _texts(name: str, kind: Kind, value: Any) -> list[Any] | None:
    takes = "a list of texts"
    if isinstance(value, str):
        items = _list_in(name, value)
        if items is None:
            items = value.split(",") if kind == "names" else [value]
            items = [one.strip() for one in items] if len(items) > 1 else items
    elif name == "explain_chunks" and _is_id(value):
        items = [value]
    elif _is_list(value):
        items = list(value)
    else:
        raise _unlike(name, takes, value)
    for one in items:
        if not (one is None or isinstance(one, str) or (name == "explain_chunks" and _is_id(one))):
            raise _unlike(name, takes, value)
    return [one for one in items if not _is_blank(one)] or None


def _text(name: str, value: Any, *, several: bool = False) -> str | list[str] | None:
    """One text as a text; several, where they are allowed, as a list."""
    filled = [one for one in (value if _is_list(value) else [value]) if not _is_blank(one)]
    if not all(isinstance(one, str) for one in filled) or (filled[1:] and not several):
        raise _unlike(name, "a text or a list of texts" if several else "a text", value)
    return filled[0] if len(filled) == 1 else filled or None


def _number(name: str, value: Any) -> int | None:
    if _is_blank(value):
        return None
    try:
        read = int(value) if isinstance(value, str) else value
    except ValueError:
        read = value
    if isinstance(read, float) and read.is_integer():
        read = int(read)
    if isinstance(read, bool) or not isinstance(read, int):
        raise _unlike(name, "a whole number", value)
    return read


def _moment(name: str, value: Any, now: Any) -> datetime | str | None:
    if _is_blank(value):
        return None
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        value = value.isoformat()
    if not isinstance(value, str):
        raise _unlike(name, "a moment", value)
    try:
        is_date = OPTIONS[name].kind == "date"
        if not is_date:
            return read_moment(value)
        today = now if isinstance(now, datetime) else datetime.now(UTC)
        today = today if today.tzinfo else today.replace(tzinfo=UTC)
        return read_date(value, today, last=name == "until")
    except CrosscorpusError as error:
        raise CrosscorpusError(f"{name} {error}") from None


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _is_list(value: Any) -> bool:
    other = (str, bytes, bytearray, Mapping)
    return isinstance(value, Collection) and not isinstance(value, other)


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _list_in(name: str, text: str) -> list[Any] | None:
    """The list of texts that ``text`` contains as JSON; None: it is something else."""
    if not text.lstrip().startswith("["):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    except RecursionError:  # thousands of brackets
        raise _unlike(name, "a list of texts", text) from None
    texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return value if texts else None


def _is_changed(kind: Kind | None, value: Any, read: Any) -> bool:
    if isinstance(read, datetime):
        return isinstance(value, str) and any(word.isalpha() for word in value.split())
    if _is_list(value) and (isinstance(read, list) or kind == "versions"):
        return list(value) not in (read, [read])
    return type(value) is not type(read) or bool(value != read)


def _unlike(name: str, takes: str, value: Any) -> CrosscorpusError:
    return CrosscorpusError(f"{name} takes {takes}, not {_shown(value)}")


def _shown(value: Any) -> str:
    """``value`` as JSON on one line; its type if it has no JSON form; a moment is readable."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M} UTC"
    if _is_list(value):
        value = list(value)
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
