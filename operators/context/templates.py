"""How a corpus's labels and links are made: a template in its configuration.

``{path}:{start_line}-{end_line}`` takes the columns of ``CHUNKS``, ``{file}`` (the last part of the
path), and any key of the chunk's metadata (``{pr_number}``). A part in double square brackets,
``{title}[[ ({doc_date})]][[ > {anchor}]]``, vanishes when one of its fields has no value. Outside
of such a part a field without a value vanishes with the text before it. The first field names the
thing: without a value there, a label falls back to title, path, then document_id. A link needs all
of its fields up to a ``#``: half a path is another page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from urllib.parse import quote

import polars as pl

from operators.context.escape import label_texts, safe_urls
from operators.errors import CrosscorpusError
from operators.frames import CHUNKS

LONGEST = 200  # characters of one field in a label; a title can have thousands

_PIECE = re.compile(
    r"\[\[(?P<group>.*?)\]\]|\{(?P<field>[^{}]*)\}|(?P<text>(?:[^{}\[\]]|\[|\])+?(?=\[\[|\{|\}|$))"
)
_NAME = re.compile(r"[A-Za-z_][\w.-]*")


@dataclass(frozen=True)
class Field:
    """A field and the text before it."""

    before: str
    name: str


@dataclass(frozen=True)
class Part:
    """What stands or vanishes together."""

    fields: tuple[Field, ...]
    after: str
    optional: bool = False


def parse(template: str) -> tuple[Part, ...]:
    """The parts of ``template``.

    Raises:
        CrosscorpusError: braces or double brackets do not match, or a field has no proper name.
    """
    return _parse(template)


@cache
def _parse(template: str) -> tuple[Part, ...]:
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
            parts.append(_group(match["group"], template))
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


def labels(chunks: pl.DataFrame, corpus: str, template: str) -> pl.Series:
    """``source_label`` of each row of ``chunks`` (``CHUNKS``): ``[corpus: ...]``, escaped."""
    parts = parse(template)
    names = dict.fromkeys(field.name for part in parts for field in part.fields)
    fields = {name: label_texts(_shortened(_field(chunks, name))) for name in names}
    first = next(iter(fields.values()), None)
    opening, closing = f"[{corpus}: ", "]"
    if first is not None and first.null_count():
        body = _filled(chunks.height, parts, fields, "", "")
        fallback = [label_texts(_shortened(chunks[c])) for c in ("title", "path", "document_id")]
        frame = pl.DataFrame([s.alias(str(i)) for i, s in enumerate([first, body, *fallback])])
        chosen = pl.when(pl.col("0").is_not_null()).then("1")
        named = chosen.otherwise(pl.coalesce(_said("2"), _said("3"), "4", pl.lit("")))
        frame = frame.select(pl.concat_str(pl.lit(opening), named, pl.lit(closing)))
        return frame.to_series().alias("source_label")
    return _filled(chunks.height, parts, fields, opening, closing).alias("source_label")


def links(chunks: pl.DataFrame, template: str | None) -> pl.Series:
    """``source_url`` of each row of ``chunks``; null where there is none or it is not safe.

    A field that begins the template is a URL and stays as it is; any other is percent-encoded.
    """
    nothing = pl.Series("source_url", [None], dtype=pl.String).new_from_index(0, chunks.height)
    parts = parse(template or "")
    names = list(dict.fromkeys(field.name for part in parts for field in part.fields))
    if not names:
        return nothing
    whole = parts[0].fields[:1] == (Field("", names[0]),)
    fields = {
        name: _field(chunks, name) if whole and name == names[0] else _quoted(_field(chunks, name))
        for name in names
    }
    filled = _filled(chunks.height, parts, fields, "", "")
    for name in _needed(parts):
        if fields[name].null_count():
            filled = filled.scatter(fields[name].is_null().arg_true(), None)
    return safe_urls(filled).alias("source_url")


def _needed(parts: tuple[Part, ...]) -> list[str]:
    """The fields without which a link leads elsewhere: those before a #, not in brackets."""
    names: list[str] = []
    for part in parts:
        if "#" in part.after or any("#" in field.before for field in part.fields):
            break
        if len(part.fields) == 1 and not part.optional:
            names.append(part.fields[0].name)
    return names


def _filled(
    height: int, parts: tuple[Part, ...], fields: dict[str, pl.Series], opening: str, closing: str
) -> pl.Series:
    pieces = [pl.lit(opening)] if opening else []
    for part in parts:
        inside = [e for f in part.fields for e in (pl.lit(f.before), pl.col(f.name))]
        inside.append(pl.lit(part.after))
        pieces.append(pl.concat_str(inside))  # null if one is null
    pieces.append(pl.lit(closing))
    frame = pl.DataFrame([series.alias(name) for name, series in fields.items()])
    text = pl.concat_str(pieces, ignore_nulls=True).alias("filled")
    if not fields:
        return frame.select(text).to_series().new_from_index(0, height)
    return frame.select(text).to_series()


def _field(chunks: pl.DataFrame, name: str) -> pl.Series:
    """A field's values as text: a column, a date as year-month-day, or a key of the metadata."""
    if name == "file":
        return chunks["path"].str.extract(r"([^/]+)/*$").alias(name)
    if name not in CHUNKS or name in ("metadata", "embedding"):
        if chunks["metadata"].null_count() == chunks.height:
            return pl.Series(name, [None], dtype=pl.String).new_from_index(0, chunks.height)
        values = chunks["metadata"].str.json_path_match("$." + name).alias(name)
        return chunks.select(pl.lit(values).replace("", None).alias(name)).to_series()
    values = chunks[name]
    if values.dtype == pl.String:
        empty = values == ""
        return values.scatter(empty.arg_true(), None) if empty.any() else values
    if isinstance(values.dtype, pl.Datetime):
        return values.dt.strftime("%Y-%m-%d")
    return values.cast(pl.String)


def _said(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != "").then(name)


def _shortened(texts: pl.Series) -> pl.Series:
    sizes = texts.str.len_bytes().max()
    if not isinstance(sizes, int) or sizes <= LONGEST:
        return texts
    half = LONGEST // 2
    short = [
        text if text is None or len(text) <= LONGEST else f"{text[:half]}…{text[1 - half :]}"
        for text in texts
    ]
    return pl.Series(texts.name, short, dtype=pl.String)


def _quoted(texts: pl.Series) -> pl.Series:
    plain = texts.str.contains(r"^[A-Za-z0-9._~/-]*$")
    if plain.all():
        return texts
    rows = (~plain).fill_null(False).arg_true()
    return texts.scatter(rows, [quote(text, safe="/") for text in texts[rows]])
