"""Labels and links of a corpus, made by the templates of its configuration.

- Fields: ``{path}:{start_line}-{end_line}`` takes the columns of ``READ_CHUNKS``, ``{file}`` (the
  last part of the path), ``{release}`` (the version as ``v3.5``), ``{short_title}`` (without ``PR
  #12`` before it, cut at a word), and any key of the chunk's metadata (``{pr_number}``); a list of
  one item counts as the item. ``{doc_date}`` has no value where only the file system gives it: that
  is the day of a copy. ``{anchor}`` in a label is with the headings that it stands under.
- Optional parts: ``{title}[[ ({doc_date}, {release})|| ({doc_date})]][[ > {anchor}]]``. A part in
  double brackets vanishes when one of its fields has no value. ``||`` separates alternatives: the
  first with all values is taken. Outside of brackets, a field without a value vanishes with the
  text before it.
- Labels: the first field names the thing. Without a value there, the label is the title, the path
  or the document_id.
- Links: a link needs all of its fields up to a ``#``, because half a path is another page. An
  address that has a fragment keeps it. A key of the metadata is one segment of a path (its ``/``
  becomes ``%2F``) unless its name ends with ``path``. A path that is left by a segment ``..``, or a
  field in the host's place that is no part of a host's name, gives no link.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from urllib.parse import quote

import numpy as np
import polars as pl

from operators.errors import CrosscorpusError
from operators.foundation.escape import label_text, safe_url
from operators.frames import READ_CHUNKS, UTC

LONGEST = 200  # characters of one field in a label; a title can have thousands
SHORT = 72  # characters of a {short_title}
FALLBACK = ("title", "path", "document_id")

_COLUMNS = frozenset(READ_CHUNKS) - {"metadata", "embedding"}
_OF_COPY = "mtime"  # the date_source of a date that no document bears
_DERIVED = {"file": "path", "release": "version", "short_title": "title"}
_VERSION = re.compile(r"[\w.+-](?:[\w.+ -]{0,38}[\w.+-])?")  # no other version stands in a label
_PLAIN_FIELD = re.compile(r"[A-Za-z0-9._~/-]*")
_PLAIN_LABEL = re.compile(r"[ -~]*+")  # nothing that is unseen
_IN_FRAGMENT = "/=&:,;"  # the page of a PDF is a fragment page=12
_PLAIN_URL = re.compile(
    r"https?://[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?"
    # possessive ++ and *+: with backtracking, one forbidden character costs exponential time
    r"(?:[/?#](?:[A-Za-z0-9._~!$&*+,;=:@/?#-]++|%[0-9A-Fa-f]{2})*+)?"
)

# What a browser takes for `.` or `..` and leaves the path by; also where a server decodes %2F, %5C.
_DOTS = re.compile(r"(?:^|/|%2f|%5c)(?:\.|%2e){1,2}(?=/|%2f|%5c|$)", re.IGNORECASE)
_IN_HOST = re.compile(r"(?:[^/?#]*://)?[^/?#]*")  # text after which a URL's host goes on

_PIECE = re.compile(
    r"\[\[(?P<group>.*?)\]\]|\{(?P<field>[^{}]*)\}|(?P<text>(?:[^{}\[\]]|\[|\])+?(?=\[\[|\{|\}|$))"
)
_WHOLE = re.compile(r"\[(\w+): (.*)\]", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][\w.-]*")

Column = list[str | None]


@dataclass(frozen=True)
class Field:
    """A field and the text before it."""

    before: str
    name: str


@dataclass(frozen=True)
class Part:
    """Fields and text that stand or vanish together."""

    fields: tuple[Field, ...]
    after: str
    optional: bool = False
    otherwise: tuple[Part, ...] = ()

    @property
    def ways(self) -> tuple[Part, ...]:
        """The part and its alternatives, in the order of choice."""
        return (self, *self.otherwise)


@cache
def parse(template: str) -> tuple[Part, ...]:
    """The parts of ``template``.

    Raises:
        CrosscorpusError: braces or double brackets do not match, or a field has no proper name.
    """
    parts: list[Part] = []
    before = ""
    for match in _pieces(template, template):
        if match["text"]:
            before += match["text"]
        elif match["field"] is not None:
            parts.append(Part((Field(before, match["field"]),), ""))
            before = ""
        else:
            if before:
                parts.append(Part((), before))
                before = ""
            first, *rest = (_group(way, template) for way in match["group"].split("||"))
            parts.append(replace(first, otherwise=tuple(rest)))
    return tuple([*parts, Part((), before)] if before else parts)


def _group(inside: str, template: str) -> Part:
    fields: list[Field] = []
    before = ""
    for match in _pieces(inside, template):
        if match["field"] is not None:
            fields.append(Field(before, match["field"]))
            before = ""
        else:
            before += match["text"] or ""
    return Part(tuple(fields), before, optional=True)


def _pieces(text: str, template: str) -> list[re.Match[str]]:
    found, end = [], 0
    for match in _PIECE.finditer(text):
        name = match["field"]
        if match.start() != end or (name is not None and not _NAME.fullmatch(name)):
            break
        found.append(match)
        end = match.end()
    if end != len(text) or any(m["text"] and re.search(r"\[\[|\]\]", m["text"]) for m in found):
        raise CrosscorpusError(
            f"the template {template!r} can't be read from {text[end:]!r} on: fields are {{name}}, "
            "optional parts [[ ... ]]"
        )
    return found


def describe(
    chunks: pl.DataFrame, corpus: str, label: str, link: str | None, *, many_repos: bool = False
) -> tuple[pl.Series, pl.Series]:
    """The label and the link of each row of ``chunks`` (``READ_CHUNKS``).

    With ``many_repos`` a label begins with its repository, unless the template names it:
    ``other/src/a.py``, ``other PR #12``.

    Returns:
        ``source_label``: ``[corpus: ...]`` on one line, plain text; a template ``[name: ...]``
        puts its own name there.
        ``source_url``: null where there is no link or it is not safe.

    Raises:
        CrosscorpusError: a template can't be read.
    """
    whole = _WHOLE.fullmatch(label)
    template, begins = (whole[2], f"{whole[1]}: ") if whole else (label, f"{corpus}: ")
    bodies = _labels(chunks, parse(template))
    if many_repos and "repo" not in (names := _names(parse(template))):
        sign = "/" if names[:1] == ["path"] else " "
        repos = _escaped(chunks["repo"].to_list())
        bodies = [f"{r}{sign}{body}" if r else body for r, body in zip(repos, bodies, strict=True)]
    labels = [f"[{begins}{body}]" for body in bodies]
    urls = _urls(chunks, parse(link or ""))
    return (
        pl.Series("source_label", labels, dtype=pl.String),
        pl.Series("source_url", urls, dtype=pl.String),
    )


def label_names(corpora: Mapping[str, Any]) -> frozenset[str]:
    """What the labels of corpora begin with, and their names; ``inputs`` have the templates."""
    templates = (options["inputs"]["label"] for options in corpora.values())
    own = (whole[1] for whole in map(_WHOLE.fullmatch, templates) if whole)
    return frozenset([*corpora, *own])


def _labels(chunks: pl.DataFrame, parts: tuple[Part, ...]) -> list[str]:
    names = _names(parts)
    columns = [_escaped(column) for column in _columns(chunks, names, of_label=True)]
    bodies = _filled(parts, columns, names[:1], chunks.height)
    if not names or all(bodies):
        return bodies
    return [
        body or short_label(next((v for v in chunks[list(FALLBACK)].row(number) if v), ""))
        for number, body in enumerate(bodies)
    ]


def _escaped(column: Column) -> Column:
    """A field's values, safe for a label."""
    there = [value for value in column if value]
    if _PLAIN_LABEL.fullmatch("".join(there)) and max(map(len, there), default=0) <= LONGEST:
        return column
    return [value and short_label(value) for value in column]


def short_label(text: str) -> str:
    """``text`` for a label: on one line, cut in its middle where it is long."""
    half = LONGEST // 2
    return label_text(text if len(text) <= LONGEST else f"{text[:half]}…{text[1 - half :]}")


def _urls(chunks: pl.DataFrame, parts: tuple[Part, ...]) -> Sequence[str | None]:
    names = _names(parts)
    if not names:
        return [None] * chunks.height
    columns = _columns(chunks, names, of_label=False)
    urls = map(_of_one_fragment, _filled(parts, columns, _needed(parts), chunks.height))
    whole = _whole_urls(parts)
    single = _segments(parts)
    segments = [place for place, name in enumerate(names) if name in single]
    found = []
    for url, row in zip(urls, zip(*columns, strict=True), strict=True):
        fields = "".join(filter(None, row[whole:]))
        plain = _PLAIN_FIELD.fullmatch(fields) and "/." not in url and "%" not in url
        whole_segments = "/" not in fields or all("/" not in (row[n] or "") for n in segments)
        if not (plain and whole_segments and _PLAIN_URL.fullmatch(url)):
            found.append(_careful_url(dict(zip(names, row, strict=True)), parts))
        else:
            found.append(url)
    return found


def _whole_urls(parts: tuple[Part, ...]) -> int:
    """1 if the first field is a whole URL, 0 if it is a part of one."""
    return int(parts[0].fields[:1] == (Field("", _names(parts)[0]),))


def _careful_url(row: dict[str, str | None], parts: tuple[Part, ...]) -> str | None:
    """A link with its fields escaped; None where it lacks a field or is not safe to follow."""
    if any(row[name] is None for name in _needed(parts)):
        return None
    whole = list(row)[: _whole_urls(parts)]
    single = _segments(parts)
    kept = {name: "" if name in single else "/" for name in _before_fragment(parts)}
    encoded = {
        name: value
        if value is None or name in whole
        else quote(value, safe=kept.get(name, _IN_FRAGMENT))
        for name, value in row.items()
    }
    url = _of_one_fragment(_fill(parts, encoded))
    return None if _DOTS.search(re.split(r"[?#]", url, maxsplit=1)[0]) else safe_url(url)


@cache
def _segments(parts: tuple[Part, ...]) -> frozenset[str]:
    """The fields in which no / can stand: keys of the metadata that are no paths; parts of a host.

    A / in the host's place becomes %2F there, and no host has one.
    """
    found = {n for n in _names(parts) if n not in _COLUMNS and not n.endswith("path")}
    before = ""
    for part in parts:
        for way in part.ways:
            inside = before
            for field in way.fields:
                inside += field.before
                if _IN_HOST.fullmatch(inside):
                    found.add(field.name)
        before = before if part.optional else inside + part.after
    return frozenset(found.difference(_names(parts)[: _whole_urls(parts)]))


def _columns(chunks: pl.DataFrame, names: list[str], *, of_label: bool) -> list[Column]:
    """Each field's values as text; None where a row has none."""
    metadata = [name for name in names if name not in _DERIVED and name not in _COLUMNS]
    texts = chunks["metadata"].to_list() if metadata or "anchor" in names else []
    read = {text: json.loads(text or "{}") for text in set(texts)}  # chunks of a document share it
    keyed = [read[text] for text in texts]

    def column(name: str) -> Column:
        if name == "anchor" and of_label:
            pairs = zip(keyed, chunks[name].to_list(), strict=True)
            return [_text(keys.get("heading_path")) or anchor for keys, anchor in pairs]
        if name in metadata:
            return [_text(keys.get(name)) for keys in keyed]
        if (origin := _DERIVED.get(name, name)) not in chunks.columns:
            return [None] * chunks.height
        values = chunks[origin]
        if values.dtype == UTC:  # by numpy: what Polars does to dates wakes threads
            days = np.datetime_as_string(values.to_numpy(), unit="D").tolist()
            sources = chunks["date_source"].to_list() if name == "doc_date" else []
            if _OF_COPY in sources:
                days = ["NaT" if s == _OF_COPY else d for d, s in zip(days, sources, strict=True)]
            return [None if day == "NaT" else day for day in days]
        listed = values.to_list()
        if name == "file":
            return [p and (p.rstrip("/").rpartition("/")[2] or None) for p in listed]
        if name == "short_title":
            return [title and _short_title(title) for title in listed]
        if name == "release" or (of_label and name in ("version", "last_version")):
            return [v and _version(v, name) for v in listed]
        return [None if v is None or v == "" else str(v) for v in listed]

    return [column(name) for name in names]


def _version(version: str, name: str) -> str | None:
    """A version for a label: without a leading ``v``, but with one for ``release``."""
    plain = re.sub(r"\A[vV](?=[0-9])", "", version.strip())
    if not _VERSION.fullmatch(plain):
        return None
    return f"v{plain}" if name == "release" and plain[0].isdigit() else plain


def _short_title(title: str) -> str | None:
    topic = re.sub(r"\APR #\d+\s*", "", title)
    start = topic if len(topic) <= SHORT else topic[:SHORT].rpartition(" ")[0] or topic[:SHORT]
    return start + "…" * (start != topic) or None


def _text(value: Any) -> str | None:
    """A single value of the metadata as text; None for anything else."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value) or None


def _fill(parts: tuple[Part, ...], values: dict[str, str | None]) -> str:
    """The parts one after the other; each takes the first way whose fields all have a value."""
    filled = ""
    for part in parts:
        for way in part.ways:
            if all(values[field.name] is not None for field in way.fields):
                pieces = [f"{field.before}{values[field.name]}" for field in way.fields]
                filled += "".join(pieces) + way.after
                break
    return filled


def _filled(
    parts: tuple[Part, ...], columns: list[Column], needed: Sequence[str], rows: int
) -> list[str]:
    """The parts filled with each row's values, unescaped; "" where one of ``needed`` is missing."""
    names = _names(parts)
    places = {name: f"{{{place}}}" for place, name in enumerate(names)}

    @cache
    def form(absent: tuple[bool, ...]) -> Callable[..., str]:
        gone = {name for name, missing in zip(names, absent, strict=True) if missing}
        there = {name: None if name in gone else place for name, place in places.items()}
        return ("" if gone.intersection(needed) else _fill(parts, there)).format

    if not names:
        return [form(())()] * rows
    gaps = [column.count(None) for column in columns]
    if all(count in (0, rows) for count in gaps):  # all rows lack the same fields
        return list(map(form(tuple([count > 0 for count in gaps])), *columns))
    return [
        form(tuple([value is None for value in row]))(*row) for row in zip(*columns, strict=True)
    ]


@cache
def _names(parts: tuple[Part, ...]) -> list[str]:
    ways = (way for part in parts for way in part.ways)
    return list(dict.fromkeys(field.name for way in ways for field in way.fields))


def _needed(parts: tuple[Part, ...]) -> list[str]:
    """The fields that a link needs to lead to its page: those before a #, not in brackets."""
    plain = [part for part in parts if part.fields and not part.optional]
    inside = _before_fragment(parts)
    return [part.fields[0].name for part in plain if part.fields[0].name in inside]


def _before_fragment(parts: tuple[Part, ...]) -> set[str]:
    """The fields before a #."""
    names: set[str] = set()
    for part in [way for one in parts for way in one.ways]:
        for field in part.fields:
            if "#" in field.before:
                return names
            names.add(field.name)
        if "#" in part.after:
            break
    return names


def _of_one_fragment(url: str) -> str:
    """``url`` up to a second #."""
    return url if url.count("#") < 2 else "#".join(url.split("#")[:2])
