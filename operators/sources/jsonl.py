"""The generic reader: one document a line, as JSON, optionally gzipped.

It is for documents without a reader of their own: an export, a judged data set.
Keys of a line:

===============  ======================================================================
doc_id           required; names the document within its corpus and repo
corpus           required; lower-case letters, digits and ``_``
text             required; may be empty
title path url   optional strings
repo             optional; else ``project``; else none
created_at       optional ISO 8601 moment, UTC where it names no zone
version          optional string
topic            optional string; decides which documents are versions of each other
topic_key        optional string; a judged data set's name of the topic; it has no effect
language state   optional; of a code document; otherwise it follows from its path
metadata         optional object
===============  ======================================================================

Any other key becomes metadata. A metadata value whose JSON is longer than
``protocol.METADATA_VALUE_LIMIT`` is left out: that is a text (a diff hunk, a thread's comments).

A line is made into a document only if a value in it has changed.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO

from operators.errors import CrosscorpusError, suggest
from operators.foundation.disk_dict import DiskDict
from operators.foundation.principals import ALLOWED, principals
from operators.foundation.sanitize import clean_text
from operators.sources.formats.json_stream import DAMAGED, read_json, unpacked
from operators.sources.formats.languages import code_language, prose_format
from operators.sources.formats.shown_text import shown_text
from operators.sources.protocol import (
    Document,
    Item,
    Key,
    LazyDocument,
    ReadIssue,
    Source,
    metadata_json,
    parsed,
    sorted_json,
)

READER = "documents/1"
"""Another number, if other rules make a document of a row: it is hashed with each row, also of
records and of own readers, so that unchanged ones are made again."""

MAX_LINE = 64 * 1024 * 1024
"""Maximum bytes; a longer line is a :class:`ReadIssue` and is skipped without loading it."""

_CORPUS = re.compile(r"[a-z][a-z0-9_]{0,39}")
_PARTIAL_DATE = re.compile(r"\d{4}(-\d{2})?")
_TEXTS = {  # the document's field of each key
    "title": "title", "path": "path", "url": "uri", "version": "version",
    "topic_key": "lineage_id", "language": "language", "state": "state",
}  # fmt: skip
_MOST_NAMED = 20  # unknown fields
_TOPIC = "topic"  # operators.versions.lineage reads it in the metadata
_NUMBERS = ("pr_number", "issue_number")  # for labels, links and removal
_KNOWN = frozenset((*_TEXTS, "doc_id", "corpus", "text", "repo", "created_at", "metadata"))


FIRST_ITEMS = 20
"""The first items of a file: if none can be read, the file is of another kind."""


class SourceError(CrosscorpusError):
    """A source cannot be read at all; nothing was ingested from it."""


class BadLine(ValueError):
    """A JSON object that is no document; says why."""


def documents_source(path: Path | str) -> Source:
    """The documents of a JSONL file, gzipped or not.

    Raises:
        SourceError: ``path`` is not a file; or, while scanning, it is not readable.
    """
    form, done = "a JSONL file, plain or gzipped", 0.0
    file = given_file(path, form)

    def rows() -> Iterator[tuple[str, Any]]:
        nonlocal done
        size = file.stat().st_size
        with file.open("rb") as raw:
            for line, row in json_rows(raw):
                done = min(1.0, raw.tell() / size)
                where = f"{file.name}: {line}"
                yield where, replace(row, where=where) if isinstance(row, ReadIssue) else row

    def scan() -> Iterator[Item]:
        nonlocal done
        item: Item | None = None
        with readable(file):
            for item in documents_of(rows()):
                yield item
        if item is None:
            yield ReadIssue(file.name, "it has no rows", failed=False)
        done = 1.0

    def check() -> None:
        refuse_other_kind(scan(), form)

    return Source(READER, scan, None, lambda: done, whole=False, check=check)


def refuse_other_kind(items: Iterable[Item], form: str) -> None:
    """Raise :class:`SourceError` if the first ``FIRST_ITEMS`` items are all faults; quotes one.

    ``form`` describes the expected file. Without an item, nothing is raised.
    """
    first = list(islice(parsed(items), FIRST_ITEMS))
    if first and all(isinstance(item, ReadIssue) and item.failed for item in first):
        raise SourceError(f"{first[0]}; nothing was read: give {form}")


def given_file(path: Path | str, form: str) -> Path:
    """The file at ``path``; raises :class:`SourceError` if it is missing: give one of ``form``."""
    file = Path(path).expanduser()
    if not file.is_file():
        what = "is not a file" if file.exists() else "does not exist"
        raise SourceError(f"{file} {what}; give {form}")
    return file


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Raise :class:`SourceError` if ``file`` cannot be read."""
    try:
        yield
    except OSError as exc:
        raise SourceError(f"{file}: {exc.strerror or exc}") from exc


def is_corpus_name(name: str) -> bool:
    """Whether this is a valid corpus name: lower-case letters, digits and ``_``, at most 40.

    >>> is_corpus_name("docs"), is_corpus_name("Team docs")
    (True, False)
    """
    return _CORPUS.fullmatch(name) is not None


def documents_of(rows: Iterable[tuple[str, Any]]) -> Iterator[Item]:
    """Documents and issues of rows, in their order; the first of two with one name wins.

    A document is lazy, hashed over its row, unless it has values that JSON has not.

    Args:
        rows: each row's place, and its keys and values as in a line of JSON, or its issue.
    """
    named: set[str] = set()
    with closing(DiskDict[None]()) as seen:
        for where, row in rows:
            item = row if isinstance(row, ReadIssue) else _item(where, row, named)
            if (key := item.key) is not None:
                name = "\0".join(key).encode()
                if not seen.add(name, None):
                    item = ReadIssue(where, f"doc_id {key[2]!r} was given before", key=key)
            yield item


def json_rows(raw: BinaryIO) -> Iterator[tuple[str, Any]]:
    """``line N`` and the value, or the issue, of each line that is not blank.

    A damaged or truncated gzip stream is an issue at the line where it breaks.
    """
    number = 0
    try:
        stream = unpacked(raw)  # unbuffered: a buffer would lose the lines before damaged data
        for number, line in enumerate(bounded_lines(stream, MAX_LINE + 1), start=1):
            where = f"line {number}"
            if len(line) > MAX_LINE:
                yield where, ReadIssue(where, f"longer than {MAX_LINE} bytes")
            elif line.strip():
                try:
                    yield where, read_json(line.decode("utf-8-sig", "replace"))
                except ValueError as exc:
                    yield where, ReadIssue(where, f"not JSON: {exc}")
    except DAMAGED as exc:
        where = f"line {number + 1}"
        yield where, ReadIssue(where, f"the gzip data are damaged or end early: {exc}")


def parse_moment(text: str) -> datetime:
    """An ISO 8601 time in UTC: a time without a zone is UTC, a date means its start.

    >>> parse_moment("2020-03-01T01:30:00+02:00").isoformat()
    '2020-02-29T23:30:00+00:00'
    >>> parse_moment("2020-03").isoformat()
    '2020-03-01T00:00:00+00:00'

    Raises:
        ValueError: it has another form, or lies outside the years 1 to 9999.
    """
    text = text.strip()
    if _PARTIAL_DATE.fullmatch(text):
        text = f"{text}-01-01" if len(text) == 4 else f"{text}-01"
    moment = datetime.fromisoformat(text)
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as exc:
        raise ValueError("outside the years 1 to 9999") from exc


def bounded_lines(stream: IO[bytes], most: int) -> Iterator[bytes]:
    """The lines of ``stream``, each truncated after ``most`` bytes."""
    while line := stream.readline(most):
        rest = line
        while len(rest) == most and not rest.endswith(b"\n"):
            rest = stream.readline(most)
        yield line


def _item(where: str, fields: Any, named: set[str]) -> Item:
    if not isinstance(fields, Mapping):
        return ReadIssue(where, f"not a JSON object but {_kind(fields)}")
    try:
        key = _key(fields)
    except BadLine as exc:
        return ReadIssue(where, str(exc))
    hashed = _hashed(fields)
    parse = partial(_parsed, where, fields, key, hashed, named)
    return parse() if hashed is None else LazyDocument(key, hashed, parse)


def _hashed(fields: Mapping[str, Any]) -> str | None:
    """SHA-256 (hex) over a row, whatever the order of its keys; None if it came from no JSON."""
    try:
        text = f"{READER} {sorted_json(fields)}"
    except (TypeError, ValueError, RecursionError):
        return None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _parsed(
    where: str, fields: Mapping[str, Any], key: Key, hashed: str | None, named: set[str]
) -> Document | ReadIssue:
    try:
        return replace(_document(fields, key, named), source_hash=hashed)
    except BadLine as exc:
        reason = str(exc)
    except RecursionError:
        reason = "nested too deeply"
    except TypeError as exc:  # a value that came from no JSON
        reason = f"metadata: {exc}"
    # its last version may be visible to those who lost the right
    return ReadIssue(where, reason, key=key, withdrawn=_says_who(fields))


def _says_who(fields: Mapping[str, Any]) -> bool:
    """Whether a document states who may see it."""
    metadata = fields.get("metadata")
    mappings = [fields, metadata] if isinstance(metadata, Mapping) else [fields]
    return _first_of(ALLOWED, *mappings) is not None


def _key(fields: Mapping[str, Any]) -> Key:
    document_id, corpus = _required(fields, "doc_id"), _required(fields, "corpus")
    if not is_corpus_name(corpus):
        raise BadLine(f"corpus {corpus!r} is not lower-case letters, digits and _")
    name = "project" if fields.get("repo") is None else "repo"
    return (corpus, string_of(fields, name) or "", document_id)


def _required(fields: Mapping[str, Any], name: str) -> str:
    if text := string_of(fields, name):
        return text
    raise BadLine(f"{name} is missing")


def _document(fields: Mapping[str, Any], key: Key, named: set[str]) -> Document:
    """The document; ``named`` collects the unknown fields that documents have noted."""
    text = fields.get("text")
    if not isinstance(text, str):
        raise BadLine("text is missing" if text is None else f"text is {_kind(text)}")
    values: dict[str, Any] = {field: string_of(fields, name) for name, field in _TEXTS.items()}
    metadata = fields.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise BadLine(f"metadata is {_kind(metadata)}, not an object")
    used = _KNOWN if fields.get("repo") is not None else _KNOWN | {"project"}
    extras = {k: v for k, v in fields.items() if k not in used}
    known = {**extras, **(metadata or {})}
    if (allowed := _first_of(ALLOWED, fields, metadata or {})) is not None:
        try:
            known[ALLOWED] = principals(allowed)
        except ValueError as exc:
            raise BadLine(f"{ALLOWED}: {exc}") from exc
    string_of(known, _TOPIC)
    for name in _NUMBERS:
        if type(known.get(name)) not in (int, type(None)):
            raise BadLine(f"{name} is {_kind(known[name])}, not a whole number")
    created_at = created_at_of(fields)
    corpus, repo, document_id = key
    if values["language"] is None and corpus == "code" and values["path"]:
        values["language"] = code_language(values["path"])
    path = values["path"] or ""
    kind = prose_format(path) or values["language"] or code_language(path) or "text"
    return Document(
        document_id=document_id,
        corpus=corpus,
        repo=repo,
        text=shown_text(clean_text(text), kind.lower(), path),
        created_at=created_at,
        doc_date=created_at,
        date_source=None if created_at is None else "explicit",
        metadata=metadata_json(known),
        note=_unknown(extras.keys() - {"project", _TOPIC, ALLOWED}, named),
        **values,
    )


def _first_of(name: str, *mappings: Mapping[str, Any]) -> Any:
    """The value of ``name`` in the first of ``mappings`` that has one."""
    return next((of[name] for of in mappings if of.get(name) is not None), None)


def _unknown(extras: set[str], named: set[str]) -> str | None:
    fields = []
    for name in sorted(extras - named)[: _MOST_NAMED - len(named)]:
        named.add(name)
        meant = suggest(name, _KNOWN)
        fields.append(f"{name[:40]!r}{meant if meant.startswith(',') else ''}")
    return f"unknown fields, kept in the metadata: {'; '.join(fields)}" if fields else None


def string_of(fields: Mapping[str, Any], name: str) -> str | None:
    """The string at ``name``, cleaned; None if it is null or missing.

    Raises:
        BadLine: it is no string.
    """
    value = fields.get(name)
    if value is None or isinstance(value, str):
        return None if value is None else clean_text(value)
    raise BadLine(f"{name} is {_kind(value)}, not a string")


def created_at_of(fields: Mapping[str, Any]) -> datetime | None:
    """The time ``created_at``; None if it is null, missing or blank.

    Raises:
        BadLine: it is no date.
    """
    value = fields.get("created_at")
    text = value.isoformat() if isinstance(value, date) else string_of(fields, "created_at")
    if text is None or not text.strip():
        return None
    try:
        return parse_moment(text)
    except ValueError as exc:
        raise BadLine(f"created_at {text[:40]!r} is no ISO 8601 date") from exc


def _kind(value: object) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    names |= {list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), f"a {type(value).__name__}")
