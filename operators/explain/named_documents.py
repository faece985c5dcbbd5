"""The passages that a name, an address or a place in a text means, as people write them.

The name of a document is its id, path, title or address; an item's is its number too.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

import polars as pl

from operators.context.shown_labels import shown_as
from operators.context.templates import describe
from operators.errors import UnknownName, first_of
from operators.foundation.escape import shown_characters
from operators.postgres.search.chunk_lookup import LOCATED, LONGEST_DOCUMENT, locate
from operators.postgres.store import Home, by_store, collection_info
from operators.ranking.named_places import (
    REQUEST,
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

Look = Callable[..., pl.DataFrame]
"""Returns the passages of documents with one of some names: :func:`located` of some corpora."""

_NAMES = ["path", "document_id", "title"]
_COMMIT = re.compile("[0-9a-f]{7,40}")
_HEADING = re.compile(r"(#{1,6})\s+(.+)")
_ITEM = re.compile(r"(?:.*/)?(?:pull|issues|merge_requests)/([0-9]{1,7})(?=[/?#]|$)")

MOST_FOLDERS = 30
"""Maximum number of folders of a path that are tried."""


class Found(NamedTuple):
    """The passages that a name fits, its lines, and whether it names the whole document.

    ``also`` names the lines of other sections with the same label.
    """

    rows: pl.DataFrame
    first: int | None = None
    last: int | None = None
    whole: bool = True
    also: str = ""


def documents_named(look: Look, name: str) -> Found:
    """The passages of the documents that match ``name`` in the most exact way."""
    name = REQUEST.sub(r"merge_requests/\1", name) if REQUEST.fullmatch(name) else name
    names = spellings(name)
    path, first, last = read_place(name)
    folders = path.split("/")
    starts = range(max(0, len(folders) - MOST_FOLDERS), len(folders))
    ends = ["/".join(folders[at:]) for at in starts]
    rows = look([*names, *ends])
    label, address = label_and_address(name)
    if label:
        forms = [one for form in label_forms(label) for one in (form, shown_characters(form))]
        rows = pl.concat([rows, look(forms, in_label=True)])
        rows = rows.unique(["corpus", "chunk_id"], keep="first", maintain_order=True)
    if label or address:
        shown = shown_as(name, rows)
        if len(shown.rows):
            return _section(*shown)
    file, _, anchor = name.partition("#")
    if file and anchor and not label and _called(rows, name).is_empty():
        section = _under(documents_named(look, file).rows, unquote(anchor))
        if section is not None:
            return section
    for text in [*names, path]:
        if len(found := _called(rows, text)):
            has_lines = text != path and read_place(text)[1] is not None
            return Found(found, *((None, None) if has_lines else (first, last)))
    found = _itself(look([path], by_end=True)) if path else rows.clear()
    for at, end in zip(starts, ends, strict=True):
        if not found.is_empty():
            break
        found = _in_repo(_called(rows, end), folders[:at])
    if len(found):
        return Found(found, first, last)
    last_part = folders[-1] if address else name  # a commit before a path is not what is named
    items = [one for one in named_places(last_part)[:1] if not one.path]
    if _COMMIT.fullmatch(name):  # of digits alone it is no commit in a question
        items.append(Place(commit=name))
    if item := _ITEM.match(address or name):
        items = [Place(number=int(item[1]))]
    near = look([name], in_label=True) if items else rows.clear()
    if item and address:  # another forge has items of the same numbers
        near = near.filter(pl.col("uri").str.starts_with(item[0]))
    fits = [any(at_place(one, *row) for one in items) for row in near[_NAMES].iter_rows()]
    return Found(near.filter(pl.Series(fits, dtype=pl.Boolean)))


def _under(rows: pl.DataFrame, anchor: str) -> Found | None:
    """The section below the heading ``anchor``: its text, or the end of its address."""
    lines = dict[int, str]()
    for first, text in rows.drop_nulls("start_line")["start_line", "text"].iter_rows():
        lines |= dict(enumerate(text.removesuffix("\n").split("\n"), first))
    headings = [(n, of) for n, text in sorted(lines.items()) if (of := _HEADING.match(text))]
    for n, of in headings:
        if _letters(of[2]) == _letters(anchor) != "":
            ends = [m - 1 for m, other in headings if m > n and len(other[1]) <= len(of[1])]
            return Found(rows, n, min(ends, default=max(lines)))
    return None


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


def at_lines(look: Look, found: Found) -> pl.DataFrame:
    """The passages of ``found`` that have its lines; all, if it names none.

    Raises:
        UnknownName: none has its first line.
    """
    rows, first, last = found[:3]
    if first is None or rows.is_empty():
        return rows
    there = (pl.col("start_line") <= (last or first)) & (pl.col("end_line") >= first)
    if rows.filter(there).is_empty():  # of a long document not all was read
        known, ids = rows, rows["document_id"].unique().to_list()
        rows = look(ids, repos=rows["repo"].unique().to_list(), most=LONGEST_DOCUMENT)
        rows = rows.join(known, on=["corpus", "repo", "document_id"], how="semi")
    if (at_line := rows.filter(there)).is_empty():
        file, ends = file_of(rows.row(0, named=True)), rows["end_line"].drop_nulls().to_list()
        why = f"they end with line {max(ends)}" if ends else "they have no lines"
        raise UnknownName(f"no passage of {file} has line {first}: {why}")
    return at_line


def _section(rows: pl.DataFrame, first: int | None, last: int | None) -> Found:
    """Passages of one label; of several without lines of their own, the lines of all.

    A document may have several sections of one title: its passages up to the first gap are given.
    """
    also, whole, ends = "", len(rows) > 1, [pl.col("start_line").min(), pl.col("end_line").max()]
    if whole and first is None:
        several = rows["corpus", "repo", "document_id"].n_unique() > 1
        if not (several or rows["start_line"].has_nulls() or rows["end_line"].has_nulls()):
            rows = rows.sort("ordinal")
            part = (pl.col("ordinal").diff().fill_null(1) != 1).cum_sum()
            (_, *others) = rows.group_by(part.alias("part"), maintain_order=True).agg(ends).rows()
            also = first_of([f"lines {one[1]}-{one[2]}" for one in others], NAMED)
            rows = rows.filter(part == 0)
        first, last = rows.select(ends).row(0)
    return Found(rows, first, last, whole=whole, also=also)


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


def located(
    homes: Mapping[str, Home],
    corpora: Mapping[str, Any],
    names: Sequence[str],
    *,
    ids: Sequence[int] = (),
    filters: Mapping[str, Mapping[str, Any]] | None = None,
    **how: Any,
) -> pl.DataFrame:
    """The passages ``ids``, and of documents with one of ``names``.

    Args:
        corpora: a corpus's name -> ``inputs`` with ``label`` and ``link``.
        filters: what is visible of each corpus; None: what its store shows.
        how: see :func:`operators.postgres.search.chunk_lookup.locate`.

    Returns:
        Columns ``LOCATED``, and ``source_label`` and ``source_url``, the label and the address.
    """
    forms = [one for name in names for one in (name, composed(name), decomposed(name))]
    written = list(dict.fromkeys(forms))
    parts = [pl.DataFrame(schema={**LOCATED, "source_label": pl.String, "source_url": pl.String})]
    for store, of in by_store(homes):
        visible = filters and {there: filters[corpus] for there, corpus in of.items()}
        rows = locate(store, ids, written, visible=visible, **how)
        many = collection_info(store).many_repos
        for there, corpus in of.items():
            chunks = rows.filter(corpus=there).with_columns(corpus=pl.lit(corpus))
            options = corpora.get(corpus, {}).get("inputs", {})
            shown = options.get("label", "{title}"), options.get("link")
            parts.append(chunks.hstack([*describe(chunks, corpus, *shown, many_repos=many)]))
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
