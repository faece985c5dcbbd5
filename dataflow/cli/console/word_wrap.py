"""Lines for a terminal, broken between words: a terminal itself breaks within them."""

import shutil
import textwrap
from typing import TextIO


def wrap_words(text: str, width: int) -> str:
    """``text`` in lines of at most ``width`` columns that keep their indentation.

    A longer word, such as a link, stays whole: the terminal wraps it, and it can be copied.

    >>> print(wrap_words("    a limiter protects an application", 20))
        a limiter
        protects an
        application
    """
    lines = []
    for line in text.split("\n"):
        margin = line[: len(line) - len(line.lstrip())]
        folded = textwrap.wrap(
            line,
            width,
            subsequent_indent=margin,
            break_long_words=False,
            break_on_hyphens=False,
            replace_whitespace=False,
        )
        lines += folded or [line]
    return "\n".join(lines)


def for_stream(text: str, stream: TextIO) -> str:
    """``text`` for ``stream``: wrapped for a terminal, else unchanged."""
    return wrap_words(text, shutil.get_terminal_size().columns) if stream.isatty() else text
