"""Labels and links of a corpus, made by the templates of its configuration.

- Fields: ``{path}:{start_line}-{end_line}`` takes the columns of ``READ_CHUNKS``, ``{file}`` (the
  last part of the path), ``{release}`` (the version as ``v3.5``), ``{short_title}`` (without ``PR
  #12`` before it, cut at a word), keys of the metadata that sources of ours write (``{pr_number}``)
  and, as ``{metadata.team}``, those of your own documents; a list of one item counts as the item.
  ``{doc_date}`` has no value if only the file system gives it: that is the day of a copy.
  ``{anchor}`` in a label includes its parent headings.
- Optional parts: ``{title}[[ ({doc_date}, {release})|| ({doc_date})]][[ > {anchor}]]``. A part in
  double brackets is left out if one of its fields has no value. ``||`` separates alternatives: the
  first with all values is taken. Outside of brackets, a field without a value is left out with the
  text before it.
- Labels: the first field, or one of the alternatives of a first part in brackets, identifies the
  passage. If none has a value, the label is the title, the path or the document_id.
- Links: a link needs all of its fields up to a ``#``, because half a path is another page. An
  address that has a fragment keeps it. A key of the metadata is one segment of a path (its ``/``
  becomes ``%2F``) unless its name ends with ``path``. A path that a segment ``..`` leaves, or a
  field in the host's position that is not a valid part of a host name, gives no link.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import polars as pl

from operators.errors import CrosscorpusError, UnknownName, suggest
from operators.foundation.escape import label_text, safe_url
from operators.foundation.short_cache import cached_if_short
from operators.frames import READ_CHUNKS, UTC
from operators.versions.named_version import bare_version

LONGEST = 200  # characters of one field in a label; a title can have thousands
SHORT = 72  # characters of a {short_title}
FALLBACK = ("title", "path", "document_id")

_COLUMNS = frozenset(READ_CHUNKS) - {"metadata", "embedding", "token_sketch"}
_OWN = "metadata."
_KEYS = frozenset(
    (
        *("assignee", "author", "authors", "category", "categories", "channel", "closes", "commit"),
        *("committed_at", "defines", "finding", "fragment", "heading_path", "issue_number", "item"),
        *("kinds", "labels", "last_modified", "last_version", "line", "mr", "namespace", "outcome"),
        *("outdated", "page", "pr_number", "project", "review_state", "severity", "short_commit"),
        *("space", "state_reason", "subject", "symbol", "tags", "uses"),
    )
)
"""The keys of metadata that sources and maps of ours write."""
_COPIED = "mtime"  # the date_source of a date that is not in the document
_VERSION = re.compile(r"[\w.+-](?:[\w.+ -]{0,38}[\w.+-])?")  # a label has no other version
_IN_FRAGMENT = "/=&:,;"  # the page of a PDF is a fragment page=12
_IN_HOST = re.compile(r"(?:[^/?#]*://)?[^/?#]*")  # text after which a URL's host continues

_OPTIONAL = re.compile(r"\[\[(.*?)\]\]")
_FIELD = re.compile(r"\{([A-Za-z_][\w.-]*)\}")
_UNREAD = re.compile(r"[{}]|\[\[|\]\]")
_WHOLE = re.compile(r"\[(\w+): (.*)\]", re.DOTALL)

Columns = Mapping[str, list[str | None]]
"""The values of each field, a row each; null: it has none."""

Read = Callable[[str | None], dict[str, Any]]
"""Reads a chunk's metadata; chunks of a document share it."""


class Field(NamedTuple):
    """A field and the text before it."""

    before: str
    name: str


class Way(NamedTuple):
    """Fields and the text after them, which appear or are left out together."""

    fields: tuple[Field, ...]
    after: str = ""


class Part(NamedTuple):
    """Alternatives, in order of choice."""

    ways: tuple[Way, ...]
    optional: bool = False


@cache
def parse(template: str) -> tuple[Part, ...]:
    """The parts of ``template``.

    Raises:
        CrosscorpusError: braces or double brackets do not match, or a field has an invalid name.
    """
    parts: list[Part] = []
    for number, piece in enumerate(_OPTIONAL.split(template)):
        if number % 2:
            parts.append(Part(tuple(_way(one, template) for one in piece.split("||")), True))
        else:
            fields, after = _way(piece, template)
            parts += [Part((Way((field,)),)) for field in fields]
            parts += [Part((Way((), after),))] if after else []
    return tuple(parts)


def check_template(template: str) -> None:
    """Check the names of the fields of ``template``.

    Raises:
        CrosscorpusError: it can't be read, or a field is unknown; names the nearest.
    """
    known = _COLUMNS | _KEYS | {*_MADE}
    for name in _names(parse(template)):
        if name not in known and not name.startswith(_OWN):
            near = min((one for one in known if one.endswith(f"_{name}")), default=None)
            hint = f", did you mean {near!r}?" if near else suggest(name, known)
            raise UnknownName(
                f"unknown field {name!r}{hint} A key of your own documents is {{{_OWN}{name}}}"
            )


def _way(text: str, template: str) -> Way:
    *fields, after = _FIELD.split(text)
    for literal in (*fields[::2], after):
        if wrong := _UNREAD.search(literal):
            raise CrosscorpusError(
                f"the template {template!r} can't be read from {literal[wrong.start() :]!r} on: "
                "fields are {name}, optional parts [[ ... ]]"
            )
    return Way(tuple(map(Field, fields[::2], fields[1::2])), after)


def describe(
    chunks: pl.DataFrame, corpus: str, label: str, link: str | None, *, many_repos: bool = False
) -> tuple[pl.Series, pl.Series]:
    """The label and the link of each row of ``chunks`` (``READ_CHUNKS``).

    With ``many_repos`` a label begins with its repository, unless the template has it:
    ``other/src/a.py``, ``other PR #12``.

    Returns:
        ``source_label``: ``[corpus: ...]`` on one line, plain text; a template ``[name: ...]``
        puts its own name there.
        ``source_url``: null if there is no link or it is not safe.

    Raises:
        CrosscorpusError: a template can't be read.
    """
    whole = _WHOLE.fullmatch(label)
    template, begins = (whole[2], f"{whole[1]}: ") if whole else (label, f"{corpus}: ")
    read = cache(lambda text: json.loads(text or "{}"))
    bodies = _labels(chunks, read, parse(template))
    if many_repos and "repo" not in (names := _names(parse(template))):
        sign = "/" if names[:1] == ["path"] else " "
        repos = map(short_label, chunks["repo"].to_list())
        bodies = [f"{r}{sign}{body}" if r else body for r, body in zip(repos, bodies, strict=True)]
    labels = [f"[{begins}{body}]" for body in bodies]
    return (
        pl.Series("source_label", labels, dtype=pl.String),
        pl.Series("source_url", _urls(chunks, read, parse(link or "")), dtype=pl.String),
    )


def label_names(corpora: Mapping[str, Any]) -> frozenset[str]:
    """The first words of the corpora's labels, and their names; ``inputs`` have the templates."""
    templates = (options["inputs"]["label"] for options in corpora.values())
    own = (whole[1] for whole in map(_WHOLE.fullmatch, templates) if whole)
    return frozenset([*corpora, *own])


def _labels(chunks: pl.DataFrame, read: Read, parts: tuple[Part, ...]) -> list[str]:
    names = _names(parts)
    columns = {
        name: [value and short_label(value) for value in values]
        for name, values in _columns(chunks, read, names, for_label=True).items()
    }
    bodies = _filled(parts, columns, chunks.height)
    first = next((part for part in parts if _names((part,))), None)
    known = zip(*(columns[name] for name in _names((first,))), strict=True) if first else bodies
    titles = chunks[list(FALLBACK)].iter_rows()
    return [
        (body if any(identifying) else "") or short_label(next(filter(None, title), ""))
        for identifying, body, title in zip(known, bodies, titles, strict=True)
    ]


@cached_if_short(16_384)
def short_label(text: str) -> str:
    """``text`` for a label: on one line, shortened in the middle if it is long.

    >>> short_label("retry " * 40)[84:104]
    'retry retry…retry re'
    """
    if len(text) <= LONGEST:
        return label_text(text)
    half = LONGEST // 2
    start, end = text[:half], text[1 - half :]
    start, end = start.rpartition(" ")[0] or start, end.partition(" ")[2] or end
    return label_text(f"{start}…{end}")


def _urls(chunks: pl.DataFrame, read: Read, parts: tuple[Part, ...]) -> list[str | None]:
    """The links; None: one lacks a field that it needs, or is not safe to follow."""
    kept, needed = _link_fields(parts)
    if not kept:
        return [None] * chunks.height
    columns = _columns(chunks, read, list(kept), for_label=False)
    quoted = {
        name: [value if value is None or safe is None else quote(value, safe) for value in values]
        for (name, values), safe in zip(columns.items(), kept.values(), strict=True)
    }
    filled = _filled(parts, quoted, chunks.height)
    lacks = {n for name in needed for n, value in enumerate(columns[name]) if value is None}
    return [
        None if n in lacks else safe_url("#".join(text.split("#")[:2]))
        for n, text in enumerate(filled)
    ]


@cache
def _link_fields(parts: tuple[Part, ...]) -> tuple[dict[str, str | None], list[str]]:
    """The fields of a link, each with the characters that are not escaped, and the needed fields.

    All characters (None) are kept in a field that is a whole URL. A key of the metadata that is no
    path keeps no /; neither does a field in the host's position, because no host has a %2F. A link
    needs the fields before a # that are not in brackets.
    """
    kept: dict[str, str] = {}
    needed: list[str] = []
    before, in_fragment = "", False
    for part in parts:
        for fields, after in part.ways:
            inside = before
            for text, name in fields:
                inside += text
                in_fragment = in_fragment or "#" in text
                key = name not in _COLUMNS and not name.endswith("path")
                as_is = "" if key or _IN_HOST.fullmatch(inside) else "/"
                as_is = _IN_FRAGMENT if in_fragment else as_is
                kept[name] = min(as_is, kept.get(name, as_is))
                if not (in_fragment or part.optional):
                    needed.append(name)
            in_fragment = in_fragment or "#" in after
        before = before if part.optional else inside + after
    first = parts[0].ways[0].fields[:1] if parts else ()
    whole = [field.name for field in first if not field.before]
    return {**kept, **dict.fromkeys(whole)}, needed


def _columns(
    chunks: pl.DataFrame, read: Read, names: list[str], *, for_label: bool
) -> dict[str, list[str | None]]:
    """The fields ``names`` as texts; None where a row has none."""
    made = _MADE | (_MADE_FOR_LABELS if for_label else {})
    keys = {name for name in names if name not in made and name not in _COLUMNS}
    texts = chunks["metadata"].to_list() if keys or "anchor" in names else []

    def column(name: str) -> list[str | None]:
        if name in keys:
            return [_text(read(text).get(name.removeprefix(_OWN))) for text in texts]
        origin, make = made.get(name, (name, str))
        if origin not in chunks.columns:
            return [None] * chunks.height
        if chunks[origin].dtype == UTC:  # by numpy: Polars' date functions wake threads
            days = np.datetime_as_string(chunks[origin].to_numpy(), unit="D").tolist()
            values = [None if day == "NaT" else day for day in days]
        else:
            values = chunks[origin].to_list()
        if name == "doc_date":
            sources = chunks["date_source"]
            values = [None if s == _COPIED else v for v, s in zip(values, sources, strict=True)]
        values = [None if v in (None, "") else make(v) or None for v in values]
        if name == "anchor" and for_label:
            headings = (_text(read(text).get("heading_path")) for text in texts)
            return [above or own for above, own in zip(headings, values, strict=True)]
        return values

    return {name: column(name) for name in names}


def _bare_version(version: str) -> str | None:
    bare = bare_version(version.strip())
    return bare if _VERSION.fullmatch(bare) else None


def _release(version: str) -> str | None:
    bare = _bare_version(version)
    return f"v{bare}" if bare and bare[0].isdigit() else bare


def _short_title(title: str) -> str:
    topic = re.sub(r"\A(?:PR #|MR !)\d+\s*", "", title).strip()
    start = topic if len(topic) <= SHORT else topic[:SHORT].rpartition(" ")[0] or topic[:SHORT]
    return start + "…" * (start != topic)


_MADE: dict[str, tuple[str, Callable[[str], str | None]]] = {
    "file": ("path", lambda path: path.rstrip("/").rpartition("/")[2]),
    "release": ("version", _release),
    "short_title": ("title", _short_title),
}
"""Fields that are computed from a column."""

_MADE_FOR_LABELS = {name: (name, _bare_version) for name in ("version", "last_version")}


def _text(value: Any) -> str | None:
    """A single value of the metadata as text; None for anything else."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value) or None


def _filled(parts: tuple[Part, ...], columns: Columns, rows: int) -> list[str]:
    """The parts of each row, concatenated."""
    pieces = [_piece(part, columns, rows) for part in parts]
    return ["".join(texts) for texts in zip(*pieces, strict=True)] if pieces else [""] * rows


def _piece(part: Part, columns: Columns, rows: int) -> list[str]:
    """The first alternative of each row whose fields all have a value; nothing without one."""
    filled: list[str | None] = [None] * rows
    for fields, after in part.ways:
        texts: list[str | None] = [""] * rows
        for before, name in fields:
            texts = [
                None if text is None or value is None else f"{text}{before}{value}"
                for text, value in zip(texts, columns[name], strict=True)
            ]
        filled = [
            f"{text}{after}" if done is None and text is not None else done
            for done, text in zip(filled, texts, strict=True)
        ]
    return [text or "" for text in filled]


@cache
def _names(parts: tuple[Part, ...]) -> list[str]:
    ways = (way for part in parts for way in part.ways)
    return list(dict.fromkeys(field.name for way in ways for field in way.fields))
