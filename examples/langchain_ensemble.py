"""LangChain's retrievers as one list: each document once, the newest version first, no copies.

LangChain's `EnsembleRetriever` with `id_key` adds a reciprocal rank for each chunk of a document
that a retriever returns, so that a long document wins by its number of chunks; `fuse` counts it
once a retriever, at its best chunk. `python -m benchmarks.pieces` measures both.
"""

from collections.abc import Sequence

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from crosscorpus import dedup, fuse, newest_first


def ensemble(
    retrievers: Sequence[BaseRetriever], question: str, id_key: str = "source", k: int = 10
) -> list[Document]:
    """The `k` best documents; their metadata may have `topic` (such as a path) and `version`."""
    lists = [
        [
            {
                **found.metadata,
                "id": found.metadata[id_key],
                "text": found.page_content,
                "of": found,
            }
            for found in retriever.invoke(question)
        ]
        for retriever in retrievers
    ]
    return [hit["of"] for hit in dedup(newest_first(fuse(lists), question))][:k]
