"""The dates in a PDF's information dictionary.

The form is ISO 32000-1 section 7.9.4, ``D:YYYYMMDDHHmmSSOHH'mm'`` with all after the year optional.
Of 1,936 PDFs in the wild every fifteenth dated one departs from it: a quote too many or too few,
``Z00'00'``, no ``D:``, ``ctime`` text, the year 2000 as ``19100``.
"""

import os
import re
import threading
from contextlib import closing
from datetime import datetime
from pathlib import Path

from operators.foundation.date_text import DateRefused, parse_date

_PDFIUM = threading.Lock()  # held around every call in this process: it is not thread-safe

_DATE = re.compile(
    r"(?P<digits>[0-9]{4}(?:[0-9]{2}){0,5})"
    r"(?:[Zz](?:00'?(?:00'?)?)?'?|(?P<sign>[+-])(?P<zh>[0-9]{1,2})(?:[':]?(?P<zm>[0-9]{2}))?'?'?)?",
    re.ASCII,
)
_FIRST = "00000101000000"  # what a date without month, day or time means
# Writers that took C's tm_year for two digits wrote 100 for the year 2000.
_YEAR_2000 = re.compile(r"19(1[0-9]{2})(?=[0-9]{10}(?![0-9]))", re.ASCII)


def parse_pdf_date(raw: str) -> datetime:
    """The moment in UTC of a PDF date string; UTC where it names no zone.

    >>> parse_pdf_date("D:20250315233000-08'00'").isoformat()
    '2025-03-16T07:30:00+00:00'
    >>> parse_pdf_date("D:20221220004256Z'").isoformat()
    '2022-12-20T00:42:56+00:00'

    Raises:
        DateRefused: it is no date; the message says why.
    """
    text = raw.replace("\0", "").strip()
    marked = text[:2] in ("D:", "d:")
    text = text[2:].strip() if marked else text
    if not text:
        raise DateRefused("empty")
    text = _YEAR_2000.sub(lambda m: str(1900 + int(m[1])), text, count=1)
    match = _DATE.fullmatch(text)
    if match is None or not (marked or len(match["digits"]) >= 8):
        return parse_date(text)
    digits = match["digits"]
    zone = f"{match['sign']}{match['zh']}{match['zm'] or '00'}" if match["sign"] else ""
    return parse_date(digits + _FIRST[len(digits) :] + zone)


def read_pdf_info(path: str | Path) -> tuple[str | None, str | None]:
    """CreationDate and ModDate in ``path``'s information dictionary, unparsed; None: absent.

    A file that is no PDF, damaged, locked by a password or not there has neither.
    """
    import pypdfium2

    if not os.path.isfile(path):  # a pipe is not opened
        return None, None
    with _PDFIUM:
        try:
            with closing(pypdfium2.PdfDocument(path)) as document:
                created, modified = map(document.get_metadata_value, ("CreationDate", "ModDate"))
        except (pypdfium2.PdfiumError, OSError):
            return None, None
    return created or None, modified or None
