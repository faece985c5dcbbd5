"""Vector search that keeps its recall under a filter.

A filter on a shared HNSW index applies to the rows that the index scan returns: if 1 % of them
pass, most neighbours are lost. So a filtered set of up to ``exact_scan_max_rows`` rows gets an
exact scan, which takes microseconds a row. A larger set gets an iterative index scan (pgvector
0.8). If that returns fewer rows than requested, an exact scan follows.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pgvector import HalfVector

from operators.embedding.background import distance_factor
from operators.errors import CrosscorpusError
from operators.frames import VECTOR_LISTS, empty
from operators.postgres.row_writer import LARGEST_HALF
from operators.postgres.schema.indexes import EXACT_SCAN_MAX_ROWS
from operators.postgres.search.batches import Deadline, fetch, run, run_slices
from operators.postgres.search.filters import in_files
from operators.postgres.search.ranked_list import Hit, ranked_lists
from operators.postgres.search.version_filters import SearchFilter, seen
from operators.postgres.search.visible_chunks import search_filters, visible_counts
from operators.postgres.store import (
    CollectionInfo,
    Connection,
    Store,
    check_space,
    collection_info,
    need_space,
)
from operators.ranking.linked_files import File

LARGEST_EF_SEARCH = 1_000  # pgvector's own limit
MAX_SCAN_TUPLES = 100_000
MORE_FROM_INDEX = 3
"""An index scan returns this many times ``k`` rows, of which the nearest ``k`` are kept. Otherwise
it would stop at the first ``k`` rows that pass the filter, all from the region it visits first."""

EXACT_SCAN_SHARE = 2_700
"""An exact scan of n of N rows costs as much as an index scan with that filter if n * n = 2,700 N
(measured with N = 105,000): the fewer rows pass, the more the index scan must read."""

MOST_EQUAL = 10
"""Chunks at one distance that a list from the index may have, such as copies and versions."""

BREADTH_OF = 10_000
"""Up to this many chunks ``ef_search`` has its minimum; it grows with the root of their number."""


@dataclass(frozen=True)
class _Item:
    text: tuple[int, int]  # query_id, text_no
    vector: HalfVector
    filter: SearchFilter
    files: tuple[File, ...] = ()  # only these, if there are any


def search_vectors(
    store: Store,
    corpus: str,
    queries: pl.DataFrame,
    query_embeddings: pl.DataFrame,
    *,
    k: int,
    exact_scan_max_rows: int | None = None,
    timeout_s: float | None = None,
) -> pl.DataFrame:
    """The ``k`` nearest chunks of ``corpus`` to each query text, by cosine distance.

    Args:
        corpus: the corpus to search; one that the collection lacks gives no rows.
        queries: columns ``SCOPED_QUERIES``; their filters apply exactly.
        query_embeddings: columns ``QUERY_EMBEDDINGS``.
        k: rows a list.
        exact_scan_max_rows: filtered sets of up to this many chunks get an exact scan (default:
            10,000; in a corpus of N >= 37,000 chunks, the root of 2,700 N).
        timeout_s: seconds for the whole batch.

    Returns:
        Columns ``VECTOR_LISTS``, ordered by query, text and rank. A list is ordered by distance,
        then chunk_id, and is shorter than ``k`` only if the filter leaves fewer chunks. A chunk or
        query whose vector is zero has distance 2. Distances are on the scale of all models
        (:func:`operators.embedding.background.distance_factor`).

    Raises:
        CrosscorpusError: the embeddings do not have the collection's dimension.
        ModelMismatch: the collection holds vectors of another space than ``store`` was opened for.
        SearchTimeout: ``timeout_s`` has passed.
    """
    info = collection_info(store)
    need_space(store, info.model, info.space)
    sizes = info.repos.get(corpus, {})
    if not sizes or k < 1 or query_embeddings.is_empty():
        return empty(VECTOR_LISTS)
    deadline = Deadline.after(timeout_s, f"the vector search of corpus {corpus!r}")
    items = _items(store, query_embeddings, search_filters(store, deadline, corpus, queries))
    exactly, by_index = items, list[_Item]()
    chunks = sum(sizes.values())
    if exact_scan_max_rows is None:
        exact_scan_max_rows = max(EXACT_SCAN_MAX_ROWS, math.isqrt(EXACT_SCAN_SHARE * chunks))
    if chunks > exact_scan_max_rows:
        different = {item.filter for item in items}
        size = visible_counts(store, deadline, corpus, different, limit=exact_scan_max_rows)
        exactly = [item for item in items if size[item.filter] <= exact_scan_max_rows]
        by_index = [item for item in items if size[item.filter] > exact_scan_max_rows]
    breadth = _breadth(k, chunks)
    settings = {
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.ef_search": str(min(LARGEST_EF_SEARCH, breadth)),
        "hnsw.max_scan_tuples": str(MAX_SCAN_TUPLES),
    }
    nearest = partial(_nearest, common={"corpus": corpus, "space": store.space, "k": k})
    indexed = run_slices(store, deadline, by_index, partial(nearest, by_index=True), settings)
    far: dict[tuple[int, int], list[float]] = defaultdict(list)
    for *text, _, distance in indexed:
        far[text[0], text[1]].append(distance)
    short = [item for item in by_index if may_lack(far[item.text], k)]
    again = {item.text for item in short}
    hits = [row for row in indexed if row[:2] not in again]
    hits += run_slices(store, deadline, [*exactly, *short], partial(nearest, by_index=False))
    if {row[:2] for row in hits} != set(query_embeddings["query_id", "text_no"].rows()):
        run(store, deadline, lambda conn: check_space(store, conn))
    return on_scale(ranked_lists(hits, "distance"), info)


def search_files(
    store: Store,
    corpus: str,
    query_embeddings: pl.DataFrame,
    filters: Mapping[int, SearchFilter],
    files: Mapping[int, Sequence[File]],
    *,
    deadline: Deadline,
) -> pl.DataFrame:
    """``VECTOR_LISTS``: the nearest chunk in each of the ``files`` of a query, which are few.

    The distances are not yet :func:`on_scale`. ``filters`` are those of each query that may search,
    as :func:`search_filters` gives them.
    """
    most = max(map(len, files.values()), default=0)
    nearest = partial(_nearest, common={"corpus": corpus, "space": store.space, "k": most})
    items = [
        replace(item, files=tuple(files[item.text[0]]))
        for item in _items(store, query_embeddings, filters)
        if files.get(item.text[0])
    ]
    hits = run_slices(store, deadline, items, partial(nearest, by_index=False))
    return ranked_lists(hits, "distance")


def on_scale(lists: pl.DataFrame, info: CollectionInfo) -> pl.DataFrame:
    """``lists`` of a collection with distances on the scale of all models."""
    factor = distance_factor(info.background)
    return lists if factor == 1 else lists.with_columns(pl.col("distance") * factor)


def _items(
    store: Store, query_embeddings: pl.DataFrame, filters: Mapping[int, SearchFilter]
) -> list[_Item]:
    info = collection_info(store)
    vectors = _matrix(query_embeddings["embedding"], info.dimensions, store.collection, info.model)
    texts = query_embeddings["query_id", "text_no"].iter_rows()
    return [
        _Item((query, text), HalfVector(vector), filters[query])
        for (query, text), vector in zip(texts, vectors, strict=True)
        if query in filters
    ]


def may_lack(distances: Sequence[float], k: int) -> bool:
    """Whether a list from an index may be incomplete, so that an exact scan must follow.

    This is so if it is short, or if many of its distances are equal. Thousands of equal vectors are
    neighbours in the index's graph, and a scan that reaches them hardly leaves them. A few copies
    of each chunk do no harm.
    """
    if len(distances) < k:
        return True
    return k > 1 and max(Counter(distances).values()) > min(MOST_EQUAL, k // 2)


def _breadth(k: int, chunks: int) -> int:
    """The breadth of an index scan for ``k`` rows of a corpus with that many chunks.

    >>> _breadth(50, 10_000), _breadth(50, 90_000), _breadth(50, 250_000)
    (100, 300, 500)
    """
    least = max(2 * k, 100)
    return int(least * max(1.0, math.sqrt(chunks / BREADTH_OF)))


def _nearest(
    conn: Connection, item: _Item, *, common: Mapping[str, Any], by_index: bool
) -> list[Hit]:
    # `+ 0` makes an expression that no index supports. An index scan in relaxed order returns
    # nearly sorted rows, but the planner takes them for sorted (pgvector issue 862): the expression
    # makes it sort them.
    distance, order = "c.embedding <=> %(vector)s::halfvec", "distance + 0, chunk_id"
    parameters = {**common, "vector": item.vector, "wanted": common["k"] * MORE_FROM_INDEX}
    seeing = seen(item.filter, "c", parameters, each=by_index, listed=not by_index)
    one_each = file = ""
    if item.files:
        seeing += f" AND {in_files('c', item.files, parameters)}"
        one_each, file = "DISTINCT ON (c.repo, c.path)", "c.repo, c.path, "
    # A statement reads one snapshot of the collection: if its model has changed, it has no hits.
    rows = f"""SELECT {one_each} c.chunk_id, {distance} AS distance FROM chunks c
        WHERE {seeing} AND c.embedding IS NOT NULL
          AND (%(space)s::text IS NULL OR (SELECT space FROM collection) = %(space)s)"""
    if by_index:
        rows = f"""SELECT chunk_id, distance FROM
            ({rows} ORDER BY {distance} LIMIT %(wanted)s) AS nearest"""
    else:
        order = f"{file}({distance}) + 0, c.chunk_id"
    hits = fetch(conn, f"{rows} ORDER BY {order} LIMIT %(k)s", parameters)
    return [(*item.text, *row) for row in hits]


def _matrix(
    embeddings: pl.Series, dimensions: int | None, collection: str, model: str | None
) -> NDArray[np.float32]:
    if isinstance(embeddings.dtype, pl.Array):
        sizes = {embeddings.dtype.size}
    else:
        sizes = set(embeddings.list.len()) if embeddings.dtype == pl.List else set()
    if sizes != {dimensions}:
        raise CrosscorpusError(
            f"the query vectors have {'/'.join(map(str, sorted(sizes, key=str)))} dimensions, but "
            f"collection {collection!r} holds vectors of model {model!r} with {dimensions}: query "
            "with that model"
        )
    flat = embeddings.explode().to_numpy().astype(np.float32, copy=False)
    if not (np.abs(flat) <= LARGEST_HALF).all():
        raise CrosscorpusError("a query vector is not finite in half precision (NaN or over 65504)")
    return cast("NDArray[np.float32]", flat.reshape(len(embeddings), -1))
