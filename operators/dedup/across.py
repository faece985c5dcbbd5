"""The copies across corpora, after fusion: the best-ranked stays, whatever its source.

Every rule takes ``hits`` (``FUSED``) and returns ``FUSED``, ranked anew; what stays carries the
labels and links of what went, see :func:`operators.arrays.lists.absorb`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from operators.arrays.rows import index, listed, replaced
from operators.arrays.segments import Floats, Integers, places, positions
from operators.dedup.cosine import cosine_keepers, unit_vectors
from operators.dedup.guarded import guarded_keepers
from operators.dedup.hit_lookup import of_hits
from operators.dedup.jaccard import jaccard_keepers
from operators.dedup.newest import dates, documents, newest_keepers
from operators.dedup.representatives import absorb
from operators.dedup.similarity_index import SimilarityIndex, index_similarity
from operators.dedup.token_index import TokenIndex, index_tokens


def jaccard(
    hits: pl.DataFrame, known: Sequence[TokenIndex] = (), *, threshold: float = 0.9
) -> pl.DataFrame:
    """Without what shares at least ``threshold`` of its tokens with a better one that stays.

    Args:
        hits: columns ``FUSED``.
        known: token sets that were made before; other texts are hashed here.
        threshold: a Jaccard index.
    """
    hits = listed(hits)
    sets, number = of_hits(hits, known, index_tokens)
    keepers = jaccard_keepers(hits["query_id"].to_numpy(), number, sets, threshold=threshold)
    return _survivors(hits, keepers)


def cosine(
    hits: pl.DataFrame, chunks: Sequence[pl.DataFrame], *, threshold: float = 0.95
) -> pl.DataFrame:
    """Without what another document says with a cosine of at least ``threshold``.

    Args:
        hits: columns ``FUSED``.
        chunks: frames of ``CHUNKS`` that have the hits' embeddings.
        threshold: a cosine.
    """
    hits = listed(hits)
    vectors, place = _vectors(hits["chunk_id"].to_numpy(), chunks)
    identity = pl.struct("corpus", "repo", "document_id").rank("dense")
    document = hits.select(identity).to_series().to_numpy()
    keepers = cosine_keepers(
        hits["query_id"].to_numpy(), place, vectors, document, threshold=threshold
    )
    return _survivors(hits, keepers)


def guarded(
    hits: pl.DataFrame,
    known: Sequence[SimilarityIndex] = (),
    *,
    jaccard_threshold: float = 0.9,
    cosine_threshold: float = 0.95,
) -> pl.DataFrame:
    """Without what says the same, by :mod:`operators.dedup.guarded`.

    Args:
        hits: columns ``FUSED``.
        known: the similarity_index of the hits' chunks; of another one the text alone is compared.
        jaccard_threshold: the least Jaccard index of copies.
        cosine_threshold: the least cosine of copies.
    """
    hits = listed(hits)
    every, number = of_hits(hits, known, index_similarity)
    keepers = guarded_keepers(
        hits["query_id"].to_numpy(),
        number,
        every,
        jaccard_threshold=jaccard_threshold,
        cosine_threshold=cosine_threshold,
    )
    return _survivors(hits, keepers)


def newest(
    hits: pl.DataFrame, chunks: Sequence[pl.DataFrame], *, threshold: float = 0.95
) -> pl.DataFrame:
    """Without what another document of a later date says, by :mod:`operators.dedup.newest`.

    What stays keeps its own place. As no ranking decides who stays, this may as well come before
    reranking as after it.
    """
    hits = listed(hits)
    vectors, place = _vectors(hits["chunk_id"].to_numpy(), chunks)
    keepers = newest_keepers(
        hits["query_id"].to_numpy(),
        place,
        vectors,
        documents(hits),
        dates(hits["doc_date"]),
        hits["chunk_id"].to_numpy(),
        threshold=threshold,
    )
    return _survivors(hits, keepers)


def _survivors(hits: pl.DataFrame, keepers: Integers) -> pl.DataFrame:
    stay = absorb(hits, keepers)
    if stay.height == hits.height:
        return stay
    return replaced(stay, pl.Series("rank", places(stay["query_id"].to_numpy())))


def _vectors(chunk_id: Integers, chunks: Sequence[pl.DataFrame]) -> tuple[Floats, Integers]:
    """The usable vectors of these chunks and the place of each one's among them, -1 for none."""
    found = [np.flatnonzero(np.isin(frame["chunk_id"].to_numpy(), chunk_id)) for frame in chunks]
    held = [
        frame["chunk_id", "embedding"][index(rows)]
        for frame, rows in zip(chunks, found, strict=True)
        if len(rows)
    ]
    if not held:
        return np.zeros((0, 0)), np.full(len(chunk_id), -1)
    if len({frame.schema["embedding"] for frame in held}) > 1:
        held = [f.with_columns(pl.col("embedding").cast(pl.List(pl.Float32))) for f in held]
    everything = pl.concat(held)
    vectors, place = unit_vectors(everything["embedding"])
    row = positions(everything["chunk_id"].to_numpy(), chunk_id)
    return vectors, np.where(row >= 0, np.append(place, -1)[row], -1)
