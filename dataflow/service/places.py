"""The passage at a place as people, tools and answers write it: ``src/a.py:120``, ``[code: a.py]``.

The file may be named by its whole path, by the end of it, after the name of its repository, by
its path on another machine whose end is a known path, or by its address. A label or an address is
first compared with those of the stored passages, as an answer would show them.
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from dataflow.driver.retrieval_driver import RetrievalDriver
from operators.context.shown_labels import shown_as
from operators.context.templates import short_label
from operators.errors import CrosscorpusError, UnknownName, first_of
from operators.explain.explain_targets import labelled
from operators.foundation.escape import shown_characters
from operators.foundation.sanitize import clean_text
from operators.frames import DEFINES, LINES
from operators.options import NAME, PATH
from operators.postgres.search.chunk_lookup import LONGEST_DOCUMENT, locate
from operators.postgres.search.filter_values import absent_everywhere
from operators.postgres.store import Home, Store, by_store, collection_info
from operators.ranking.definitions import qualified_parts
from operators.ranking.named_places import (
    Place,
    at_place,
    composed,
    decomposed,
    label_and_address,
    label_forms,
    named_places,
    read_place,
    spellings,
)
from operators.versions.normalized_names import ABOUT_FILES, CODE

NAMED = 8
"""Maximum number of documents, or places, that an error lists."""

_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*")

_NAMES = ["path", "document_id", "title"]
_COMMIT = re.compile("[0-9a-f]{7,40}")

DEFINED = 20
"""Maximum number of places of a definition that are looked at."""

MOST_FOLDERS = 30
"""Maximum number of folders of a path that are tried."""


@dataclass(frozen=True)
class NamedPassage:
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
    homes: Mapping[str, Home],
    corpora: Mapping[str, Any],
    visible: Mapping[str, Mapping[str, Any]],
    name: str,
) -> NamedPassage:
    """The passage at the place ``name``, in the one document that it fits.

    Args:
        homes: the visible corpora.
        corpora: a corpus's name -> ``inputs`` with ``label`` and ``link``.
        visible: their visible parts, for the names in an error.

    Raises:
        UnknownName: no document has that path, or none of its passages that line; suggests the
            nearest path.
        CrosscorpusError: several documents have it; lists them.
    """
    name = clean_text(name)
    shown = short_label(name)
    rows, first, last, whole, also = _found(homes, corpora, name)
    if rows.is_empty():
        path = read_place(name)[0][:PATH]
        near = "; ".join(absent_everywhere(homes, visible, path_prefix=path)[:1]) if path else ""
        what = "give the id of a search result, or a path such as src/a.py:120"
        raise UnknownName(f"no passage {shown!r}: {what}{near and f'; {short_label(near)}'}")
    documents = rows.unique(["corpus", "repo", "document_id"], maintain_order=True)
    if len(documents) > 1:
        listed = [
            f"{file_of(row)} ({row['corpus']}:{row['chunk_id']})" for row in documents.to_dicts()
        ]
        raise CrosscorpusError(
            f"{shown!r} is in {len(listed)} documents, name one or give its id: "
            f"{first_of(listed, NAMED)}"
        )
    line = 1 if first is None else first
    has_line = (pl.col("start_line") <= line) & (pl.col("end_line") >= line)
    at_line = rows.filter(has_line)
    if at_line.is_empty() and first is not None:  # of a long document not all was read
        same = {name: rows[name][0] for name in ("corpus", "repo", "document_id")}
        how: dict[str, Any] = {"repos": [same["repo"]], "most": LONGEST_DOCUMENT}
        rows = _located(homes, corpora, [same["document_id"]], **how).filter(**same)
        at_line = rows.filter(has_line)
    if at_line.is_empty() and first is not None:
        file, ends = file_of(rows.row(0, named=True)), rows["end_line"].drop_nulls().to_list()
        why = f"they end with line {max(ends)}" if ends else "they have no lines"
        raise UnknownName(f"no passage of {file} has line {first}: {why}")
    row = (rows if at_line.is_empty() else at_line).row(0, named=True)
    lines = None if last is None else f"{first}-{last}"
    note = f"{shown!r} was read as {file_of(row)}" + f", line {first}" * (first is not None)
    note += f"; {also} have this label too" if also else ""
    corpus = row["corpus"]
    return NamedPassage(homes[corpus].store, corpus, row, lines, whole and first is None, note)


def definition_of(driver: RetrievalDriver, name: str) -> tuple[dict[str, Any], str] | None:
    """A passage of the file that defines ``name`` (``FUSED``), and the lines of the definition.

    The first parts of a name may be its file; one that is defined with more of them goes first.

    Raises:
        CrosscorpusError: several places define it; lists them.
    """
    if len(name) > NAME or not _SYMBOL.fullmatch(name):
        return None
    wanted = qualified_parts(name)
    fits = defaultdict[int, dict[str, tuple[dict[str, Any], str]]](dict)
    for one in driver.ask(name, symbol=name, top_k=DEFINED).frame.iter_rows(named=True):
        meta = json.loads(one["metadata"] or "{}")
        for defined, (first, last) in zip(meta.get(DEFINES, ()), meta.get(LINES, ()), strict=False):
            parts = qualified_parts(defined)
            if parts[-len(wanted) :] == wanted[-len(parts) :]:
                lines = f"{first}-{last}"
                same = fits[min(len(parts), len(wanted))]
                same.setdefault(f"{file_of(one)}:{lines}", (one, lines))
    found = fits[max(fits, default=0)]
    if len(found) > 1:
        listed = first_of(sorted(found), NAMED)
        raise CrosscorpusError(f"{name!r} is defined in {len(found)} places: {listed}")
    return next(iter(found.values()), None)


class _Found(NamedTuple):
    """The passages that a name fits, its lines, and whether it names the whole document.

    ``also`` names the lines of other sections with the same label.
    """

    rows: pl.DataFrame
    first: int | None = None
    last: int | None = None
    whole: bool = True
    also: str = ""


def _found(homes: Mapping[str, Home], corpora: Mapping[str, Any], name: str) -> _Found:
    """The passages of the documents that match ``name`` in the most exact way."""
    names = spellings(name)
    path, first, last = read_place(name)
    folders = path.split("/")
    starts = range(max(0, len(folders) - MOST_FOLDERS), len(folders))
    ends = ["/".join(folders[at:]) for at in starts]
    rows = _located(homes, corpora, [*names, *ends])
    label, address = label_and_address(name)
    if label:
        forms = [one for form in label_forms(label) for one in (form, shown_characters(form))]
        rows = pl.concat([rows, _located(homes, corpora, forms, in_label=True)])
        rows = rows.unique(["corpus", "chunk_id"], keep="first", maintain_order=True)
    if label or address:
        shown = shown_as(name, rows)
        if len(shown.rows):
            return _section(*shown)
    for text in [*names, path]:
        if len(found := _called(rows, text)):
            has_lines = text != path and read_place(text)[1] is not None
            return _Found(found, *((None, None) if has_lines else (first, last)))
    found = _itself(_located(homes, corpora, [path], by_end=True)) if path else rows.clear()
    for at, end in zip(starts, ends, strict=True):
        if not found.is_empty():
            break
        found = _in_repo(_called(rows, end), folders[:at])
    if len(found):
        return _Found(found, first, last)
    item = folders[-1] if address else name  # a commit before a path is not what is named
    items = [one for one in named_places(item)[:1] if not one.path]
    if _COMMIT.fullmatch(name):  # of digits alone it is no commit in a question
        items.append(Place(commit=name))
    near = _located(homes, corpora, [name], in_label=True) if items else rows.clear()
    fits = [any(at_place(one, *row) for one in items) for row in near[_NAMES].iter_rows()]
    return _Found(near.filter(pl.Series(fits, dtype=pl.Boolean)))


def _section(rows: pl.DataFrame, first: int | None, last: int | None) -> _Found:
    """Passages of one label; of several without lines of their own, the lines of all.

    A document may have several sections of one title: the first is given.
    """
    also = ""
    if len(rows) > 1 and first is None:
        rows, others = _first_section(rows)
        also = first_of([f"lines {one[0]}-{one[1]}" for one in others], NAMED)
        ends = rows.select(pl.col("start_line").min(), pl.col("end_line").max())
        first, last = ends.row(0)
    return _Found(rows, first, last, whole=len(rows) > 1, also=also)


def _first_section(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[tuple[int, int]]]:
    """The passages of one document up to the first gap, and the lines of the sections after it.

    Passages of several documents, or without lines, are all given.
    """
    lines = rows["start_line", "end_line"]
    several = rows["corpus", "repo", "document_id"].n_unique() > 1
    if several or lines.null_count().sum_horizontal().item():
        return rows, []
    rows = rows.sort("ordinal")
    rows = rows.with_columns(section=(pl.col("ordinal").diff().fill_null(1) != 1).cum_sum())
    ends = rows.group_by("section", maintain_order=True).agg(
        pl.col("start_line").min(), pl.col("end_line").max()
    )
    return rows.filter(section=0).drop("section"), ends.drop("section").rows()[1:]


def _in_repo(rows: pl.DataFrame, before: list[str]) -> pl.DataFrame:
    """The ``rows`` whose repository matches the folders before their path; else all."""
    folders = "/" + "/".join(before) + "/"
    repo = "/" + pl.col("repo") + "/"
    short = "/" + pl.col("repo").str.split("/").list.last() + "/"
    ways = (pl.lit(folders).str.ends_with(repo), pl.lit(folders).str.ends_with(short))
    for fits in (*ways, pl.lit(folders).str.contains(repo, literal=True)):
        named = rows.filter((pl.col("repo") != "") & fits)
        if not named.is_empty():
            return named
    return rows


def _located(
    homes: Mapping[str, Home], corpora: Mapping[str, Any], names: Sequence[str], **how: Any
) -> pl.DataFrame:
    """The passages of documents with one of ``names``, with their labels and addresses."""
    written = [one for name in names for one in (name, composed(name), decomposed(name))]
    parts = []
    for store, of in by_store(homes):
        rows = locate(store, [], list(dict.fromkeys(written)), **how)
        rows = rows.filter(pl.col("corpus").is_in(list(of)))
        rows = rows.with_columns(pl.col("corpus").replace(of))
        parts.append(labelled(rows, corpora, many_repos=collection_info(store).many_repos))
    return pl.concat(parts)


def _called(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """The ``rows`` of the documents with exactly this path or id, else title or address."""
    for columns in (("path", "document_id"), ("title", "uri")):
        same = pl.col(columns).str.normalize("NFC") == composed(name)
        called = rows.filter(pl.any_horizontal(same.fill_null(False)))
        if not called.is_empty():
            break
    return _itself(called)


def _itself(rows: pl.DataFrame) -> pl.DataFrame:
    """Of files, else of code only these: documents about a file, as its reviews, are ignored."""
    for itself in (pl.col("path") == pl.col("document_id"), pl.col("corpus") == CODE):
        if not (files := rows.filter(itself)).is_empty():
            return files
    return rows


def file_of(row: Mapping[str, Any]) -> str:
    """The path of a document after its repository; the id of one that is only about a file."""
    path = None if row["corpus"] in ABOUT_FILES else row["path"]
    return "/".join(filter(None, (row["repo"], path or row["document_id"])))
