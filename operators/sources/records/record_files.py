"""The records in a file, a folder or a ZIP: JSON in any layout, CSV, and mail."""

import csv
import io
import mailbox
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import parseaddr, parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO

from operators.sources.formats.html import html_text
from operators.sources.formats.json_stream import file_objects, read_json
from operators.sources.jsonl import SourceError
from operators.sources.protocol import ReadIssue
from operators.sources.records.record_map import Names, value

_ESCAPED = re.compile(rb"(?m)^>(?=>*From )")

FILE = "_file"
"""The field of a record with its file's name, below the folder that was given."""


@contextmanager
def opened(path: Path) -> Iterator[Path]:
    """``path``, or the folder of what a ZIP has: an export of Slack is one."""
    if path.is_file() and zipfile.is_zipfile(path):
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as archive:
            if (size := sum(one.file_size for one in archive.infolist())) > 5 << 30:
                raise SourceError(f"{path} unfolds to {size:,} bytes: unfold it yourself")
            archive.extractall(folder)
            yield Path(folder)
    else:
        yield path


def records_of(path: Path) -> Iterator[tuple[str, Any]]:
    """The place and the value of each JSON object, CSV row and mail at ``path``, or the issue.

    Raises:
        SourceError: nothing at ``path`` can be read.
    """
    if path.is_dir() and (path / "cur").is_dir():
        yield from _mails(str(path), mailbox.Maildir(str(path), create=False))
        return
    files = (
        sorted(one for one in path.rglob("*") if one.is_file() and not one.is_symlink())
        if path.is_dir()
        else [path]
    )
    if not files or not files[0].exists():
        raise SourceError(f"{path} does not exist, or is an empty folder")
    for file in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        with file.open("rb") as raw:
            for where, record in _in_file(file, raw, given=file == path):
                if isinstance(record, dict):
                    record = {**record, FILE: name}
                yield where, record


def _in_file(file: Path, raw: BinaryIO, *, given: bool) -> Iterator[tuple[str, Any]]:
    """What is in a file; one of another ending is JSON if it was ``given``, else it is skipped."""
    ending = file.suffix.lower()
    if ending == ".csv":
        yield from _csv(file, raw)
    elif ending == ".eml":
        yield file.name, _parsed(file.name, raw.read())
    elif ending == ".mbox" or raw.peek(5)[:5] == b"From ":  # type: ignore[attr-defined]
        yield from _mails(file.name, mailbox.mbox(str(file), create=False))
    elif given or ending in ("", ".json", ".jsonl", ".ndjson", ".gz"):
        yield from file_objects(file, raw)


def _csv(file: Path, raw: BinaryIO) -> Iterator[tuple[str, Any]]:
    text = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="")
    csv.field_size_limit(1 << 24)
    head = text.readline()
    text.seek(0)
    delimiter = max(",;\t", key=head.count)
    try:
        for number, row in enumerate(csv.DictReader(text, delimiter=delimiter), start=1):
            yield f"{file.name}: row {number}", {k: v for k, v in row.items() if k and v}
    except csv.Error as error:
        yield file.name, ReadIssue(file.name, f"not CSV: {error}")
    finally:
        text.detach()


def _mails(name: str, box: "mailbox.Mailbox[Any]") -> Iterator[tuple[str, Any]]:
    for number, key in enumerate(box.keys(), start=1):
        where = f"{name}: mail {number}"
        written = box.get_bytes(key)
        if isinstance(box, mailbox.mbox):  # a line that begins with "From " is written with a >
            written = _ESCAPED.sub(b"", written)
        yield where, _parsed(where, written)


def _parsed(where: str, written: bytes) -> dict[str, Any] | ReadIssue:
    """The record of a mail, or why there is none."""
    try:
        return _mail(BytesParser(policy=policy.default).parsebytes(written))
    except Exception as error:  # the standard library's parser fails in many ways
        return ReadIssue(where, f"not a mail: {type(error).__name__}: {error}"[:300])


def _mail(mail: EmailMessage) -> dict[str, Any]:
    """A mail as a record: its headers in lower case, ``author``, ``thread``, ``text``, ``files``.

    A date that is none is left out: the mail comes last in its thread.
    """
    headers = {name.lower(): str(content) for name, content in mail.items()}
    above = (headers.get("references") or headers.get("in-reply-to") or "").split()
    plain, rich = (mail.get_body((kind,)) for kind in ("plain", "html"))
    name, address = parseaddr(headers.get("from", ""))
    try:
        parsedate_to_datetime(headers.get("date", ""))
    except ValueError:
        headers.pop("date", None)
    return headers | {
        "author": name or address,
        "thread": (above or [headers.get("message-id", "")])[0],
        "text": _content(plain) if plain else html_text(_content(rich)).text if rich else "",
        "files": [one.get_filename() for one in mail.iter_attachments() if one.get_filename()],
    }


def _content(part: Any) -> str:
    """The text of a part of a mail; UTF-8 in place of an encoding that nobody knows."""
    try:
        return str(part.get_content())
    except LookupError:
        return bytes(part.get_payload(decode=True)).decode("utf-8", "replace")


def name_table(folder: Path, tables: Iterable[Names]) -> dict[str, str]:
    """What the files of an export say that each id stands for; nothing where they are not there."""
    names: dict[str, str] = {}
    for table in tables:
        at = folder / table.file
        if folder.is_dir() and at.is_file():
            for one in read_json(at.read_text("utf-8")):
                key, called = value(table.id, one), value(table.name, one)
                names |= {str(key): str(called)} if key and called else {}
    return names
