"""The process that parses code: text comes in, its breaks go out, and it may be killed any time.

Run as a script, not imported by the program: ``python -I syntax_child.py MEMORY CPU_SECONDS``. A
request on standard input is a length (4 bytes, big-endian), the name of a grammar, a NUL and the
text; a reply on standard output is a length and the JSON of what
:func:`operators.sources.syntax_tree.tree_breaks` returns.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # -I leaves it out

from operators.sources.syntax_tree import tree_breaks


def main() -> None:
    """Answer requests until standard input ends."""
    memory, seconds = map(int, sys.argv[1:])
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a grammar prints goes nowhere
    _limit_memory(memory)
    while header := requests.read(4):
        (size,) = struct.unpack(">I", header)
        data = requests.read(size)
        if len(data) < size:
            return
        _limit_cpu(seconds)
        name, _, source = data.partition(b"\0")
        reply = json.dumps(tree_breaks(source.decode(), name.decode())).encode()
        replies.write(struct.pack(">I", len(reply)) + reply)
        replies.flush()


def _limit_memory(size: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError, OSError):  # macOS knows no such limit
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _limit_cpu(seconds: int) -> None:
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + seconds + 1
    with contextlib.suppress(ValueError, OSError):  # the bound that is in force is tighter
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    main()
