"""PDFs to text, in a child process that is killed if it takes too much.

PDFium reads them: fast, and it keeps words apart where pdfplumber and pypdf glue them. A PDF is a
program for a stack machine, written by anyone: 4 kB can unfold to gigabytes. So the child has
bounds of memory, CPU and time, and its parent survives its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from operators.sources.sandbox import Passing, Sandbox, Stopped

PAGE_BREAK = "\f"
"""A separate line between two pages of a text from :func:`pdf_text`."""

_MAGIC_WITHIN = 1024

# PDFium's mark of a hyphen at the end of a line. Before a digit or a capital it is part of a name.
_BROKEN_WORD = re.compile(r"(?<=\w)[\ufffe\x02](?:\r?\n)?(?=(\w))")
_LINE_HYPHEN = re.compile(r"[\ufffe\x02]")
_NEWLINE = re.compile(r"\r\n?")
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f]")
_LOOKS_LIKE_HEADING = re.compile(r"(?=#{1,6} )", re.M)
_NUMBERING = re.compile(r"(?:chapter|section|appendix|part)?[0-9ivxlc]{0,12}[a-z]?[0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class PdfLimits:
    """The bounds of one PDF."""

    memory_bytes: int = 1 << 30  # address space of the child
    cpu_s: int = 30
    wall_s: float = 60.0  # timeout
    pages: int = 20_000
    page_characters: int = 200_000
    characters: int = 20_000_000  # of all pages


@dataclass(frozen=True, slots=True)
class PdfText:
    """The content of a PDF."""

    pages: list[str]  # the text of each as it was read
    info: dict[str, str]  # Title, Author, CreationDate and ModDate as stored, where it has them
    outline: list[tuple[int, str, int]]  # level (from 1), title, page (from 0) of each bookmark
    unread: list[int]  # pages that could not be read, from 1; their text is empty


class PdfRefused(Exception):
    """A PDF gave no text: its ``state`` (``no_text``, ``encrypted``, ``failed``) and a line why.

    ``passing`` means that the PDF is not the cause, so that a retry may read it.
    """

    def __init__(self, state: str, reason: str, *, passing: bool = False) -> None:
        self.state, self.reason, self.passing = state, reason, passing
        super().__init__(reason if state == "failed" else f"{state}: {reason}")


class PdfReader(Sandbox):
    """A child process that reads one PDF after the other. Close it."""

    def __init__(self, limits: PdfLimits | None = None) -> None:
        self.limits = limits = limits or PdfLimits()
        super().__init__(
            "operators.sources.formats.pdf_process:answer",
            memory_bytes=limits.memory_bytes,
            cpu_s=limits.cpu_s,
            wall_s=limits.wall_s,
            requests_a_child=500,
        )

    def read(self, data: bytes) -> PdfText:
        """The text of a PDF.

        Raises:
            PdfRefused: no PDF, empty, encrypted, scanned, damaged, or beyond a limit.
        """
        if not data:
            raise PdfRefused("failed", "empty file")
        if b"%PDF-" not in data[:_MAGIC_WITHIN]:
            raise PdfRefused("failed", f"not a PDF: it begins with {data[:12]!r}")
        try:
            reply = self.ask(json.dumps(asdict(self.limits)).encode() + b"\n" + data)
        except Stopped as stopped:
            passing = isinstance(stopped, Passing)
            raise PdfRefused("failed", str(stopped), passing=passing) from None
        if (state := reply.pop("state")) != "text":
            raise PdfRefused(state, " ".join(reply["reason"].split())[:300])
        return PdfText(**reply | {"outline": [(*entry,) for entry in reply["outline"]]})


def pdf_text(found: PdfText) -> str:
    r"""The pages as one text: a ``PAGE_BREAK`` line between pages, ``## Title`` at bookmarks.

    A bookmark whose title is not on its page is left out. Other lines that look like a heading are
    indented.

    >>> print(pdf_text(PdfText(["a\nTwo\nb", "c"], {}, [(2, "Two", 0)], [])).encode())
    b'a\n\n## Two\n\nb\n\x0c\nc\n'
    """
    sections: dict[int, list[tuple[int, str]]] = {}
    for level, title, page in found.outline:
        sections.setdefault(page, []).append((level, title))
    pages = [_page(text, sections.get(number, ())) for number, text in enumerate(found.pages)]
    return f"{PAGE_BREAK}\n".join(f"{page}\n" for page in pages)


def pdf_title(found: PdfText) -> str | None:
    """The title of the information dictionary, unless a program filled in a file's name."""
    title = " ".join(found.info.get("Title", "").split())
    generated = re.search(r"\.(docx?|pptx?|xlsx?|indd|tex|dvi|odt|rtf|fm|qxd)$", title, re.I)
    return None if generated or title.lower() in ("", "untitled", "title", "none") else title


def _page(text: str, sections: Sequence[tuple[int, str]]) -> str:
    text = _BROKEN_WORD.sub(lambda m: "" if m[1].islower() else "-", text)
    text = _NEWLINE.sub("\n", _LINE_HYPHEN.sub("-", text))
    text = _LOOKS_LIKE_HEADING.sub(" ", _CONTROL.sub(" ", text)).rstrip()
    if not sections:
        return text
    lines = text.split("\n")
    folded = [_folded(line) for line in lines]
    at = 0
    for level, title in sections:
        ends = _folded(title)
        for number in range(at, len(lines)) if ends else ():
            line = folded[number]
            if line.endswith(ends) and _NUMBERING.fullmatch(line[: -len(ends)]):
                lines[number] = f"\n{'#' * min(level, 6)} {lines[number].strip()}\n"
                at = number + 1
                break
    return "\n".join(lines)


def _folded(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())
