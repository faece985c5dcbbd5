"""A place in a file as people and tools write it: ``src/a.py:120``, ``src/a.py#L120-L140``.

The file may be named by its whole path, by the end of it, after the name of its repository, or by
its path on another machine whose end is a known path.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from operators.errors import CrosscorpusError, UnknownName
from operators.postgres.search.chunk_lookup import locate
from operators.postgres.search.filter_values import absent_everywhere
from operators.postgres.store import Home, Store, by_store

NAMED = 8
"""Maximum number of documents that an error lists."""

MOST_FOLDERS = 30
"""Maximum number of folders of a path that are tried."""

_PLACE = re.compile(
    r"(?P<path>.+?)(?::L?(?P<first>[0-9]{1,9})(?:-L?(?P<last>[0-9]{1,9})|:[0-9]+)?:?"
    r"|#L(?P<from>[0-9]{1,9})(?:C[0-9]+)?(?:-L?(?P<to>[0-9]{1,9})(?:C[0-9]+)?)?)",
    re.DOTALL,
)
_LABEL = re.compile(r"\[\w+: (.*)\]", re.DOTALL)


@dataclass(frozen=True)
class Place:
    """The passage at a place in a file, and the requested lines.

    Attributes:
        corpus: its name in the configuration.
        row: the passage, with the columns ``LOCATED``.
        lines: of its document, such as ``10-42``; None: the passage, or the document.
        whole: no line was given, so the document is requested.
        note: how the place was interpreted.
    """

    store: Store
    corpus: str
    row: dict[str, Any]
    lines: str | None
    whole: bool
    note: str


def place_named(
    homes: Mapping[str, Home], visible: Mapping[str, Mapping[str, Any]], name: str
) -> Place:
    """The passage at the place ``name``, in the one document that it fits.

    Args:
        homes: the visible corpora.
        visible: their visible parts, for the names in an error.

    Raises:
        UnknownName: no document has that path, or none of its passages that line; suggests the
            nearest path.
        CrosscorpusError: several documents have it; lists them.
    """
    path, first, last = read_place(name)
    rows = _located(homes, name)  # a name may end like a line
    if rows.is_empty():
        rows = _as_named(homes, path)
    if rows.is_empty():
        near = "; ".join(absent_everywhere(homes, visible, path_prefix=path)[:1]) if path else ""
        what = "give the id of a search result, or a path such as src/a.py:120"
        raise UnknownName(f"no passage {name!r}: {what}{near and f'; {near}'}")
    documents = rows.unique(["corpus", "repo", "document_id"], maintain_order=True)
    if len(documents) > 1:
        shown = [f"{_file(row)} ({row['name']}:{row['chunk_id']})" for row in documents.to_dicts()]
        more = f" and {len(shown) - NAMED} more" if len(shown) > NAMED else ""
        raise CrosscorpusError(
            f"{name!r} is in {len(shown)} documents, name one or give its id: "
            f"{', '.join(shown[:NAMED])}{more}"
        )
    if name in (documents["path"][0], documents["document_id"][0]):
        first, last = None, None
    line = 1 if first is None else first
    held = rows.filter((pl.col("start_line") <= line) & (pl.col("end_line") >= line))
    if held.is_empty() and first is not None:
        ends = [line for line in rows["end_line"] if line is not None]
        why = f"they end with line {max(ends)}" if ends else "they have no lines"
        raise UnknownName(f"no passage of {_file(rows.row(0, named=True))} has line {first}: {why}")
    row = (rows if held.is_empty() else held).row(0, named=True)
    lines = None if last is None else f"{first}-{last}"
    note = f"{name!r} was read as {_file(row)}" + (f", line {first}" if first is not None else "")
    corpus = row.pop("name")
    return Place(homes[corpus].store, corpus, row, lines, first is None, note)


def read_place(name: str) -> tuple[str, int | None, int | None]:
    """The path in ``name``, the line, and the last line of several.

    >>> read_place("src/a.py:120"), read_place("a.py#L7-L9"), read_place("/home/ann/a.py:120:5")
    (('src/a.py', 120, None), ('a.py', 7, 9), ('home/ann/a.py', 120, None))
    """
    label = _LABEL.fullmatch(name.strip())
    text = label[1].replace("\\", "") if label else name.strip().replace("\\", "/")
    text = text.removeprefix("file://")
    match = _PLACE.fullmatch(text)
    path = match["path"] if match else text
    path = re.sub(r"^(?:[A-Za-z]:)?(?:\.?/)+", "", path)
    if match is None:
        return path, None, None
    first, last = match["first"] or match["from"], match["last"] or match["to"]
    return path, int(first), int(last) if last else None


def _as_named(homes: Mapping[str, Home], path: str) -> pl.DataFrame:
    """The passages of the documents that match ``path`` in the most exact way."""
    passages = _located(homes, path)
    if passages.is_empty() and path:
        passages = _located(homes, path, by_end=True)
    folders = path.split("/")
    for at in range(max(1, len(folders) - MOST_FOLDERS), len(folders)):
        if not passages.is_empty():
            break
        passages = _of_repo(_located(homes, "/".join(folders[at:])), folders[:at])
    return passages


def _of_repo(rows: pl.DataFrame, before: list[str]) -> pl.DataFrame:
    """The ``rows`` whose repository matches the folders before their path; else all."""
    folders = "/" + "/".join(before)
    for repo in (pl.col("repo"), pl.col("repo").str.split("/").list.last()):
        named = rows.filter((repo != "") & pl.lit(folders).str.ends_with(pl.lit("/") + repo))
        if not named.is_empty():
            return named
    return rows


def _located(homes: Mapping[str, Home], path: str, *, by_end: bool = False) -> pl.DataFrame:
    """The passages of files at ``path``, with the ``name`` of their corpus.

    If the file itself is stored, other documents about it, such as its reviews, are ignored.
    """
    parts = []
    for store, names in by_store(homes):
        rows = locate(store, [], [path], by_end=by_end).filter(pl.col("corpus").is_in(list(names)))
        parts.append(rows.with_columns(name=pl.col("corpus").replace(names)))
    rows = pl.concat(parts)
    if not by_end:
        rows = rows.filter((pl.col("path") == path) | (pl.col("document_id") == path))
    itself = rows.filter(pl.col("path") == pl.col("document_id"))
    return rows if itself.is_empty() else itself


def _file(row: Mapping[str, Any]) -> str:
    """The path of a document after its repository."""
    return "/".join(part for part in (row["repo"], row["path"] or row["document_id"]) if part)
