"""Hits of Qdrant without copies, and with the newest version of each page in front.

A vector search ranks all versions of a page nearly alike: old ones take the places of other pages,
or stand before the current one. The newest comes first, so that of copies it is the one that stays.
`python -m benchmarks.pieces` measures it.
"""

from collections.abc import Sequence
from typing import Any

from qdrant_client import QdrantClient

from crosscorpus import dedup, newest_first


def newest(
    client: QdrantClient, collection: str, question: str, vector: Sequence[float], k: int = 10
) -> list[dict[str, Any]]:
    """The `k` best hits; their payloads have `text`, `topic` (such as a path) and `version`."""
    found = client.query_points(
        collection, query=list(vector), limit=5 * k, with_payload=True, with_vectors=True
    )
    hits = [{**point.payload, "id": point.id, "vector": point.vector} for point in found.points]
    return dedup(newest_first(hits, question))[:k]
