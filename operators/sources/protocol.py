"""The items of every reader: documents, and issues that say why something was not read.

A reader is a stream. An unreadable line or file is a :class:`ReadIssue` in that stream, never an
exception: the run continues. A reader cleans every text that it yields
(:func:`operators.foundation.sanitize.clean_text`), because no frame can hold a lone surrogate.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from typing import Any

import polars as pl

from operators.errors import CrosscorpusError
from operators.foundation.escape import UNSEEN_IN_A_LINE
from operators.foundation.principals import ALLOWED
from operators.foundation.sanitize import clean_text
from operators.frames import DOCUMENTS

METADATA_VALUE_LIMIT = 500
"""Maximum characters of JSON; a longer metadata value is left out: it is a text, not a label."""

MAX_TEXT = 20_000_000
"""Maximum bytes of a text; a larger text file is left out."""

LONGEST_TITLE = 300
"""Maximum characters of a title or a heading, because each chunk below it repeats it."""

APART_FROM = "apart_from"
"""In a document's metadata: its first line, from 0, that shares no chunk with earlier ones."""

Key = tuple[str, str, str]
"""corpus, repo, document_id: the key of a document."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document before chunking; the fields are the columns of ``frames.DOCUMENTS``."""

    document_id: str
    corpus: str
    repo: str
    title: str | None
    text: str
    path: str | None = None
    uri: str | None = None
    language: str | None = None
    state: str | None = None
    created_at: datetime | None = None
    doc_date: datetime | None = None
    date_source: str | None = None
    version: str | None = None
    lineage_id: str | None = None
    metadata: str = "{}"
    source_hash: str | None = None  # no column: the reader's hash of all fields, if any
    note: str | None = None  # no column: how it was read, if not as usual

    def __post_init__(self) -> None:
        """Bound the title, whichever source gave it."""
        if self.title is not None:
            object.__setattr__(self, "title", bounded_title(self.title))

    @property
    def key(self) -> Key:
        """The name of this document in the ledger."""
        return (self.corpus, self.repo, self.document_id)


@dataclass(frozen=True, slots=True)
class ReadIssue:
    """Something that was not read, and why.

    ``failed`` means an error that the run must report; otherwise it was left out on purpose (a
    binary file, a lock file). ``key`` identifies the document if it is known: it still exists in
    its source, so its last good version stays. A failure without a key could be any document, so a
    scan with one is incomplete and deletes nothing. ``content`` is the hash of a content that
    always fails: it is not retried before it changes. ``state`` is the document's state in the
    ledger: ``failed``, ``no_text`` (scanned) or ``encrypted``; or ``left_out``, on purpose: a
    complete scan then deletes its last version. ``withdrawn`` means that no version may stay in the
    store: the document contains a secret or is generated.
    """

    where: str
    reason: str
    failed: bool = True
    key: Key | None = field(default=None, repr=False)  # it may contain a secret
    content: str | None = None
    state: str = "failed"
    withdrawn: bool = False
    ending: str | None = None  # with its dot, if it is the reason to leave out a file

    def __str__(self) -> str:
        """One printable line."""
        state = "" if self.state in ("failed", "left_out") else f"{self.state}: "
        return f"{printable(self.where)}: {state}{printable(self.reason)}"


@dataclass(frozen=True, slots=True)
class LazyDocument:
    """A document that is hashed but not parsed; it is parsed only if the hash is new."""

    key: Key
    content: str  # hash of its inputs
    parse: Callable[[], Document | ReadIssue]  # the document's source_hash is ``content``

    def read(self) -> Document | ReadIssue:
        """The parsed document, or an issue if the parser raised; call it before the next item."""
        try:
            return self.parse()
        except Exception as exc:  # any parser error concerns this document only
            reason = f"{type(exc).__name__}: {exc}"[:300]
            return ReadIssue(self.key[2], reason, key=self.key, content=self.content)


_values = attrgetter(*DOCUMENTS)
_json = json.JSONEncoder(ensure_ascii=False).encode
sorted_json = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode

Item = Document | ReadIssue | LazyDocument


@dataclass(frozen=True, slots=True)
class Source:
    """One thing to ingest."""

    # Name and version of the reader: part of every document's fingerprint, and the mark by which a
    # later run knows which documents in the store came from this kind of source.
    reader: str
    scan: Callable[[], Iterator[Item]]  # starts one scan; if it raises, the scan is incomplete
    # The (corpus, repo) pairs that only this source fills, so that a document missing from a
    # complete scan was deleted. None: only the pairs that the scan yields.
    scopes: tuple[tuple[str, str], ...] | None
    fraction: Callable[[], float]  # how much of the running scan is done, 0..1
    # Its addresses, the path first; another source with its name shares none of them
    # (operators.postgres.write.source_ownership). Empty if no address distinguishes two sources.
    addresses: tuple[str, ...] = ()
    # The caller's choices of the options that the store keeps, by name; None: not given. Empty:
    # none, whatever it was before.
    choices: Mapping[str, str | None] = field(default_factory=dict)
    choosing: Callable[[Mapping[str, str]], Source] | None = None  # the same with other choices
    adding: frozenset[str] = frozenset()  # options whose words are added to the stored ones
    # Whether a document is excluded or known to be deleted, so that its deletion is expected.
    left_out: Callable[[Key], bool] = lambda _: False
    judged: str = "secrets allowed"  # the treatment of secrets and its rules; in the fingerprint
    whole: bool = True  # a document missing from a complete scan was deleted; else: is elsewhere
    revision: str | None = None  # the commit that it reads, of a repository
    command: Sequence[str] | None = None  # reads it: a folder, this program's arguments
    # Reads its beginning, and raises a CrosscorpusError if nothing there is of its kind.
    check: Callable[[], None] = lambda: None


def of_corpora(source: Source, corpora: Collection[str]) -> Source:
    """``source`` without the documents and issues of other corpora.

    Raises:
        CrosscorpusError: the source never fills one of ``corpora``; lists those that it fills.
    """
    filled = {corpus for corpus, _ in source.scopes or ()}
    for name in sorted(set(corpora) - filled if filled else ()):
        there = ", ".join(sorted(filled))
        raise CrosscorpusError(f"this source has no corpus {name!r}: it fills {there}")

    def scan() -> Iterator[Item]:
        return (item for item in source.scan() if item.key is None or item.key[0] in corpora)

    scopes = source.scopes and tuple(scope for scope in source.scopes if scope[0] in corpora)
    other = source.choosing
    choosing = other and (lambda chosen: of_corpora(other(chosen), corpora))
    return replace(source, scan=scan, scopes=scopes, choosing=choosing)


def parsed(items: Iterable[Item]) -> Iterator[Document | ReadIssue]:
    """``items``, each lazy document parsed before the next item is taken."""
    return (item.read() if isinstance(item, LazyDocument) else item for item in items)


def bounded_title(text: str) -> str:
    """``text``; if it is longer than ``LONGEST_TITLE``, the whole words of its start and ``…``.

    >>> bounded_title("A title"), bounded_title("word " * 100)[-10:]
    ('A title', 'word word…')
    """
    if len(text) <= LONGEST_TITLE:
        return text
    start = text.lstrip()[:LONGEST_TITLE]
    return f"{(start.rpartition(' ')[0] or start[:-1]).rstrip()}…"


def printable(text: str) -> str:
    r"""``text`` on one line, with control, direction and invisible characters shown as escapes.

    >>> print(printable("a\nb"))
    a\nb
    """
    return UNSEEN_IN_A_LINE.sub(lambda m: m[0].encode("unicode_escape").decode(), clean_text(text))


def metadata_json(values: Mapping[str, Any] | None = None, /, **more: Any) -> str:
    """``values`` and ``more`` as one JSON object with sorted keys.

    Nulls are left out, and so is any value whose JSON is longer than ``METADATA_VALUE_LIMIT``,
    except ``ALLOWED``, because rights must not be lost.
    """
    fields = {str(k): v for k, v in {**(values or {}), **more}.items() if v is not None}
    limit = METADATA_VALUE_LIMIT
    if len(_json(fields)) > limit:  # else no value is longer
        fields = {k: v for k, v in fields.items() if k == ALLOWED or len(_json(v)) <= limit}
    return sorted_json(_clean_value(fields))


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean_value(v) for v in value]
    if isinstance(value, dict):
        return {clean_text(k): _clean_value(v) for k, v in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def content_hash(document: Document) -> str:
    """SHA-256 (hex) over every field of ``document``: a change of any makes a new version.

    The reader's own hash, if it has one over the inputs of all fields.
    """
    if document.source_hash is not None:
        return document.source_hash
    parts = [v.isoformat() if isinstance(v, datetime) else v for v in _values(document)]
    return hashlib.sha256(_json(parts).encode()).hexdigest()


def document_frame(documents: Iterable[Document]) -> pl.DataFrame:
    """``documents`` as a frame of schema ``frames.DOCUMENTS``, in the same order."""
    rows = [_values(document) for document in documents]
    return pl.DataFrame(rows, schema=DOCUMENTS, orient="row")
