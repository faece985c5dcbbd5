"""Cleans all text before it is sent to the server.

Postgres stores UTF-8 without U+0000, and a Python string may hold lone surrogates, which UTF-8
cannot encode. U+FFFD replaces both, so that a hostile file is stored and searchable, and does not
fail its batch. Replacements are counted, so that a run can report them.
"""

import re
import threading

import polars as pl

REPLACEMENT = "�"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class _Count(threading.local):
    replaced = 0


_count = _Count()


def clean_text(text: str) -> str:
    """``text`` with every NUL and lone surrogate replaced by U+FFFD.

    >>> clean_text("a\\x00b") == "a" + REPLACEMENT + "b"
    True
    """
    if text.isascii() and "\0" not in text:  # a cheap test that most texts pass
        return text
    cleaned, replaced = _UNSTORABLE.subn(REPLACEMENT, text)
    _count.replaced += replaced
    return cleaned


def replaced_characters() -> int:
    """The number of characters that :func:`clean_text` has replaced in this thread."""
    return _count.replaced


def clean_frame(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """``frame`` with storable string columns, and the number of replaced characters.

    A frame's strings are valid UTF-8, so that only NUL must be replaced.
    """
    strings = (column for column in frame if column.dtype == pl.String)
    nuls = {one.name: one.str.count_matches("\x00", literal=True).sum() for one in strings}
    counts = {name: int(count) for name, count in nuls.items() if count}
    if not counts:
        return frame, 0
    clean = pl.col(*counts).str.replace_all("\x00", REPLACEMENT, literal=True)
    return frame.with_columns(clean), sum(counts.values())


def shown_path(path: bytes) -> str:
    """``path`` as text; bytes that are not UTF-8 are percent-encoded.

    >>> shown_path(b"caf\\xe9 100%.md")
    'caf%E9 100%25.md'
    >>> shown_path("café 100%.md".encode())
    'café 100%.md'
    """
    try:
        return path.decode()
    except UnicodeDecodeError:
        text = path.replace(b"%", b"%25").decode("utf-8", "surrogateescape")
        return "".join(f"%{ord(c) - 0xDC00:02X}" if "\udc80" <= c <= "\udcff" else c for c in text)
