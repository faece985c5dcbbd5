"""Cuts documents into chunks that fit the embedding model's window, without losing a word.

A chunk is a run of whole lines if these fit. It ends, in order of preference, before a heading,
after a blank line (best before a line without indentation), before a line without indentation,
anywhere; if it can, not between a heading and its text. A cut of code goes through as few pieces of
syntax as possible, and a function or class that fits a chunk is in one. Nothing overlaps: the
chunks of a document, joined, are the document without its blank runs.

Sections share a chunk if there is room, but not in a document that has a version: versions are
compared chunk by chunk, and a section that only an older one has must not look like a revision of
its neighbours. Nor do the releases of a changelog: each chunk has the version and the day of its
release.
"""

import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

import polars as pl

from operators.embedding.passage import chunk_heading, embedded_text
from operators.foundation.filename_dates import filename_date
from operators.foundation.front_matter import front_matter_lines
from operators.frames import (
    CHUNKS,
    DEFINES,
    DOCUMENTS,
    IN_CHANGELOG,
    KINDS,
    LINES,
    SIGNATURES,
    USES,
    check,
)
from operators.sources.chunking.code_breaks import (
    Breaks,
    Unparsed,
    breaks,
    signatures_above,
    symbol,
)
from operators.sources.dates.stated_version import document_version
from operators.sources.formats.heading_slugs import section_slugs
from operators.sources.formats.headings import heading_paths, headings, is_text, section_of
from operators.sources.formats.languages import code_language
from operators.sources.formats.pdf import PAGE_BREAK
from operators.sources.formats.releases import Release, release_sections
from operators.sources.protocol import (
    APART_FROM,
    METADATA_VALUE_LIMIT,
    bounded_title,
    metadata_json,
)

VERSION = "15 most text"
"""Part of every document's fingerprint: after a change of the chunker documents are cut again."""

PLACED = ("docs", "wiki")
"""The corpora whose chunks state their position in the document."""

MOST_USES = 1_500
"""Upper bound in characters of the list of names that a chunk uses; a longer one is left out."""

MAX_CHARACTERS = 4000
"""Upper bound of a chunk in characters, because base64 has few word-pieces."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_WORD = re.compile(r"\s*\S{1,100}|\s+")

CUT_BY_LINES = "cut_by_lines"
"""In the metadata of code that was not cut along its syntax: the reason."""

CUT_AGAIN = "cut_again"
"""There too, ``true`` if that reason is temporary: the next ingestion cuts the document again."""

CountTokens = Callable[[Sequence[str]], Sequence[int]]


class _Unit(NamedTuple):
    """A line that is never cut, or a piece of a line that is too long for one chunk."""

    text: str
    tokens: int
    line: int
    break_before: int  # the rank of its start as the beginning of a chunk: 0 is worst
    heading: int  # word-pieces of the longest heading that its chunk can get because of it
    defines_to: int = -1  # the last line of the definition that starts here


def chunk_id(corpus: str, repo: str, document_id: str, ordinal: int) -> int:
    """The id of a document's ``ordinal``-th chunk: a signed 64-bit hash, stable across runs."""
    key = "\0".join((corpus, repo, document_id, str(ordinal)))
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def chunk_documents(
    documents: pl.DataFrame, count_tokens: CountTokens, max_tokens: int = 254
) -> pl.DataFrame:
    """Cut documents into chunks.

    Args:
        documents: DOCUMENTS, one row a document.
        count_tokens: the embedding model's count of word-pieces, one number a text.
        max_tokens: word-pieces that fit the model's window, special tokens apart.

    Returns:
        CHUNKS without ``embedding``, in document order, ``ordinal`` from 0. A chunk with its
        heading (:func:`embedded_text`) has at most ``max_tokens`` word-pieces, as long as those of
        a heading (``MAX_HEADING`` characters) leave room for a line's words. Runs of blank lines
        alone make no chunk; a document without any text has none. Code that is cut by lines because
        its parser gave up says why in ``metadata`` (``CUT_BY_LINES``, ``CUT_AGAIN``); that cut
        along its syntax names the definitions that begin in a chunk (``DEFINES``, ``KINDS``,
        ``LINES``), the names that it uses (``USES``, at most ``MOST_USES`` characters) and has the
        signatures of those that it begins in the middle of (``SIGNATURES``). Chunks of
        ``PLACED`` have their place there: ``page`` of a PDF, from 1, where the text of the chunk
        begins, and ``fragment``, the end of an address after ``#``: ``page=12``, or the section's
        slug. Page breaks are taken out of the text.
    """
    check(documents, DOCUMENTS, "documents")
    rows: list[dict[str, object]] = []
    for document in documents.iter_rows(named=True):
        if (document["text"] or "").strip():
            rows.extend(_chunks_of(document, count_tokens, max_tokens))
    schema = {name: dtype for name, dtype in CHUNKS.items() if name != "embedding"}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _chunks_of(
    document: dict[str, object], count_tokens: CountTokens, max_tokens: int
) -> Iterator[dict[str, object]]:
    text, title, path = (str(document[name] or "") for name in ("text", "title", "path"))
    # in a folder of documents, LaTeX was converted to Markdown
    all_headings = headings(text, "a.md" if document["language"] == "tex" else path)
    sections, releases = release_sections(text, path, all_headings)
    # it, or its file's name, has a version: it may be one of several
    versioned = bool(document["version"] or document_version(path) or filename_date(path))
    releases = [None] * len(sections) if versioned else releases
    starts = [section.line for section in sections]
    code = breaks(text, str(document["language"] or code_language(path)), path)
    kept = {k: v for k, v in document.items() if k in CHUNKS and k != "text"}
    known = json.loads(str(document["metadata"] or "{}"))
    if isinstance(code, Unparsed):
        again = {CUT_AGAIN: True} if code.passing else {}
        kept["metadata"] = metadata_json({**known, CUT_BY_LINES: code.reason, **again})
        code = None
    lines = _LINE.findall(text)
    paths = [bounded_title(path) for path in heading_paths(sections, title)]
    anchors = paths if any(releases) else [section.text for section in sections]
    units = _units(lines, set(starts), code, title, anchors, count_tokens, max_tokens)
    key = (str(document["corpus"]), str(document["repo"]), str(document["document_id"]))
    apart: list[Sequence[_Unit]] = [units]
    before = zip(starts, [None, *releases], releases, strict=False)
    begins = {line for line, above, of in before if versioned or above != of}
    if code is None and begins:
        apart = _by_section(units, begins, set(starts), front_matter_lines(text))
    elif isinstance(first := known.get(APART_FROM), int):
        apart = [[u for u in units if u.line < first], [u for u in units if u.line >= first]]
    placed = document["corpus"] in PLACED
    slugs = _usable(section_slugs(all_headings, path)) if placed else []
    in_pages = placed and document["language"] == "pdf"
    pages = list(accumulate(PAGE_BREAK in line for line in lines)) if in_pages else []

    def headed(run: Sequence[_Unit]) -> tuple[str, int | None, str | None]:
        """The text of a chunk, its section's index and the heading that it is embedded with."""
        body = "".join(unit.text for unit in run)
        at = section_of(starts, run[0].line, body)
        return body, at, _symbol_of(run, code) if code else None if at is None else anchors[at]

    def excess(run: Sequence[_Unit]) -> int:
        body, _, anchor = headed(run)
        return count_tokens([embedded_text(title, anchor, body)])[0] - max_tokens

    for ordinal, run in enumerate(_fitting(apart, excess, max_tokens)):
        body, at, anchor = headed(run)
        own = {} if at is None or code else _from_section(paths[at], releases[at], kept["metadata"])
        columns = {**kept, **own}
        if own := _place(run, pages, slugs[at] if slugs and at is not None else ""):
            columns["metadata"] = _with(columns["metadata"], own)
        if code:
            own = {**_defined(run, code), **_used(run, body, code), **_under(run, code, lines)}
            columns["metadata"] = _with(columns["metadata"], own) if own else columns["metadata"]
        yield {
            **columns,
            "chunk_id": chunk_id(*key, ordinal),
            "ordinal": ordinal,
            "text": body.replace(PAGE_BREAK, "") if pages else body,
            "anchor": anchor and bounded_title(anchor),
            "start_line": run[0].line + 1,
            "end_line": run[-1].line + 1,
        }


def _usable(slugs: Sequence[str]) -> list[str]:
    """The slugs, but none for a section whose slug is too long: a truncated one does not work."""
    return [slug if len(slug) <= METADATA_VALUE_LIMIT else "" for slug in slugs]


def _fitting(
    apart: Sequence[Sequence[_Unit]], excess: Callable[[Sequence[_Unit]], int], max_tokens: int
) -> Iterator[Sequence[_Unit]]:
    """The runs of ``apart`` that have text, cut again while they have word-pieces in ``excess``.

    The pieces of one long word may count less apart than joined.
    """
    runs = [run for part in apart for run in _runs(part, max_tokens)]
    pending = [(run, max_tokens) for run in reversed(runs)]
    while pending:
        run, allowed = pending.pop()
        if not any(unit.text.strip() for unit in run):
            continue
        over = excess(run)
        if over <= 0 or len(run) == 1:
            yield run
            continue
        allowed = max(allowed - over, 1)
        parts = list(_runs(run, allowed))
        if len(parts) == 1:
            parts = [run[: len(run) // 2], run[len(run) // 2 :]]
        pending.extend((part, allowed) for part in reversed(parts))


def _place(run: Sequence[_Unit], pages: Sequence[int], slug: str) -> dict[str, object]:
    """A chunk's page, from 1, and fragment; ``pages`` are those of all lines, from 0."""
    if not pages:
        return {"fragment": slug} if slug else {}
    page = 1 + pages[next(unit.line for unit in run if unit.text.strip())]
    return {"page": page, "fragment": f"page={page}"}


def _from_section(path: str, release: Release | None, metadata: object) -> dict[str, object]:
    """The columns that a chunk has from its section; a release belongs to no topic."""
    known = json.loads(str(metadata or "{}")) | {"heading_path": path}
    if release is None:
        return {"metadata": metadata_json(known)}
    return {
        "metadata": metadata_json({**known, IN_CHANGELOG: True}),
        "version": release.version,
        "doc_date": release.date,
        "date_source": "release" if release.date else None,
        "lineage_id": None,
    }


def _with(metadata: object, more: dict[str, object]) -> str:
    known = {**json.loads(str(metadata or "{}")), **more}
    return json.dumps(known, sort_keys=True, ensure_ascii=False)


def _defined(run: Sequence[_Unit], code: Breaks) -> dict[str, object]:
    """The definitions that begin in a chunk, as many as metadata holds."""
    begin, end = (
        bisect_left(code.definitions, line, key=attrgetter("first"))
        for line in (run[0].line, run[-1].line + 1)
    )
    begun = code.definitions[begin:end]
    named = {one.name: one for one in reversed(begun)}  # the first of each name
    names = dict.fromkeys(one.name for one in begun)
    lengths = accumulate(len(json.dumps(name, ensure_ascii=False)) + 2 for name in names)
    kept = [name for name, to in zip(names, lengths, strict=True) if to < METADATA_VALUE_LIMIT]
    if not kept:
        return {}
    kinds = [named[name].kind for name in kept]
    lines = [[named[name].first + 1, named[name].last + 1] for name in kept]
    return {DEFINES: kept, KINDS: kinds, LINES: lines}


def _used(run: Sequence[_Unit], body: str, code: Breaks) -> dict[str, object]:
    """The names that a chunk uses, sorted; a line may be in several chunks."""
    if code.used is None:
        return {}
    begin, end = (bisect_left(code.used, (line,)) for line in (run[0].line, run[-1].line + 1))
    names = sorted({name for _, name in code.used[begin:end] if name in body})
    return {USES: names} if len(json.dumps(names, ensure_ascii=False)) <= MOST_USES else {}


def _under(run: Sequence[_Unit], code: Breaks, lines: Sequence[str]) -> dict[str, object]:
    """The signatures of the definitions around a chunk's start, only inner ones if all are long."""
    written = next(unit.line for unit in run if unit.text.strip())
    signatures = signatures_above(code.definitions, lines, written)
    while len(above := "\n".join(signatures)) > METADATA_VALUE_LIMIT:
        signatures = signatures[1:]
    return {SIGNATURES: above} if above else {}


def _symbol_of(run: Sequence[_Unit], code: Breaks) -> str | None:
    """The function or class that has most of a chunk's lines, blank ones around it apart."""
    written = [unit.line for unit in run if unit.text.strip()]
    return symbol(code.definitions, written[0], written[-1])


def _by_section(
    units: Sequence[_Unit], begins: set[int], titles: set[int], front_matter: int
) -> list[Sequence[_Unit]]:
    """The units from each of ``begins`` on; a title that no text follows joins the next part."""
    parts: list[Sequence[_Unit]] = []
    start, has_text = 0, False
    for at, unit in enumerate(units):
        if unit.line in begins and has_text:
            parts.append(units[start:at])
            start, has_text = at, False
        elif unit.line not in titles and unit.line >= front_matter and is_text(unit.text):
            has_text = True
    if not has_text and parts:
        start -= len(parts.pop())
    return [*parts, units[start:]]


def _units(
    lines: Sequence[str],
    starts: Set[int],
    code: Breaks | None,
    title: str,
    anchors: Sequence[str],
    count_tokens: CountTokens,
    budget: int,
) -> list[_Unit]:
    """The lines of a document of that ``title``; its sections have ``starts`` and ``anchors``."""
    names = [*anchors, *(d.name for d in (code.definitions if code else ()))]
    titles = list({chunk_heading(title, name): None for name in (None, *names)})
    counts = count_tokens([*titles, *lines])
    lengths = dict(zip(titles, counts, strict=False))
    headed_by = [chunk_heading(title, name) for name in code.innermost()] if code else []
    inside = [lengths[of] for of in headed_by] or [max(lengths.values())] * len(lines)
    defined = {d.first: d.last for d in reversed(code.definitions)} if code else {}
    deepest = max(code.depths) if code else 0
    units: list[_Unit] = []
    after_blank = False
    above = 0  # word-pieces of the headings before this line that no text has followed yet
    for number, (line, count) in enumerate(zip(lines, counts[len(titles) :], strict=True)):
        flush_left = not line[0].isspace() and line[0] not in ")]}"
        quality = 0 if above else 4 if number in starts else 2 * after_blank + flush_left
        if code:
            quality += 4 * (deepest - code.depths[number])
        after_blank = not line.strip()
        heading = inside[number]
        fits = above + count <= max(budget - heading, 1) and len(line) <= MAX_CHARACTERS
        untold = number in starts or (above and not is_text(line))
        above = above + count if untold and 2 * (above + count) < budget else 0
        if fits:
            quality = 0 if after_blank else quality
            units.append(_Unit(line, count, number, quality, heading, defined.get(number, -1)))
            continue
        words = _WORD.findall(line)
        for word, tokens in zip(words, count_tokens(words), strict=True):
            units.append(_Unit(word, tokens, number, quality, heading))
            quality = 0
    return units


def _runs(units: Sequence[_Unit], budget: int) -> Iterator[Sequence[_Unit]]:
    """Fill a chunk, then step back to the best place to end it in its second half.

    Before a definition it may end when it is a third full; before one that the end would cut
    although a chunk can hold it, always.
    """
    start = 0
    while start < len(units):
        end = _filled(units, start, budget)
        if end < len(units):
            third, middle = (start + (end - start + part - 1) // part for part in (3, 2))
            end = _whole(units, start, end, budget) or max(
                (at for at in range(third, end + 1) if at >= middle or units[at].defines_to >= 0),
                key=lambda at: (units[at].break_before, at),
            )
        yield units[start:end]
        start = max(end, start + 1)


def _filled(units: Sequence[_Unit], start: int, budget: int) -> int:
    """Where a chunk from ``start`` must end at the latest."""
    tokens = characters = heading = 0
    for at in range(start, len(units)):
        tokens += units[at].tokens
        characters += len(units[at].text)
        heading = max(heading, units[at].heading)
        if at > start and (tokens + heading > budget or characters > MAX_CHARACTERS):
            return at
    return len(units)


def _whole(units: Sequence[_Unit], start: int, end: int, budget: int) -> int | None:
    """The start of the outermost definition across ``end`` that fits a chunk of its own."""
    for at in range(start + 1, end):
        to = units[at].defines_to
        if to >= units[end].line:
            fits = _filled(units, at, budget)
            if fits == len(units) or units[fits].line > to:
                return at
    return None
