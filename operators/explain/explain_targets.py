"""Missing chunks that a caller asks about: their ids, and whether a query may see them.

A name is a chunk's id, its label, or a document or a place in one, as ``fetch`` takes them. For a
document the target is the best of its chunks that is a hit, or the chunk nearest to the query.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from operators.arrays.segments import Floats
from operators.embedding.background import distance_factor
from operators.embedding.protocol import Embedder
from operators.errors import UnknownName
from operators.explain.named_documents import at_lines, documents_named, located
from operators.foundation.cancellation import checked
from operators.foundation.sanitize import clean_text
from operators.frames import EXPLAIN_TARGETS, empty
from operators.options import FILTERS
from operators.postgres.search.chunk_lookup import unread_reason
from operators.postgres.search.chunk_reader import Wanted, fetch_chunks
from operators.postgres.store import Home, by_store, collection_info
from operators.ranking.definitions import listed_under
from operators.ranking.named_places import spellings
from operators.ranking.query_filters import narrowed, visible_parts

MOST_OF_A_DOCUMENT = 3

_TEXT_KINDS = ("text", "date")


def find_targets(
    homes: Mapping[str, Home],
    embedders: Mapping[str, Embedder],
    queries: pl.DataFrame,
    known_labels: pl.DataFrame,
    merged: pl.DataFrame,
    corpora: Mapping[str, Any],
    *,
    names: Sequence[str | int],
) -> pl.DataFrame:
    """``EXPLAIN_TARGETS``: the chunks that a caller names, for each query.

    Args:
        homes: the collection of each corpus.
        embedders: the models, for the nearest chunk of a document: ``""`` is the driver's,
            the others are by their vector space.
        queries: columns ``SCOPED_QUERIES``.
        known_labels: ``LABELS`` of the hits; they are names of chunks too.
        merged: ``MERGED``.
        corpora: a corpus's name -> ``inputs`` with ``label``, ``link`` and ``filters``.
        names: chunk ids, labels, or names of documents.

    Raises:
        UnknownName: nothing visible to the caller's repositories has that name.
    """
    if not names:
        return empty(EXPLAIN_TARGETS)
    labels = dict(known_labels["source_label", "chunk_id"].iter_rows())
    plain = [clean_text(name) if isinstance(name, str) else name for name in names]
    wanted = [labels.get(name, name) if isinstance(name, str) else name for name in plain]
    columns = known_labels["query_id", "chunk_id", "source_label"]
    shown = {(query_id, chunk_id): label for query_id, chunk_id, label in columns.iter_rows()}
    rows: list[dict[str, Any]] = []
    for query in queries.iter_rows(named=True):
        query_frame = queries.filter(query_id=query["query_id"])
        named = [_named(name, homes, query["repos"], corpora) for name in checked(wanted)]
        known = pl.concat(named).unique("chunk_id", keep="first", maintain_order=True)
        visible, distances = _visible(homes, embedders, query_frame, known, corpora)
        ranks = dict(merged.filter(query_id=query["query_id"])["chunk_id", "rank"].iter_rows())
        for chunks in named:
            documents = chunks["corpus", "repo", "document_id"].n_unique()
            for chunk_id in checked(best(chunks, ranks, distances)):
                chunk = chunks.row(by_predicate=pl.col("chunk_id") == chunk_id, named=True)
                facts = {
                    "source_label": shown.get((query["query_id"], chunk_id), chunk["source_label"]),
                    "query_id": query["query_id"],
                    "hidden": hidden(chunk, query, corpora, visible),
                    "vector_distance": distances.get(chunk_id),
                    "documents": documents,
                    "passages": chunks.height,
                }
                rows.append({**chunk, **facts})
    frame = pl.DataFrame(rows, schema=EXPLAIN_TARGETS)
    return frame.unique(["query_id", "chunk_id"], keep="first", maintain_order=True)


def _named(
    name: str | int,
    homes: Mapping[str, Home],
    repos: list[str] | None,
    corpora: Mapping[str, Any],
) -> pl.DataFrame:
    """The chunks that ``name`` means, with their labels."""
    filters, text = visible_parts(corpora), str(name).strip()
    look = partial(located, homes, corpora, repos=repos, filters=filters)
    rows = look([], ids=[int(name)]) if is_id(name) else empty(EXPLAIN_TARGETS)
    rows = at_lines(look, documents_named(look, text)) if rows.is_empty() else rows
    for store, of in by_store(homes) if rows.is_empty() else ():
        visible = {there: filters[corpus] for there, corpus in of.items()}
        if reason := unread_reason(store, spellings(text), repos, visible):
            raise UnknownName(f"{text!r} is not here: {reason}")
    if rows.is_empty():
        raise UnknownName(
            f"no chunk or document {text!r} to explain: give a chunk's id or label, or its "
            "document's id, path, title or link; `crosscorpus ingest` on its source reports what "
            "it leaves out"
        )
    return rows.unique("chunk_id", keep="first", maintain_order=True)


def _visible(
    homes: Mapping[str, Home],
    embedders: Mapping[str, Embedder],
    query: pl.DataFrame,
    known: pl.DataFrame,
    corpora: Mapping[str, Any],
) -> tuple[set[int], dict[int, float]]:
    """The known chunks that one query may see, and their distances from it."""
    texts = query["texts"].item().to_list()
    vectors = {s: np.asarray(e.embed_queries(texts), np.float64) for s, e in embedders.items()}
    distances: dict[int, float] = {}
    visible: set[int] = set()
    for (corpus,), some in known.group_by("corpus", maintain_order=True):
        if corpus in corpora:
            scope = narrowed(query, str(corpus), corpora[str(corpus)]["inputs"]["filters"])
            store, corpus_there = homes[str(corpus)]
            chunks = fetch_chunks(store, [Wanted(corpus_there, some["chunk_id"], scope)])
            visible |= set(chunks["chunk_id"])
            away = nearest(chunks, vectors.get(store.space or "", vectors[""]))
            factor = distance_factor(collection_info(store).background)
            distances |= {chunk: distance * factor for chunk, distance in away.items()}
    return visible, distances


def is_id(name: str | int) -> bool:
    """Whether ``name`` is a chunk's id, as a number or in digits: one of 64 bits.

    >>> is_id("-9223372036854775808"), is_id("9223372036854775808"), is_id(2**63)
    (True, False, False)
    """
    text = str(name).strip()
    known = isinstance(name, int) or bool(re.fullmatch(r"-?\d{6,19}", text))
    return known and -(2**63) <= int(text) < 2**63


def best(
    chunks: pl.DataFrame, found: Mapping[int, int], distances: Mapping[int, float]
) -> list[int]:
    """The best of ``chunks`` that are hits, or the one that is nearest to the query.

    Args:
        chunks: those of one name.
        found: the hits of the query, with their rank in their corpus.
        distances: of chunks from the query, where known.
    """
    ids = chunks["chunk_id"].to_list()
    seen = sorted((one for one in ids if one in found), key=lambda one: (found[one], one))
    away = [distances.get(one, np.inf) for one in ids]
    return seen[:MOST_OF_A_DOCUMENT] or [ids[int(np.argmin(away))]]


def nearest(chunks: pl.DataFrame, vectors: Floats) -> dict[int, float]:
    """The cosine distance of each of ``chunks`` (``CHUNKS``) to the nearest of ``vectors``."""
    usable = chunks.filter(pl.col("embedding").is_not_null())
    if not usable.height or not len(vectors):
        return {}
    embeddings = np.stack([np.asarray(one, np.float64) for one in usable["embedding"].to_list()])
    length = np.linalg.norm(embeddings, axis=1)[:, None] * np.linalg.norm(vectors, axis=1)
    products = embeddings @ vectors.astype(np.float64).T
    cosines = np.divide(products, length, out=np.full(products.shape, -1.0), where=length > 0)
    return dict(zip(usable["chunk_id"].to_list(), (1 - cosines.max(axis=1)).tolist(), strict=True))


def hidden(
    chunk: Mapping[str, Any],
    query: Mapping[str, Any],
    corpora: Mapping[str, Any],
    visible: Collection[int],
) -> str | None:
    """Why a query can't see a chunk, as far as the chunk shows; None: it can.

    Args:
        chunk: a row of ``LOCATED``, of a repository that the query may see.
        query: a row of ``QUERIES``.
        corpora: a corpus's name -> ``inputs`` with ``filters``.
        visible: ids of the chunks that the store shows to the query.
    """
    corpus = chunk["corpus"]
    if corpus not in corpora:
        return f"the configuration has no corpus {corpus!r}"
    if query["corpora"] is not None and corpus not in query["corpora"]:
        only = ", ".join(query["corpora"]) or "nothing"
        return f"the question asks {only} only, and this is in {corpus}"
    filters = corpora[corpus]["inputs"].get("filters") or {}
    for what, limits in (("question", query), (f"corpus {corpus}", filters)):
        if reason := _outside(chunk, limits, what):
            return reason
    as_of: datetime | None = query["as_of"]
    if as_of is not None and chunk["created_at"] is not None and chunk["created_at"] >= as_of:
        created = f"{chunk['created_at']:%Y-%m-%d %H:%M}"
        return f"created {created}, and the question is as of {as_of:%Y-%m-%d %H:%M}"
    if chunk["chunk_id"] not in visible:
        asked = {of.name: query.get(of.column) for of in FILTERS if of.kind in _TEXT_KINDS}
        asked = {name: value for name, value in asked.items() if value}
        if asked:
            limits = " or ".join(f"{name} {str(value)!r}" for name, value in asked.items())
            return f"it does not match the question's {limits}, or another version answers"
        return "another version answers this question"
    return None


def _outside(chunk: Mapping[str, Any], limits: Mapping[str, Any], what: str) -> str | None:
    prefix = limits.get("path_prefix")
    if prefix is not None and not (chunk["path"] or "").startswith(prefix):
        return f"the {what} is limited to paths that begin with {prefix!r}"
    symbol = limits.get("symbol")
    searched = f"{chunk['repo']}/{chunk['path'] or ''}\n{chunk['metadata'] or ''}"
    if symbol is not None and not re.search(listed_under(symbol), searched):
        return f"the {what} is limited to definitions of {symbol!r}"
    for name in ("language", "state"):
        if (limit := limits.get(name)) is not None and chunk[name] != limit:
            return f"the {what} is limited to the {name} {limit!r}, and this has {chunk[name]!r}"
    return None
