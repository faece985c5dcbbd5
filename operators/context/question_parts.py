"""What a long question says: an issue's text, a pasted log, a pull request.

Title and prose say what is wanted, and the end of a traceback where. Package lists, logs, console
output, checklists of a template and long scripts are many words that say little: they drown the
rest, and only the first windows of a long text are embedded.
"""

import re
from collections.abc import Iterator, Sequence

SHORT = 800
"""Characters of a text that is searched as it stands."""

LONGEST_CODE = 12
"""Lines of a block of code that are kept: a script of its reporter says little more."""

LAST_FRAMES = 3
"""Frames of a traceback that are kept, the innermost."""

_COMMENT = re.compile(r"<!--.{0,5000}?-->", re.DOTALL)
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_TRACEBACK = re.compile(r"\s*(?:[|+>E ]\s*)?Traceback \(most recent call last\)")
_FRAME = re.compile(
    r"\s*(?:File \"[^\"]+\", line \d+|at .+[(:]\S+:\d+|\S+\.\w{1,4}:\d+: |#\d+ +0x|\d+: +0x)"
)
_DUMP = re.compile(
    r"\s*(?:"
    r"[\w.-]+ *(?:==|@|=> ?|: )?[ =v(]*\d+(?:\.\w+)+\S*(?: .{0,40})?$"  # name 1.2.3
    r"|\[?\d{2,4}[-/:.]\d{2}[-/:.]\d{2}"  # a clock
    r"|\[? ?(?:DEBUG|INFO|WARN(?:ING)?|TRACE|ERROR)\b"
    r"|[=\-_~*#+.|]{4,}"  # a ruler, a table
    r"|(?:\$|>>>|\.\.\.|C:\\[^>]*>|[\w.@~-]+[$#%]) "  # a prompt
    r"|(?:collecting|collected|platform|cachedir|rootdir|plugins|Requirement already|Downloading|"
    r"Successfully|Installing|Using cached|copying|running|building|creating|writing) "
    r"|(?:0x)?[0-9a-fA-F]{8,}\b"
    r"|[-+*] \[[ xX]\]"
    r")"
)
_TEMPLATE = re.compile(
    r"\s*(?:#+ *|\*\*)?(?:check ?list|environment|your environment|versions?|system info(?:rmation)?|"
    r"additional (?:context|information)|package versions|output of .{0,60}|pip (?:list|freeze)|"
    r"checklist before .{0,40})\**:?\s*",
    re.I,
)


def essential(text: str) -> str:
    """``text`` without what is dumped into it; a short one as it is.

    The first line and all prose stay; of a block of code its first ``LONGEST_CODE`` lines, of a
    traceback its last frames and the error. A text that would lose all its words stays.

    >>> print(essential("Crash on start\\n\\nIt fails.\\n\\n" + "numpy==1.2.3\\n" * 99))
    Crash on start
    <BLANKLINE>
    It fails.
    """
    if len(text) <= SHORT:
        return text
    kept = [line for block in _blocks(_COMMENT.sub("", text).split("\n")) for line in _kept(block)]
    said = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return said or text


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines in runs: what is fenced, tracebacks, indented code, and what stands between."""
    block: list[str] = []
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            block.append(line)
            if mark and mark[1].startswith(fence):
                yield block
                block, fence = [], ""
        elif mark:
            yield block
            block, fence = [line], mark[1]
        elif (
            block
            and (_indented(block[-1]) != _indented(line))
            and line.strip()
            and not _FRAME.match(line)
        ):
            yield block
            block = [line]
        else:
            block.append(line)
    yield block


def _indented(line: str) -> bool:
    return line.startswith(("    ", "\t", ">", "E "))


def _kept(block: list[str]) -> list[str]:
    """The lines of a run that say something."""
    frames = [n for n, line in enumerate(block) if _FRAME.match(line)]
    if len(frames) > LAST_FRAMES or any(_TRACEBACK.match(line) for line in block):
        first = frames[-LAST_FRAMES] if len(frames) > LAST_FRAMES else 0
        before = [line for line in block[: frames[0] if frames else 0] if not _DUMP.match(line)]
        return [*before[-2:], *block[first : first + 2 * LAST_FRAMES + 4]]
    own = [line for line in block if not _DUMP.match(line) and not _TEMPLATE.fullmatch(line)]
    is_code = bool(block) and (_FENCE.match(block[0]) is not None or _indented(block[0]))
    return own[: LONGEST_CODE + 2] if is_code else own
