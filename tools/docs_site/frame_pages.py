"""The page of the frames: their columns, types and comments, from ``operators/frames.py``."""

import ast
import inspect
import re

import polars as pl

from operators import frames
from tools.docs_site.markdown import code, inline, table
from tools.docs_site.node_pages import addresses
from tools.docs_site.nodes import nodes

_COLUMN = re.compile(r'^\s*"(\w+)":.*?(?:#\s*(.*))?$')
_NOTE = re.compile(r"^\s*#\s*(.*)$")


def schemas() -> dict[str, pl.Schema]:
    """The frames by their names, in the order of the file."""
    return {name: of for name, of in vars(frames).items() if isinstance(of, pl.Schema)}


def frame_pages() -> dict[str, str]:
    """The page ``reference/frames.md``."""
    comments_of = _assigned()
    links = addresses("retrieval", "nodes/")
    intro = inspect.getdoc(frames) or ""
    parts = [f"# Frames\n\n{inline(intro)}\n\n"]
    parts.append(
        "A frame may have these columns beside its own; they tell what made its scores: "
        + ", ".join(code(name) for name in sorted(frames.EXTRA_COLUMNS))
        + ".\n\n"
    )
    for name, schema in schemas().items():
        about, comments = comments_of[name]
        parts.append(f"## {name}\n\n" + (f"{inline(about)}\n\n" if about else ""))
        makers = [n for n in nodes() if name in n.frames and n.graph == "retrieval"]
        if makers:
            texts = (f"[{code(n.name)}]({links[n.name].replace('.html', '.md')})" for n in makers)
            parts.append(f"Given by {', '.join(texts)}.\n\n")
        rows = [
            [code(column), code(_type(kind)), inline(comments.get(column, ""))]
            for column, kind in schema.items()
        ]
        parts.append(table(["column", "type", "what it is"], rows) + "\n")
    return {"reference/frames.md": "".join(parts)}


def _type(kind: pl.DataType) -> str:
    """A type as short as possible.

    >>> _type(frames.UTC), _type(pl.List(pl.Struct({"a": pl.Int64})))
    ('Datetime UTC', 'List(Struct(a: Int64))')
    """
    if isinstance(kind, pl.List):
        return f"List({_type(kind.inner)})"  # type: ignore[arg-type]
    if isinstance(kind, pl.Struct):
        parts = (f"{one.name}: {_type(one.dtype)}" for one in kind.fields)  # type: ignore[arg-type]
        return f"Struct({', '.join(parts)})"
    return "Datetime UTC" if kind == frames.UTC else str(kind)


def _assigned() -> dict[str, tuple[str, dict[str, str]]]:
    """For each name that the file assigns: its description and the comments of its columns."""
    source = inspect.getsource(frames)
    lines, comments_of = source.split("\n"), {}  # type: list[str], dict[str, tuple[str, dict[str, str]]]
    body = ast.parse(source).body
    for place, one in enumerate(body):
        if not isinstance(one, ast.Assign) or not isinstance(one.targets[0], ast.Name):
            continue
        comments: dict[str, str] = {}
        for inner in ast.walk(one.value):  # the columns of a part that is written elsewhere
            if isinstance(inner, ast.Name) and inner.id in comments_of:
                comments |= comments_of[inner.id][1]
        comments |= _comments(lines[one.lineno - 1 : one.end_lineno])
        after = body[place + 1] if place + 1 < len(body) else None
        about = _above(lines, one.lineno - 1)
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            about = " ".join([about, inspect.cleandoc(str(after.value.value))]).strip()
        comments_of[one.targets[0].id] = (about, comments)
    return comments_of


def _above(lines: list[str], place: int) -> str:
    """The comment that stands right above a line."""
    comment: list[str] = []
    while place and (note := _NOTE.match(lines[place - 1])):
        comment.insert(0, note[1])
        place -= 1
    return " ".join(comment)


def _comments(lines: list[str]) -> dict[str, str]:
    """The comments of columns: at the end of their line, or in the lines before."""
    comments: dict[str, str] = {}
    waiting: list[str] = []
    for line in lines:
        if note := _NOTE.match(line):
            waiting.append(note[1])
        elif column := _COLUMN.match(line):
            comment = " ".join([*waiting, column[2] or ""]).strip()
            comments |= {column[1]: comment} if comment else {}
            waiting = []
    return comments
