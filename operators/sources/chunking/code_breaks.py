"""Where code may be cut, told by its syntax, and what is defined on which lines.

A cut before a line goes through every piece of syntax that starts above the line and ends on it or
below. The fewer, the better: cutting at the shallowest place that fills a chunk is split-then-merge
(a piece too large is cut between its parts, small neighbours stay together) without a second
chunker.

The parser runs in a child process. On ambiguous text some grammars take memory with the square of
its length in one step that nothing can interrupt: 80 kB of ``a < a < a`` as Java take 5 GB.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from operators.sources.chunking.grammars import grammar_name, loaded
from operators.sources.sandbox import exchange, start

MAX_PARSED = 1_000_000
"""Bytes; a larger text is data or generated."""

MEMORY, CPU_SECONDS, WALL_SECONDS = 1 << 30, 5, 30.0
"""What the parser may take for one text; on Windows the clock alone bounds it."""

_CHILD = Path(__file__).with_name("syntax_process.py")
_TEXTS_A_CHILD = 5_000
"""Then a new one takes over: what a grammar leaks is given back."""


class Definition(NamedTuple):
    """A function, a class or the like: its 0-based lines, both inclusive, and qualified name."""

    first: int  # of its comments and decorators, where it has some
    last: int
    name: str


class Breaks(NamedTuple):
    """What the syntax of a text says about its lines."""

    depths: list[int]  # for each line: how many pieces of syntax a cut before it goes through
    definitions: list[Definition]  # by first line, the outer before the inner

    def innermost(self) -> list[str | None]:
        """For each line the name of the innermost definition that it is in."""
        names: list[str | None] = [None] * len(self.depths)
        for definition in self.definitions:
            length = definition.last + 1 - definition.first
            names[definition.first : definition.last + 1] = [definition.name] * length
        return names


class Unparsed(NamedTuple):
    """A language that is known, in a text that was not parsed."""

    reason: str


def breaks(text: str, language: str | None, path: str | None = None) -> Breaks | Unparsed | None:
    r"""How well ``text`` can be cut before each of its lines, and what it defines where.

    Args:
        text: any text; its lines end with ``\n``.
        language: as :func:`operators.sources.formats.languages.code_language` names it.
        path: tells dialects apart, where given.

    Returns:
        None where the language is not known. ``Unparsed`` where it is, but the text is too large,
        takes the parser too much, or its grammar is not on this machine.

    >>> breaks("class A:\n    def f(self):\n        pass\n", "python").definitions
    [Definition(first=0, last=2, name='A'), Definition(first=1, last=2, name='A.f')]
    """
    name = grammar_name(language, path, text)
    source = text.encode("utf-8", "replace")
    if name is None:
        return None
    if len(source) > MAX_PARSED:
        return Unparsed(f"it is larger than {MAX_PARSED} bytes")
    reply = _PARSER.ask(name.encode() + b"\0" + source)
    if reply is None:
        if loaded(name) is None:
            return Unparsed(f"no grammar of {name} on this machine")
        return Unparsed(f"the grammar of {name} gave up")
    depths, definitions = reply
    return Breaks(depths, [Definition(*found) for found in definitions])


def symbol(definitions: Sequence[Definition], first: int, last: int) -> str | None:
    """The name for the lines ``first`` to ``last``: of the definition that has most of them.

    Of several the first, and the innermost of those inside each other.
    """
    best, most = None, 0
    for definition in definitions:
        if definition.first > last:
            break
        shared = min(definition.last, last) - max(definition.first, first) + 1
        inside = best is not None and definition.last <= best.last
        if shared > most or (shared == most > 0 and inside):
            best, most = definition, shared
    return best.name if best else None


class _Parser:
    """The child process: started at the first text, replaced when it died, ended with this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = self._answered = 0

    def ask(self, request: bytes) -> Any:
        """The child's answer; None where it has none or was ended at a limit.

        A grammar can crash on what earlier texts left in memory: a child that fails after others is
        replaced, and the text asked once more, so that the answer is a fresh child's.
        """
        with self._lock:
            if self._owner != os.getpid():  # after a fork the child is the parent's
                self._child, self._owner = None, os.getpid()
            if self._answered >= _TEXTS_A_CHILD:
                self.close()
            used = self._child is not None
            reply = self._try(request)
            if reply is None and used:
                reply = self._try(request)
            return None if reply is None else json.loads(reply)

    def _try(self, request: bytes) -> bytes | None:
        if self._child is None:
            self._child, self._answered = start(_CHILD, str(MEMORY), str(CPU_SECONDS)), 0
        clock = threading.Timer(WALL_SECONDS, self._child.kill)
        clock.daemon = True
        clock.start()
        try:
            reply = exchange(self._child, request)
        except BaseException:
            self.close()
            raise
        finally:
            clock.cancel()
        self._answered += 1
        if reply is None:
            self.close()
        return reply

    def close(self) -> None:
        """End the child, if there is one."""
        child, self._child = self._child, None
        if child is not None and self._owner == os.getpid():
            child.kill()
            child.communicate()


_PARSER = _Parser()
atexit.register(_PARSER.close)
