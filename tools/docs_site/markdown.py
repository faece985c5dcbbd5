"""Markdown from docstrings and tables."""

import html
import inspect
import re
from collections.abc import Iterable, Sequence

_ROLE = re.compile(r":(?:\w+:)?\w+:`~?([^`]*)`")
_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Example|Examples):$")
_ITEM = re.compile(r"^(\*{0,2}[\w, .*]+):\s(.*)$", re.DOTALL)
_TITLES = {"Args": "Arguments", "Example": "Example", "Yields": "Yields"}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, or nothing where it has no rows.

    >>> table(["a"], [["1"], ["2"]])
    '| a |\\n|---|\\n| 1 |\\n| 2 |\\n'
    """
    lines = [_row(row) for row in rows]
    return "".join([_row(head), "|" + "---|" * len(head) + "\n", *lines]) if lines else ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()) for cell in cells) + " |\n"


def code(text: object) -> str:
    """A value as code, which may stand in a table; nothing for an empty one.

    >>> code("a | b"), code("")
    ('<code>a &#124; b</code>', '')
    """
    shown = str(text)
    if not shown:
        return ""
    if "|" in shown or "`" in shown:
        return f"<code>{html.escape(shown, quote=False).replace('|', '&#124;')}</code>"
    return f"`{shown}`"


def without_modules(text: str) -> str:
    """A type whose names are without the modules that they are in.

    >>> without_modules("dict[str, polars.dataframe.frame.DataFrame]")
    'dict[str, DataFrame]'
    """
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text)


def first_sentence(of: object) -> str:
    """The first paragraph of a docstring, in one line."""
    return inline((inspect.getdoc(of) or "").partition("\n\n")[0].replace("\n", " "))


def inline(text: str) -> str:
    """The marks of reStructuredText as those of Markdown.

    >>> inline("``a`` and :func:`x.y.z`, <b>")
    '`a` and `z`, &lt;b>'
    """
    text = _ROLE.sub(lambda match: f"`{match[1].rpartition('.')[2]}`", text).replace("``", "`")
    parts = text.split("`")
    parts[::2] = [part.replace("<", "&lt;").replace("|", "&#124;") for part in parts[::2]]
    parts[1::2] = [code(part) for part in parts[1::2]]
    return "".join(parts)


def docstring(of: object) -> str:
    """A whole docstring: paragraphs, doctests as code, and its sections as tables."""
    return prose(inspect.getdoc(of) or "")


def prose(text: str) -> str:
    """The text of a docstring as Markdown."""
    written: list[str] = []
    lines = text.split("\n")
    while lines:
        line = lines.pop(0)
        if match := _SECTION.match(line):
            body = []
            while lines and (not lines[0].strip() or lines[0].startswith(" ")):
                body.append(lines.pop(0))
            written.append(_section(match[1], inspect.cleandoc("\n".join(["", *body]))))
        elif line.startswith(">>> "):
            block = [line]
            while lines and lines[0].strip():
                block.append(lines.pop(0))
            written.append("```pycon\n" + "\n".join(block) + "\n```\n")
        elif line.endswith("::"):
            written.append(inline(line.removesuffix(":")) + "\n")
        elif line.startswith("    "):
            written.append(line)
        else:
            written.append(inline(line))
    return "\n".join(written)


def _section(name: str, body: str) -> str:
    title = f"**{_TITLES.get(name, name)}**\n\n"
    if name in ("Args", "Attributes", "Raises"):
        items = [item for item in re.split(r"\n(?=\S)", body) if item.strip()]
        rows = []
        for item in items:
            match = _ITEM.match(item)
            what, about = (match[1], match[2]) if match else ("", item)
            rows.append([code(what), _in_cell(about)])
        return title + table(["name" if name != "Raises" else "error", "what"], rows)
    return title + prose(body) + "\n"


def _in_cell(text: str) -> str:
    """Text of a table's cell; the deeper lines are items of their own."""
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    depth = min((len(line) - len(line.lstrip()) for line in lines[1:]), default=0)
    parts = []
    for number, line in enumerate(lines):
        first = number and len(line) - len(line.lstrip()) == depth
        match = _ITEM.match(line.strip()) if first else None
        if match and re.fullmatch(r"[a-z]+(_[a-z]+)*", match[1]):
            parts.append(f"<br>{code(match[1])}: {inline(match[2])}")
        else:
            parts.append(inline(line.strip()))
    return " ".join(parts)
