"""A stage put in between: neighbouring passages of a document are read as one.

A long function or section is cut to what the embedding model's window holds, and its pieces are
found apart: a reader gets them in the order of their scores, each with a header of its own. Here
they become one passage, in the order of the document, at the place of the best of them.
"""

import polars as pl

from dataflow.retrieval.fusion import unique__guarded
from operators.dedup.representatives import absorb
from operators.dedup.similarity_index import SimilarityIndex

_DOCUMENT = ["query_id", "corpus", "repo", "document_id"]


def unique__joined(
    reranked: pl.DataFrame,
    similarity_index: SimilarityIndex,
    chunks: pl.DataFrame,
    most_joined: int = 3,
    jaccard_threshold: float = 0.9,
    cosine_threshold: float = 0.95,
    twins: bool = True,
) -> pl.DataFrame:
    """The list of the variant `guarded`, where up to ``most_joined`` neighbours are one passage."""
    hits = unique__guarded(reranked, similarity_index, jaccard_threshold, cosine_threshold, twins)
    hits = hits.with_row_index("row")
    numbered = chunks["chunk_id", "ordinal"].unique("chunk_id")
    rows = hits.join(numbered, on="chunk_id", how="left").sort(*_DOCUMENT, "ordinal", "row")
    step = pl.col("ordinal").cast(pl.Int64).diff().over(_DOCUMENT)
    rows = rows.with_columns(run=(step != 1).fill_null(True).cum_sum())
    rows = rows.with_columns(piece=pl.int_range(pl.len()).over("run") // max(most_joined, 1))
    text = pl.col("text").str.join("\n").over("run", "piece")
    first = pl.col("row").min().over("run", "piece")
    rows = rows.with_columns(text, first=first).sort("row")
    kept = absorb(rows.select(reranked.columns), rows["first"].cast(pl.Int64).to_numpy())
    return kept.with_columns(rank=pl.int_range(pl.len(), dtype=pl.UInt32).over("query_id"))
