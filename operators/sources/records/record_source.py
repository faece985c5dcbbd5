"""A source of documents that a map makes of records."""

import re
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from textwrap import shorten
from typing import Any

from operators.foundation.closed_issues import closed_issues, said
from operators.foundation.date_text import PlaceholderDate, parse_date
from operators.foundation.disk_dict import DiskDict
from operators.foundation.principals import EVERYONE, principals
from operators.foundation.sanitize import clean_text
from operators.sources.jsonl import SourceError, documents_of, refuse_other_kind
from operators.sources.protocol import Item, Key, ReadIssue, Source
from operators.sources.records.record_files import FILE, name_table, opened, records_of
from operators.sources.records.record_map import DocumentMap, RecordMap, records_in, value
from operators.sources.records.text_forms import markdown

VERSION = 1
"""Of the reader, in its mark: another one reads all records again."""

_LINK = re.compile(r"\[([^][\n]*)\]\([^()\s]*\)")

FOLDER = "_folder"
"""The field of a record with the first folder of its file, or what the map says instead; as the
map's names call it."""

_TITLE = 120  # characters of a first message that are the title of its thread

_GIVEN = (FILE, FOLDER, "repo", "base_url")

_TEXTS = ("title", "path", "url", "state", "version")


def records_source(
    path: Path | str,
    read: RecordMap,
    *,
    repo: str = "",
    base_url: str = "",
    whole: bool = False,
) -> Source:
    """The documents that ``read`` makes of the records at ``path``.

    Args:
        path: JSON in any layout, CSV, mail, HTML, or a folder or a ZIP of such files.
        repo: the repository of documents whose map names none.
        base_url: ``base_url`` in every record, for the map's addresses.
        whole: what an earlier reading had and this lacks was deleted.

    Raises:
        SourceError: ``path`` does not exist, ``base_url`` is no address, or ``whole`` without
            ``repo``, for a map whose documents do not all name theirs: another export by this map
            has the same.
    """
    given = fields_given(read, repo, base_url, whole)
    place = Path(path).expanduser()
    if not place.exists():
        raise SourceError(f"{place} does not exist")

    def scan() -> Iterator[Item]:
        with opened(place) as folder:
            names = name_table(folder, read.names)
            with closing(_last_of_each(records_of(folder), read, given, names)) as last:
                yield from documents_of(mapped(records_of(folder), read, given, names, last))

    def check() -> None:
        with opened(place) as folder:  # the beginning says it: which record is the last does not
            rows = mapped(records_of(folder), read, given, name_table(folder, read.names))
            refuse_other_kind(documents_of(rows), f"records as the map says: {read.about}")

    # A map is a kind of source of its own: whole records of one service delete none of another's.
    mark = re.sub(r"[^a-z0-9]+", "_", read.name.lower()) or "own"
    return Source(f"records_{mark}/{VERSION}", scan, None, lambda: 0.0, whole=whole, check=check)


def fields_given(read: RecordMap, repo: str, base_url: str, whole: bool) -> dict[str, str]:
    """``repo`` and ``base_url`` as fields of every record; raises as :func:`records_source`."""
    if whole and not repo and any(kind.repo is None for kind in read.documents):
        raise SourceError(
            "--prune deletes what earlier records of this map and repository had: name these "
            "with --repo (a project, a workspace), in every run"
        )
    if base_url and "://" not in base_url:
        raise SourceError(f"{base_url!r} is no address: give --base-url https://{base_url}")
    return {"repo": repo, "base_url": base_url.rstrip("/")}


@contextmanager
def standard_input(path: Path) -> Iterator[Path]:
    """``path``; of ``-`` a file with what standard input gives: a run may read it twice."""
    if str(path) != "-":
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "standard-input")
        with file.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield file


def mapped(
    records: Iterable[tuple[str, Any]],
    read: RecordMap,
    given: Mapping[str, str],
    names: Mapping[str, str],
    last: Mapping[bytes, int] | None = None,
) -> Iterator[tuple[str, Any]]:
    """The rows of ``ingest documents`` that ``read`` makes of records, or an issue of each.

    Threads come last, because any record may still belong to one.

    Args:
        records: the place of each, and a JSON value or an issue.
        given: ``repo`` and ``base_url``, fields of every record that lacks them.
        names: what an id in a text stands for, and a folder's name after ``#``.
        last: where the record of a document is that counts; without it the first counts.
    """
    threads = defaultdict[tuple[int, str], list[dict[str, Any]]](list)
    for at, (where, number, record) in enumerate(_fitting(records, read, given, names)):
        if number is None:
            yield where, record
            continue
        kind = read.documents[number]
        try:
            thread = kind.thread and value(kind.thread, record)
        except ValueError as error:
            yield where, _failed(where, kind, [record], error)
            continue
        if thread:
            threads[number, str(thread)].append(record)
        elif kind.thread is None:
            key = None if last is None else _key(kind, record)
            if last is None or key is None or last.get("\0".join(key).encode(), at) == at:
                yield where, _made(where, kind, [record], names)
    for (number, thread), members in threads.items():
        yield thread, _made(thread, read.documents[number], members, names)


def _fitting(
    records: Iterable[tuple[str, Any]],
    read: RecordMap,
    given: Mapping[str, str],
    names: Mapping[str, str],
) -> Iterator[tuple[str, int | None, Any]]:
    """The place, the number of the kind of document and the record of each that fits; or issues."""
    fitting = total = 0
    for where, page in records:
        if isinstance(page, ReadIssue):
            yield where, None, page
            continue
        try:
            found = [{**given, **one} for one in records_in(read, page)]
            folders = [value(read.folder, one) for one in found]
        except ValueError as error:
            yield where, None, ReadIssue(where, str(error)[:300])
            continue
        total += len(found)
        for record, folder in zip(found, folders, strict=True):
            folder = folder or str(record.get(FILE, "")).partition("/")[0]
            record.setdefault(FOLDER, names.get(f"#{folder}", str(folder)))
            for number, kind in enumerate(read.documents):
                try:
                    fits = kind.when is None or value(kind.when, record)
                except ValueError as error:
                    yield where, None, _failed(where, kind, [record], error)
                    continue
                if fits:
                    fitting += 1
                    yield where, number, record
    if total and not fitting:  # another service's, or its error page
        why = f"no record of {total} fits the map {read.name}: {read.about}"
        yield "the records", None, ReadIssue("the records", why)


def _last_of_each(
    records: Iterable[tuple[str, Any]],
    read: RecordMap,
    given: Mapping[str, str],
    names: Mapping[str, str],
) -> DiskDict[int]:
    """Where each document's last record is: what grows at its end says there what holds now."""
    last = DiskDict[int]()
    for at, (_, number, record) in enumerate(_fitting(records, read, given, names)):
        if number is not None and (key := _key(read.documents[number], record)) is not None:
            last["\0".join(key).encode()] = at
    return last


def _key(kind: DocumentMap, record: Mapping[str, Any]) -> Key | None:
    """What names the document of a record; None: nothing does."""
    try:
        key, repo = value(kind.key, record), value(kind.repo or "repo", record)
    except ValueError:
        return None
    named = (kind.corpus, clean_text(_text(repo) or ""), clean_text(str(key)))
    return None if key in (None, "") else named


def _made(
    where: str, kind: DocumentMap, members: list[dict[str, Any]], names: Mapping[str, str]
) -> dict[str, Any] | ReadIssue:
    """The document of these records, or why there is none."""
    try:
        return _row(kind, members, names)
    except Exception as error:  # a record may have any shape: it concerns this document only
        return _failed(where, kind, members, error)


def _failed(
    where: str, kind: DocumentMap, members: list[dict[str, Any]], error: Exception
) -> ReadIssue:
    """Why there is no document of these records.

    The issue has the document's key where they say one. If they say who may see it, or should and
    that fails, its last version is withdrawn: others may have lost the right to see it.
    """
    reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    key = next(filter(None, (_key(kind, member) for member in members)), None)
    withdrawn = False
    if key is not None and kind.allowed is not None:
        try:
            withdrawn = _allowed(kind.allowed, members) is not None
        except ValueError:
            withdrawn = True
    return ReadIssue(where, reason[:300], key=key, withdrawn=withdrawn)


def _row(
    kind: DocumentMap, members: list[dict[str, Any]], names: Mapping[str, str]
) -> dict[str, Any]:
    """The document of a record, or of the records of a thread, as ``ingest documents`` takes it.

    Its title is the text of one without a text: an issue that has only a summary is found too.
    """
    members = sorted(members, key=lambda one: _moment(kind, one))
    first, texts, authors = members[0], [], []
    if (key := _text(value(kind.key, first))) is None:
        has = ", ".join(name for name in first if name not in _GIVEN)
        raise ValueError(f"no {kind.key!r}, the key of {kind.corpus}, in a record of {has[:200]}")
    for member in members:
        author = _named(value(kind.author, member), names)
        texts.append((author if kind.thread is not None else None, value(kind.text, member)))
        authors.append(author)
    for one in value(kind.parts, first) or ():
        author = _named(value(kind.part.author, one), names)
        date = _date(value(kind.part.created_at, one)) or ""
        texts.append((", ".join(filter(None, (author, date[:10]))), value(kind.part.text, one)))
        authors.append(author)
    row = {name: _text(value(getattr(kind, name), first)) for name in _TEXTS}
    if kind.form == "slack" and row["title"]:  # begins with the first message
        title = markdown([(None, row["title"])], kind.form, names).split("\n")[0]
        row["title"] = shorten(_LINK.sub(r"\1", title), _TITLE, placeholder=" ...")
    metadata = {name: value(expression, first) for name, expression in kind.metadata.items()}
    metadata["authors"] = list(dict.fromkeys(filter(None, authors))) or None
    repo = _text(value(kind.repo or "repo", first))
    text = markdown([one for one in texts if one[1]], kind.form, names) or row["title"]
    if metadata.get("pr_number"):
        metadata["closes"] = closed_issues(said(text or ""), [(repo or "").lower()])[0] or None
    return row | {
        **{"doc_id": key, "corpus": kind.corpus, "repo": repo, "text": text},
        "created_at": _date(value(kind.created_at, first)),
        "metadata": metadata,
        "allowed": _allowed(kind.allowed, members),
    }


def _allowed(expression: str | None, members: Iterable[dict[str, Any]]) -> list[str] | None:
    """Who may see each of ``members``; None: all of them are without rights.

    A member that states several lists, such as of a page and those above it, is for those in each.

    Raises:
        ValueError: one states it in another form.
    """
    stated: list[Any] = []
    for one in (value(expression, member) for member in members):
        several = isinstance(one, list) and any(isinstance(each, list) for each in one)
        stated += one if several else [one]
    sets = [{*principals(one)} for one in stated if one is not None]
    limits = [one for one in sets if EVERYONE not in one]
    if not limits:
        return [EVERYONE] if sets else None
    return sorted(set.intersection(*limits))


def _moment(kind: DocumentMap, member: dict[str, Any]) -> tuple[bool, str]:
    """Sorts the records of a thread; one whose date is none comes last, and the thread is read."""
    try:
        return False, _date(value(kind.created_at, member)) or "undated"
    except (ValueError, TypeError, OverflowError):
        return True, ""


def _named(author: Any, names: Mapping[str, str]) -> str | None:
    """Whom an id stands for; never what a folder's does, which tells who may see it."""
    key = str(author)
    return (key if key.startswith("#") else names.get(key, key)) if author else None


def _text(found: Any) -> str | None:
    return None if found is None or found == "" else str(found)


def _date(found: Any) -> str | None:
    """A date in any form that services write, seconds since 1970 too; None: ``0001-01-01``.

    >>> _date("1767607200.000100"), _date("Mon, 5 Jan 2026 10:00:00 +0000")
    ('2026-01-05T10:00:00+00:00', '2026-01-05T10:00:00+00:00')

    Raises:
        ValueError: it is none.
    """
    try:
        return None if found in (None, "") else parse_date(str(found)).isoformat()
    except PlaceholderDate:
        return None
    except ValueError as error:
        raise ValueError(f"{str(found)[:60]!r} is no date: {error}") from None
