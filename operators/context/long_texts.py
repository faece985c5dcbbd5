"""Reduces a long query to the parts worth searching: an issue's text, a pasted log, a pull request.

Title and prose describe the problem, and the end of a traceback gives the location. Package lists,
logs, console output, checklists of a template and long scripts are many words with little
information: they drown the rest, and a model reads only the first windows of a long text.
"""

import re
from collections.abc import Iterator, Sequence

import polars as pl

from operators.foundation.markdown_blocks import without_comments

SHORT = 800
"""Characters of a text that is searched unchanged."""

LONGEST_CODE = 12
"""Lines of a block of code that are searched."""

LAST_FRAMES = 3
"""Frames of a traceback that are searched, innermost first."""

_READ_OF_A_LINE = 200
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_TRACEBACK = re.compile(r"\s*(?:\S+> )?Traceback \(most recent call last\)")
_FRAME = re.compile(
    r"\s*(?:\S+> +)?(?:"
    r"File \"[^\"]+\", line \d"  # Python
    r"|at .{1,150}[(:]\S+:\d"  # Java, JavaScript, C#
    r"|\S+\.\w{1,4}:\d+: "  # pytest, a compiler
    r"|#?\d+:? +0x[0-9a-f]"  # gdb, Rust
    r")"
)
_DUMP = re.compile(
    r"\s*(?:"
    r"[\w.-]{1,60}[ =@:>v(]{1,60}\d+(?:\.\w+)+\S*(?: .{0,40})?$"  # name 1.2.3
    r"|\[?\d{2,4}[-/:.]\d{2}[-/:.]\d{2}"  # a time of day
    r"|\[? ?(?:DEBUG|INFO|WARN(?:ING)?|TRACE|ERROR)\b"
    r"|[=\-_~*#+.|]{4,}"  # a ruler, a table
    r"|(?:\$|>>>|\.\.\.|C:\\[^>]*>|[\w.@~-]{1,60}[$#%]) "  # a prompt
    r"|(?:collecting|collected|platform|cachedir|rootdir|plugins|Requirement already|Downloading|"
    r"Successfully|Installing|Using cached|copying|running|building|creating|writing) "
    r"|(?:0x)?[0-9a-fA-F]{8,}\b"
    r"|[-+*] \[[ xX]\]"  # a checklist
    r")"
)
_TEMPLATE = re.compile(
    r"\s*(?:#+ *|\*\*)?(?:check ?list|environment|your environment|versions?|"
    r"system info(?:rmation)?|additional (?:context|information)|package versions|"
    r"output of .{0,60}|pip (?:list|freeze)|checklist before .{0,40})[*:\s]*",
    re.IGNORECASE,
)


def reduced(queries: pl.DataFrame) -> pl.DataFrame:
    """``queries`` (``QUERIES``) with the :func:`essential` part of each text.

    The column ``cut`` says how much of the query is searched.
    """
    columns = queries["texts", "cut"].rows()
    texts = [[essential(text) for text in own] for own, _ in columns]
    cuts = [_with_note(own, kept, cut) for (own, cut), kept in zip(columns, texts, strict=True)]
    return queries.with_columns(
        pl.Series("texts", texts, dtype=pl.List(pl.String)),
        pl.Series("cut", cuts, dtype=pl.String),
    )


def essential(text: str) -> str:
    """``text`` without pasted data; a text of up to ``SHORT`` characters is unchanged.

    It keeps all prose, the first ``LONGEST_CODE`` lines of a block of code, and the last
    ``LAST_FRAMES`` frames and the error of a traceback. A text with nothing else is unchanged.

    >>> print(essential("Crash on start\\n\\nIt fails.\\n\\n" + "numpy==1.2.3\\n" * 99))
    Crash on start
    <BLANKLINE>
    It fails.
    """
    if len(text) <= SHORT:
        return text
    blocks = _blocks(without_comments(text).split("\n"))
    kept = "\n".join(line for block in blocks for line in _kept(block))
    if len(kept.split()) == len(text.split()):
        return text
    return re.sub(r"\n{3,}", "\n\n", kept).strip() or text


def _with_note(texts: Sequence[str], kept: Sequence[str], cut: str | None) -> str | None:
    """``cut`` and a sentence about the parts of ``texts`` that are not searched."""
    before, after = sum(map(len, texts)), sum(map(len, kept))
    if after == before:
        return cut
    sentence = (
        f"{after:,} of the question's {before:,} characters are searched:"
        " not its logs, lists of packages, long code and outer frames"
    )
    return f"{cut}; {sentence}" if cut else sentence


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines in blocks: fenced code, indented code, and the text between."""
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
        elif block and line.strip() and _indented(block[-1]) != _indented(line):
            if _FRAME.match(line):
                block.append(line)
                continue
            yield block
            block = [line]
        else:
            block.append(line)
    yield block


def _indented(line: str) -> bool:
    return line.startswith(("    ", "\t", ">", "E "))


def _kept(block: list[str]) -> list[str]:
    """The lines of a block that carry information."""
    heads = [line[:_READ_OF_A_LINE] for line in block]
    frames = [n for n, line in enumerate(heads) if _FRAME.match(line)]
    if len(frames) > LAST_FRAMES or any(_TRACEBACK.match(line) for line in heads):
        first = frames[-LAST_FRAMES] if len(frames) > LAST_FRAMES else 0
        before = [line for line in heads[: frames[0] if frames else 0] if not _DUMP.match(line)]
        return [*before[-2:], *block[first : first + 2 * LAST_FRAMES + 4]]
    own = [
        line
        for line, head in zip(block, heads, strict=True)
        if not _DUMP.match(head) and not _TEMPLATE.fullmatch(head)
    ]
    is_code = bool(block) and (_FENCE.match(block[0]) is not None or _indented(block[0]))
    return own[: LONGEST_CODE + 2] if is_code else own
