"""The process that parses code: text comes in, its breaks go out, and it may be killed any time.

Run as a script, not imported by the program: ``python -I syntax_child.py MEMORY CPU_SECONDS``. A
request is the name of a grammar, a NUL and the text; a reply is what
:func:`operators.sources.chunking.syntax_tree.tree_breaks` returns.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))  # -I leaves it out

from operators.sources.chunking.syntax_tree import tree_breaks
from operators.sources.sandbox import serve


def answer(request: bytes) -> Any:
    """The breaks of one text."""
    name, _, source = request.partition(b"\0")
    return tree_breaks(source.decode(), name.decode())


if __name__ == "__main__":
    memory, seconds = map(int, sys.argv[1:])
    serve(answer, memory_bytes=memory, cpu_s=seconds)
