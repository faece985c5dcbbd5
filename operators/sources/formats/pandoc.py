"""Word, PowerPoint, Excel, OpenDocument, EPUB, RTF and LaTeX to Markdown, by pandoc.

Pandoc is a program under the GPL, which the extra ``office`` brings. It runs as a process of its
own, in the sandbox, with its own ``--sandbox``: it reads no other file and no network. What other
converters did with the same files is in ``benchmarks/notes/office_converters.md``.
"""

import atexit
import importlib.util
import io
import re
import signal
import subprocess
import zipfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from operators.foundation.extras import installing
from operators.foundation.os_user import clean_environment
from operators.sources.sandbox import Passing, Sandbox, Stopped

CONVERTER = "pandoc/1"
"""A part of the hash of each converted document: another one reads them again."""

MAX_CHARACTERS = 20_000_000
"""Maximum length of a converted text."""

SANDBOX = Sandbox(
    "operators.sources.formats.pandoc:answer",
    memory_bytes=2 << 30,
    cpu_s=60,
    wall_s=120.0,
    requests_a_child=500,
)
"""Reads the documents of this process, one after the other."""

atexit.register(SANDBOX.close)

_FILTER = Path(__file__).with_name("pandoc_markdown.lua")
_OPTIONS = ("--sandbox", "--to=gfm-raw_html", "--wrap=preserve", "--reference-location=block")
_READERS = {"tex": "latex"}  # the others are named as the kind
_END_S = 110  # timeout of pandoc, before that of the sandbox
_OUT_OF_MEMORY = 251  # an exit status of pandoc
_COMPOUND = b"\xd0\xcf\x11\xe0"  # begins a .doc, and any Office file with a password
_PART = 50_000_000  # bytes of a part that are searched
_DATES = re.compile(
    rb"<(?:dcterms:(created|modified)|meta:(creation)-date|dc:(date))\b[^>]*>\s*([\w:.+-]{4,40})"
)
_HYPHENS = {0x2011: "-", 0xAD: None}  # one that never breaks, one that is seen at a break only
_UNREAD = (  # the beginning of a part's name, a mark in the part, what pandoc does not read
    ("word/document.xml", b"txbxContent", "text boxes"),
    ("word/document.xml", b"w:fldSimple ", "simple fields"),
    ("word/document.xml", b"<w:customXml ", "custom XML"),
    ("word/comments.xml", b"<w:comment ", "comments"),
    ("ppt/slides/slide", b"<p:grpSp>", "groups of shapes"),
    ("ppt/notesSlides/", b"<p:txBody>", "notes of slides"),
    ("xl/worksheets/sheet", b'"inlineStr"', "cells with inline text"),
)
_WARNINGS = {
    b"Could not load include file": "files that it includes are not part of its text",
    b"falling back to latin1": "its encoding is not UTF-8: read as Latin-1",
}


class Converted(NamedTuple):
    """A document's text in Markdown, and when it says it was created and modified."""

    text: str
    dates: tuple[str | None, str | None]
    note: str | None = None  # why the text may be wrong or incomplete


@cache
def program() -> Path | None:
    """The pandoc of the extra ``office``; None if it is not installed."""
    package = importlib.util.find_spec("pypandoc")
    found = Path(package.origin).with_name("files") if package and package.origin else None
    names = (found / "pandoc", found / "pandoc.exe") if found else ()
    return next(filter(Path.is_file, names), None)


def why_missing(kind: str) -> str | None:
    """Why a document of ``kind`` is left out, with the command to install; None: pandoc is here."""
    return None if program() else f"to read .{kind}: {installing('office')}"


def converted(data: bytes, kind: str) -> Converted:
    """Read a document of one of the kinds ``languages.CONVERTED``.

    Raises:
        ValueError: it is damaged or encrypted, or goes beyond a limit.
        ChildProcessError: something killed the reader; a retry may read the document.
    """
    try:
        reply = SANDBOX.ask(kind.encode() + b"\n" + data)
    except Passing as stopped:
        raise ChildProcessError(str(stopped)) from None
    except Stopped as stopped:
        raise ValueError(f"not a readable .{kind}: {stopped}") from None
    if why := reply.get("killed"):
        raise ChildProcessError(why)
    if why := reply.get("failed"):
        raise ValueError(f"not a readable .{kind}: {why}")
    created, modified = reply["dates"]
    return Converted(reply["text"], (created, modified), "; ".join(reply["notes"]) or None)


def answer(request: bytes) -> dict[str, Any]:
    """The reply to a kind as a line, then a document: ``text``, ``dates``, ``notes``; or why not.

    Runs in the process that may be killed.
    """
    kind, _, data = request.partition(b"\n")
    try:
        return _read(data, kind.decode())
    except MemoryError:
        return {"failed": "it takes more memory than allowed"}


def _read(data: bytes, kind: str) -> dict[str, Any]:
    if data.startswith(_COMPOUND):
        what = "it has a password or the format of Office 97"
        return {"failed": f"{what}: save it as .{kind} without a password"}
    command = [str(program()), *_OPTIONS, f"--lua-filter={_FILTER}"]
    command.append(f"--from={_READERS.get(kind, kind)}")
    try:
        done = subprocess.run(
            command, input=data, capture_output=True, timeout=_END_S, env=clean_environment()
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"stopped: it took more than {_END_S} s"}
    if why := why_failed(done):
        return why
    text = done.stdout.decode().strip("\n").translate(_HYPHENS)
    if len(text) > MAX_CHARACTERS:
        return {"failed": f"more than {MAX_CHARACTERS} characters of text"}
    dates, unread = _about(data)
    notes = [why for mark, why in _WARNINGS.items() if mark in done.stderr]
    notes += [f"not read: its {', '.join(unread)}"] if unread else []
    notes += [] if text else ["it has no text: scanned?"]
    return {"text": text, "dates": dates, "notes": notes}


def why_failed(done: subprocess.CompletedProcess[bytes]) -> dict[str, str] | None:
    """``failed`` or ``killed`` with a line why; None if pandoc did its work."""
    status = done.returncode
    if not status:
        return None
    if status == _OUT_OF_MEMORY:
        return {"failed": f"stopped: it took more than {SANDBOX.memory_bytes >> 20} MiB"}
    if -status == signal.SIGXCPU:
        return {"failed": f"stopped: it took more than {SANDBOX.cpu_s} s of CPU"}
    if -status in (signal.SIGKILL, signal.SIGTERM):
        return {"killed": f"its reader was killed (signal {-status}): ingest again"}
    why = " ".join(done.stderr.decode(errors="replace").split())
    return {"failed": why[:300] or f"pandoc ended ({status})"}


def _about(data: bytes) -> tuple[tuple[str | None, str | None], list[str]]:
    """When a package was created and modified, and what of it pandoc does not read."""
    dates: dict[str, str] = {}
    unread: set[str] = set()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                marks = [(mark, what) for start, mark, what in _UNREAD if name.startswith(start)]
                dated = name in ("docProps/core.xml", "meta.xml") or name.endswith(".opf")
                if not (marks or dated):
                    continue
                with archive.open(name) as part:
                    content = part.read(_PART)
                unread |= {what for mark, what in marks if mark in content}
                for *kinds, value in _DATES.findall(content) if dated else ():
                    dates.setdefault(b"".join(kinds).decode(), value.decode())
    except Exception:  # any error of a damaged archive: pandoc has read what it could
        pass
    created, modified = dates.get("created", dates.get("creation")), dates.get("modified")
    return (created, modified or dates.get("date")), sorted(unread)
