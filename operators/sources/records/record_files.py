"""The records in a file, a folder or a ZIP: JSON in any layout, CSV, mail, and pages of HTML."""

import csv
import hashlib
import io
import os
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import parseaddr
from pathlib import Path
from typing import Any, BinaryIO

from operators.sources.formats.html import html_text
from operators.sources.formats.json_stream import DAMAGED, file_objects
from operators.sources.jsonl import SourceError
from operators.sources.protocol import ReadIssue
from operators.sources.records.record_map import Names, value

FILE = "_file"
"""The field of a record with its file's name, below the folder that was given."""

_ESCAPED = re.compile(rb"(?m)^>(?=>*From )")  # how a mailbox writes such a line
_MESSAGE_ID = re.compile(r"<[^<>\s]+>")
_FORWARDED = re.compile(r"\b(?:fwd?|wg|tr|rv) ?:", re.IGNORECASE)
_REPEATED = re.compile(  # a whole mail without signs of quoting, below what answers it
    r"(?m)^(?:[_*]{10,80}\s{1,3})?[ *]{0,4}(?:"
    r"(?:From|Von|De):.*\s{1,3}[ *]{0,4}(?:Sent|Date|Gesendet|Datum|Envoyé|Enviado)\b.*:"
    # with a day and a time: prose says "On this machine the program wrote:" too
    r"|(?:On|Am|Le|El)\b(?=.{0,60}\b(?:19|20)\d\d\b)(?=.{0,90}\b\d\d?[:h]\d\d\b).{5,200}"
    r"(?:wrote|schrieb|écrit|escribió).{0,80}:[ \t]*\n(?!\s{0,9}>))"
)
_BETWEEN = re.compile(r"\b(?:in-?line|below|unten|ci-dessous|abajo)\b", re.IGNORECASE)
_TABLE = re.compile(
    rb"(?:\xef\xbb\xbf)?(?!From )[\w \"][^\n{\[]*[,;\t]"
)  # of a file without an ending
_MAIL = re.compile(rb"(?m)^From [^\n]*\n(?=[!-9;-~]{1,100}:|\r?\n|\Z)")  # a header is next

MOST_UNFOLDED = 5 << 30
"""Maximum bytes of what a ZIP has, as it says: no member unfolds to more."""


@contextmanager
def opened(path: Path) -> Iterator[Path]:
    """``path``, or the folder of what a ZIP has: an export of Slack is one.

    Raises:
        SourceError: the ZIP is damaged, has a password, or is too large.
    """
    if path.is_file() and (path.suffix.lower() == ".zip" or zipfile.is_zipfile(path)):
        with tempfile.TemporaryDirectory() as folder:
            try:
                with zipfile.ZipFile(path) as archive:
                    files = [one for one in archive.infolist() if _kind(Path(one.filename))]
                    if (size := sum(one.file_size for one in files)) > MOST_UNFOLDED:
                        raise ValueError(f"it has {size:,} bytes; unfold it yourself")
                    archive.extractall(folder, (one for one in files if not one.is_dir()))
            except (OSError, RuntimeError, ValueError, zipfile.BadZipFile, *DAMAGED) as error:
                raise SourceError(f"{path} cannot be unfolded: {error}") from None
            yield Path(folder)
    else:
        yield path


def records_of(path: Path) -> Iterator[tuple[str, Any]]:
    """The place and the value of each JSON object, CSV row, mail and page, or the issue.

    Raises:
        SourceError: nothing at ``path`` can be read.
    """
    if path.is_dir() and (path / "cur").is_dir():
        parts = (path / "cur", path / "new")  # git keeps no empty folder
        for file in (file for part in parts if part.exists() for file in _files(part)):
            yield _mail_at(file.relative_to(path).as_posix(), file.read_bytes())
        return
    files = _files(path) if path.is_dir() else [path]
    if not files or not files[0].exists():
        raise SourceError(f"{path} does not exist, or is an empty folder")
    if not files[0].is_file():
        raise SourceError(f"{path} is no file: - reads standard input")
    for file in files:
        kind = _kind(file) or ("json" if file == path else None)
        if kind is None:
            continue
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        with file.open("rb") as raw:
            for where, record in _in_file(kind, file, raw):
                if isinstance(record, dict):
                    record = {**record, FILE: name}
                yield where, record


def _files(folder: Path) -> list[Path]:
    """The files below ``folder`` in order, without links, pipes and hidden folders, such as git's.

    Raises:
        OSError: a folder cannot be read: its files are not gone.
    """

    def stop(error: OSError) -> None:
        raise error

    found = []
    for root, folders, names in os.walk(folder, onerror=stop):
        folders[:] = (one for one in folders if not one.startswith("."))
        found += [Path(root, name) for name in names]
    return sorted(one for one in found if one.is_file() and not one.is_symlink())


def _kind(file: Path) -> str | None:
    """How a file of this name is read; None: not at all, as what macOS adds to a ZIP."""
    ending = file.suffix.lower()
    if file.name.startswith("."):
        return None
    if ending in (".csv", ".eml", ".html", ".mbox"):
        return ending[1:]
    return "json" if ending in ("", ".json", ".jsonl", ".ndjson", ".gz") else None


def _in_file(kind: str, file: Path, raw: BinaryIO) -> Iterator[tuple[str, Any]]:
    head: bytes = raw.peek(4096)[:4096]  # type: ignore[attr-defined]
    if kind == "csv" or (not file.suffix and _TABLE.match(head)):
        yield from _csv(file.name, raw)
    elif kind == "eml":
        yield _mail_at(file.name, raw.read())
    elif kind == "html":
        yield file.name, {"html": raw.read().decode("utf-8-sig", "replace")}
    elif kind == "mbox" or head.startswith(b"From "):
        for number, mail in enumerate(_MAIL.split(raw.read())[1:], start=1):
            yield _mail_at(f"{file.name}: mail {number}", _ESCAPED.sub(b"", mail))
    else:
        yield from file_objects(file, raw)


def _csv(name: str, raw: BinaryIO) -> Iterator[tuple[str, Any]]:
    with io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="") as text:
        csv.field_size_limit(1 << 24)
        head = text.readline()
        text.seek(0)
        delimiter = max(",;\t", key=head.count)
        number = 0
        try:  # strict: a quote that never ends is an error, not a field with all other rows
            for number, row in enumerate(csv.DictReader(text, delimiter=delimiter, strict=True), 1):
                yield f"{name}: row {number}", {k: v for k, v in row.items() if k and v}
        except csv.Error as error:
            where = f"{name}: row {number + 1}"
            yield where, ReadIssue(where, f"not CSV from here on: {error}")


def _mail_at(where: str, content: bytes) -> tuple[str, Any]:
    try:
        return where, _mail(content)
    except Exception as error:  # the parser of the standard library fails in many ways
        return where, ReadIssue(where, f"not a mail: {type(error).__name__}: {error}"[:300])


def _mail(content: bytes) -> dict[str, Any]:
    """A mail as a record: its headers in lower case, ``thread``, ``text`` and ``files``.

    A mail without ``message-id`` gets one from its content, if it has a header at all.
    """
    mail = BytesParser(policy=policy.default).parsebytes(content)
    headers = {name.lower(): _header(mail, name, raw) for name, raw in mail.raw_items()}
    if headers and not headers.get("message-id"):
        headers["message-id"] = f"<{hashlib.sha256(content).hexdigest()[:32]}@none>"
    subject = headers.get("subject", "")
    names = ("references", "in-reply-to", "message-id")
    *above, own = (_message_ids(headers.get(name, "")) for name in names)
    answered = above[0] or above[1]
    plain, rich = (mail.get_body((kind,)) for kind in ("plain", "html"))
    text = "" if plain is None else _content(plain)  # a part without headers is no true value
    if not text.strip() and rich is not None:
        text = html_text(_content(rich)).text
    if answered and not _FORWARDED.search(subject) and (repeated := _REPEATED.search(text)):
        written = text[: repeated.start()]
        text = written if written.strip() and not _BETWEEN.search(written) else text
    name, address = parseaddr(headers.get("from", ""))
    return headers | {
        "author": (name.split(" via ")[0] if headers.get("list-id") else name) or address,
        "thread": (answered or own or [headers.get("message-id", "")])[0],
        "text": text,
        "files": [one.get_filename() for one in mail.iter_attachments() if one.get_filename()],
    }


def _message_ids(header: str) -> list[str]:
    """The ids in ``header``, each in angle brackets; some programs leave them out.

    >>> _message_ids('Your message of "Mon, 5 Jan" <a@x>'), _message_ids("a@x b@x")
    (['<a@x>'], ['<a@x>', '<b@x>'])
    """
    bare = (f"<{one}>" for one in header.split() if "@" in one)
    return _MESSAGE_ID.findall(header) or list(bare)


def _header(mail: EmailMessage, name: str, raw: str) -> str:
    """A header's value; if the parser fails at it, as it is written."""
    try:
        return str(mail.policy.header_fetch_parse(name, raw))
    except Exception:  # such as an IndexError at ``<[a]@x>``
        return " ".join(raw.split())


def _content(part: Any) -> str:
    """The text of a part; in an unknown encoding as UTF-8."""
    try:
        return str(part.get_content())
    except (LookupError, UnicodeError, ValueError):
        return (part.get_payload(decode=True) or b"").decode("utf-8", "replace")


def name_table(folder: Path, tables: Iterable[Names]) -> dict[str, str]:
    """What the files of an export say that each id stands for; nothing where they are not there.

    Raises:
        SourceError: one has another form.
    """
    names: dict[str, str] = {}
    for table in tables:
        at = folder / table.file
        if not (folder.is_dir() and at.is_file() and at.resolve().parent == folder.resolve()):
            continue
        with at.open("rb") as raw:
            for _, one in file_objects(at, raw):
                try:
                    if isinstance(one, ReadIssue):
                        raise ValueError(one.reason)
                    key, called = value(table.id, one), value(table.name, one)
                except ValueError as error:
                    raise SourceError(f"{table.file} is no list of names: {error}") from None
                names |= {str(key): str(called)} if key and called else {}
    return names
