"""Pages a second of the PDF reader, and how many of pdftotext's words it finds.

    python -m benchmarks.pdf_reader FILE.pdf ... [--repeat 3]

Without files: the manuals of the Debian packages debian-policy and maint-guide, where they are
installed. The reference is ``pdftotext`` (Debian package poppler-utils); without it pages are
counted alone. Recall and precision count
words with their repetitions; a word is a run of letters and digits, lower case.
"""

from __future__ import annotations

import argparse
import gzip
import re
import shutil
import subprocess
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.table import Table

from operators.sources.formats.pdf import PdfReader, pdf_text

MANUALS = (
    "/usr/share/doc/debian-policy/policy.pdf.gz",
    "/usr/share/doc/debian-policy/fhs/fhs-3.0.pdf.gz",
    "/usr/share/doc/maint-guide/maint-guide.en.pdf",
)
WORD = re.compile(r"\w+")


def content(file: Path) -> bytes:
    return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()


def words(text: str) -> Counter[str]:
    return Counter(WORD.findall(text.casefold()))


def reference(data: bytes) -> str:
    """What pdftotext reads."""
    command = ["pdftotext", "-enc", "UTF-8", "-", "-"]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode()


def measure(reader: PdfReader, data: bytes, repeat: int) -> tuple[int, float, str]:
    """Pages, pages a second (the fastest of ``repeat``), and the text."""
    seconds = []
    for _ in range(repeat):
        began = time.perf_counter()
        pdf = reader.read(data)
        text = pdf_text(pdf)
        seconds.append(time.perf_counter() - began)
    pages = len(pdf.pages)
    return pages, pages / min(seconds), text


def compared(data: bytes, text: str) -> tuple[str, str]:
    """Recall and precision of the words of ``text``; ``-`` without pdftotext."""
    if shutil.which("pdftotext") is None:
        return "-", "-"
    expected, read = words(reference(data)), words(text)
    shared = sum((expected & read).values())
    return f"{shared / expected.total():.4f}", f"{shared / max(read.total(), 1):.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    files = arguments.files or [file for name in MANUALS if (file := Path(name)).exists()]
    if not files:
        parser.error("no PDF: name one, or install debian-policy and maint-guide")
    table = Table("file", "pages", "pages/s", "recall", "precision", title="PDF against pdftotext")
    with closing(PdfReader()) as reader:
        for file in files:
            data = content(file)
            pages, pace, text = measure(reader, data, arguments.repeat)
            table.add_row(file.name, f"{pages}", f"{pace:.0f}", *compared(data, text))
    Console().print(table)


if __name__ == "__main__":
    main()
