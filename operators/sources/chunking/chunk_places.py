"""Where in its document a chunk stands: the page of a PDF, the fragment that leads to a section.

The text alone says both, so that a chunker knows nothing of them: pages are parted by lines
with a form feed, sections begin at headings.
"""

import json
from collections.abc import Callable
from functools import partial
from itertools import accumulate

import polars as pl

from operators.sources.formats.heading_slugs import Section, section_slugs
from operators.sources.formats.headings import section_of
from operators.sources.formats.pdf import PAGE_BREAK

VERSION = "2"
"""Part of every document's fingerprint."""

CORPORA = ("docs", "wiki")


def add_places(chunks: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """``chunks`` with their places in ``metadata``, those of documents and wikis.

    ``page`` (from 1) for PDFs, the first that the chunk has text of; ``fragment``, what comes after
    ``#`` in an address: ``page=12``, or the section's slug. Page breaks are taken out of the text.

    Args:
        chunks: CHUNKS, or without ``embedding``.
        documents: DOCUMENTS that they were cut from.
    """
    read = documents.filter(pl.col("corpus").is_in(CORPORA))
    places = {
        (corpus, repo, document_id): _place_in(text or "", path or "", language)
        for corpus, repo, document_id, text, path, language in read.select(
            "corpus", "repo", "document_id", "text", "path", "language"
        ).iter_rows()
    }
    if not places:
        return chunks
    bodies: list[str] = []
    metadata: list[str] = []
    columns = ("corpus", "repo", "document_id", "text", "start_line", "metadata")
    for corpus, repo, document_id, body, first, given in chunks.select(columns).iter_rows():
        if place := places.get((corpus, repo, document_id)):
            found = place(body, first)
            if "page" in found:
                body = body.replace(PAGE_BREAK, "")
            given = json.dumps({**json.loads(given), **found}, sort_keys=True, ensure_ascii=False)
        bodies.append(body)
        metadata.append(given)
    return chunks.with_columns(
        pl.Series("text", bodies, dtype=pl.String), pl.Series("metadata", metadata, dtype=pl.String)
    )


def _place_in(
    text: str, path: str, language: str | None
) -> Callable[[str, int], dict[str, object]]:
    """What gives the place of a chunk of a document, by its text and first line (from 1)."""
    if language == "pdf":
        lines = text.split("\n")
        return partial(_page, list(accumulate(PAGE_BREAK in line for line in lines)))
    sections = section_slugs(text, path)
    return partial(_section, sections, [section.line for section in sections])


def _page(breaks: list[int], body: str, first: int) -> dict[str, object]:
    blank = next((n for n, line in enumerate(body.split("\n")) if line.strip()), 0)
    page = breaks[min(first - 1 + blank, len(breaks) - 1)] + 1
    return {"page": page, "fragment": f"page={page}"}


def _section(
    sections: list[Section], starts: list[int], body: str, first: int
) -> dict[str, object]:
    at = section_of(starts, first - 1, body)
    slug = None if at is None else sections[at].slug
    return {"fragment": slug} if slug else {}
