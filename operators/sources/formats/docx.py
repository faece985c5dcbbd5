"""Word documents (.docx) to text, in a child process that is killed if it takes too much.

The package is read with zipfile and expat, with bounds and without a tree: a ZIP may unpack to a
thousand times its size, and XML may nest without end. These libraries were tried (November 2026) on
27 made files, one a construct, and on 9 bombs with a gigabyte of memory and 30 s of CPU:

- office-oxide 0.1 reads 23. It misses headings whose style is based on a heading, writes the
  fraction 1/24 as 124 and the lambda of the font Symbol as an l. It finds no notes in a package
  without relationships, and gives bombs back as documents without text.
- mammoth 1.13 reads 17: no formulas, headers, outline levels or rows of tables. 14 MB of XML take
  770 MB and 17 times the CPU.
- pandoc, a program of 150 MB, reads 16: no headers, text boxes or comments.
- undoc 0.27 reads 15 and kreuzberg 4.10 reads 12: they refuse a main part with another name, lose
  headers and formulas, and give moved text twice.
- docx2python 3.7 reads 13 and docx2txt 0.9 reads 9: hyphens lost, moved text and text boxes twice.
- python-docx 1.2 reads 12: it refuses the strict format, and drops tracked insertions, notes, text
  boxes and content controls.
"""

import atexit
from typing import NamedTuple

from operators.sources.sandbox import Passing, Sandbox, Stopped

SANDBOX = Sandbox(
    "operators.sources.formats.word.process:answer",
    memory_bytes=1 << 30,
    cpu_s=30,
    wall_s=60.0,
    requests_a_child=500,
)
"""Reads the documents of this process, one after the other."""

atexit.register(SANDBOX.close)


class Word(NamedTuple):
    """A document's text, its first heading, and when it says it was created and modified."""

    text: str
    title: str | None
    dates: tuple[str | None, str | None]
    note: str | None = None  # why the text may be wrong


def read_docx(data: bytes) -> Word:
    """Read a .docx.

    Raises:
        ValueError: it is no .docx, is damaged or encrypted, or goes beyond a limit.
        ChildProcessError: something killed the reader; a retry may read the document.
    """
    try:
        reply = SANDBOX.ask(data)
    except Passing as stopped:
        raise ChildProcessError(str(stopped)) from None
    except Stopped as stopped:
        raise ValueError(f"not a readable .docx: {stopped}") from None
    if why := reply.get("failed"):
        raise ValueError(f"not a readable .docx: {why}")
    created, modified = reply["dates"]
    note = None if reply["text"] else "it has no text: scanned?"
    return Word(reply["text"], reply["title"], (created, modified), note)
