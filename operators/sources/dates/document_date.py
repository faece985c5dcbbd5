"""The date of a document: its value, its source and its trust.

The sources often disagree: a printed PDF has the date of printing, a clone gives every file today's
date, an author mistypes a year. So they are ranked, and the first is used: a date explicit in the
file, then the commit's, the PDF's information dictionary, the file name, the file system. A date
that is damaged, a placeholder or in the future is skipped for the next source. Today's date is
never used as a default.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from os.path import splitext
from typing import Any, NamedTuple

import polars as pl

from operators.foundation.date_text import (
    FUTURE_ALLOWED,
    DateRefused,
    not_in_future,
    parse_date,
    plausible,
)
from operators.foundation.filename_dates import filename_date
from operators.foundation.front_matter import Value, block_fields, find_front_matter
from operators.sources.dates.html_dates import html_dates
from operators.sources.dates.pdf_dates import parse_pdf_date, read_pdf_info
from operators.sources.encodings import decode_file
from operators.sources.files import Skipped
from operators.sources.formats.asciidoc import ASCIIDOC, asciidoc_header, header_lines

TRUST = {
    "explicit": 1.0,
    "git": 0.8,
    "release": 0.7,
    "pdf": 0.6,
    "name": 0.4,
    "mtime": 0.1,
    "unknown": 0.0,
}
"""Sources, the most trusted first; a lower one never beats a higher one."""

HEAD_BYTES = 128 * 1024
"""The number of bytes of a file that are read for a date."""

# `date` comes first; then what names a change, then a beginning.
_KEYS = (
    "date", "revdate", "date.updated", "lastmod", "updated", "last_updated", "last_update",
    "last_modified", "last_modified_at", "lastupdated", "lastmodified", "modified",
    "modified_at", "updated_at", "date_modified", "revision_date", "git_revision_date",
    "ms.date", "docdate", "date.created", "published", "published_at", "publish_date",
    "publishdate", "pubdate", "date_published", "created", "created_at", "date_created",
)  # fmt: skip
# learn.microsoft.com prescribes mm/dd/yyyy for this key.
_US_KEYS = frozenset({"ms.date"})

HTML = frozenset({".html", ".htm", ".xhtml"})
_RST = frozenset({".rst", ".rest"})
_METADATA_LINE = re.compile(r"([A-Za-z][A-Za-z0-9_. -]{0,40}?)[ \t]*:[ \t]+(\S.*)")
_RST_FIELD = re.compile(r":([A-Za-z][A-Za-z0-9_. -]{0,40}):[ \t]+(\S.*)")

_Dated = tuple[str, datetime]
"""A source (a key of ``TRUST``) and its date."""


class DocumentDate(NamedTuple):
    """A document's date in UTC; its value is None if no source gives a usable one.

    ``source`` is a key of :data:`TRUST`, ``trust`` its number from 0 to 1.
    """

    value: datetime | None
    source: str
    trust: float


def document_date(
    path: str | os.PathLike[str],
    *,
    within: str | None = None,
    text: str | None = None,
    git_date: datetime | None = None,
    pdf_info: tuple[str | None, str | None] | None = None,
    release: str | None = None,
    now: datetime | None = None,
) -> DocumentDate:
    """The date of the document at ``path``, with its source and its trust.

    explicit in the file > git commit > release > PDF information > file name > the file's own time.

    Args:
        path: names the document; the file need not exist if ``text`` or ``pdf_info`` is given.
        within: its path within its source: only its folders may have a date. None: ``path``.
        text: its text, or the start of it; else the file's first 128 KiB are read.
        git_date: when the last commit touched it; without a zone it is UTC.
        pdf_info: a PDF's (CreationDate, ModDate) as stored; else they are read from the file.
        release: the day that a page gives its own release, as written.
        now: the present; a date more than one day after it is not trusted.
    """
    file = os.fspath(path)  # a Path of each file would fill the table of interned strings
    candidates = [*_inside(file, text, pdf_info)]
    if git_date is not None:
        candidates += _dated("git", git_date, plausible)
    if release:
        candidates += _dated("release", release)
    if name := filename_date(file if within is None else within):
        candidates += _dated("name", name)
    candidates += _file_time(file)
    return _choose(candidates, now or datetime.now(UTC))


def without_future_dates(documents: pl.DataFrame, now: datetime | None = None) -> pl.DataFrame:
    """``documents`` (DOCUMENTS or CHUNKS) without the dates that lie more than a day after ``now``.

    ``doc_date`` and ``date_source`` become null there: such a document is of unknown age, and never
    the newest of its kind.
    """
    credible = pl.col("doc_date") <= (now or datetime.now(UTC)) + FUTURE_ALLOWED
    dated = pl.col("doc_date", "date_source")
    return documents.with_columns(pl.when(credible).then(dated).name.keep())


def _choose(candidates: Iterable[_Dated], now: datetime) -> DocumentDate:
    order = list(TRUST)
    now = now.replace(tzinfo=now.tzinfo or UTC)
    for source, moment in sorted(candidates, key=lambda one: order.index(one[0])):
        with suppress(DateRefused):
            return DocumentDate(not_in_future(moment, now), source, TRUST[source])
    return DocumentDate(None, "unknown", TRUST["unknown"])


def _dated(source: str, raw: Any, read: Callable[[Any], datetime] = parse_date) -> Iterator[_Dated]:
    """The source and the date in ``raw``; nothing if it is refused."""
    with suppress(DateRefused):
        yield source, read(raw)


def _inside(
    file: str, text: str | None, info: tuple[str | None, str | None] | None
) -> Iterator[_Dated]:
    """The dates in the file's own content, the most trusted first."""
    if info is not None or (text is None and splitext(file)[1].lower() == ".pdf"):
        created, modified = info or read_pdf_info(file)
        for raw in filter(None, (modified, created)):
            yield from _dated("pdf", raw, parse_pdf_date)
    else:
        yield from _explicit(_head(file) if text is None else text, splitext(file)[1].lower())


def _explicit(text: str, suffix: str) -> Iterator[_Dated]:
    """The dates in a text's own content, the most trusted first.

    ``suffix`` (``.adoc``, lower case) tells what else it may have: a header, a page's ``meta``.
    """
    block = find_front_matter(text)
    if block is not None:
        yield from _by_key(_flat(block_fields(block)))
        text = text[block.end :]
    if suffix in ASCIIDOC:
        header = asciidoc_header(text)
        dated = {k: v for k, v in header.attributes.items() if k in _KEYS}
        for raw in ({"revdate": dated.pop("revdate", header.date or "")} | dated).values():
            yield from _dated("explicit", raw)
    elif suffix in HTML:
        yield from _by_key(html_dates(text))
    elif block is None:
        yield from _by_key(_metadata_lines(text, suffix))


def _by_key(fields: dict[str, str]) -> Iterator[_Dated]:
    for key in filter(fields.get, _KEYS):
        yield from _dated("explicit", fields[key], partial(parse_date, us_order=key in _US_KEYS))


def _flat(fields: Mapping[str, Value]) -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in fields.items():
        name = key.strip().lower().replace("-", "_").replace(" ", "_")
        if isinstance(value, str):
            flat.setdefault(name, value)
        elif isinstance(value, dict):
            for inner, scalar in value.items():
                if isinstance(scalar, str):
                    flat.setdefault(f"{name}.{inner.strip().lower()}", scalar)
    return flat


def _metadata_lines(text: str, suffix: str) -> dict[str, str]:
    """``Date: ...`` lines without fences: at a text's very start, or reStructuredText's fields."""
    lines = header_lines(text)
    matches = [*map(_RST_FIELD.fullmatch, lines)] if suffix in _RST else []
    matches = matches if any(matches) else [*takewhile(bool, map(_METADATA_LINE.fullmatch, lines))]
    fields: dict[str, Value] = {}
    for match in filter(None, matches):
        fields.setdefault(match[1], match[2].strip())
    return _flat(fields)


def _file_time(file: str) -> Iterator[_Dated]:
    try:
        moment = datetime.fromtimestamp(os.path.getmtime(file), UTC)
    except (OSError, ValueError, OverflowError):
        return
    if os.path.isfile(file):
        yield from _dated("mtime", moment, plausible)


def _head(file: str) -> str:
    """The start of a file's text; empty if it cannot be read."""
    with suppress(OSError, Skipped):
        if os.path.isfile(file):
            with open(file, "rb") as stream:
                raw = stream.read(HEAD_BYTES)
            if len(raw) == HEAD_BYTES and b"\0" not in raw:  # a character may be cut
                raw = raw[: raw.rfind(b"\n") + 1 or None]
            return decode_file(raw, file).text
    return ""
