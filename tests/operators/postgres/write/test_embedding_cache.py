from __future__ import annotations

import numpy as np

from operators.postgres.store import Store
from operators.postgres.write.embedding_cache import cache_embeddings, cached_embeddings


def test_cached_vectors_come_back_by_space_and_hash(store: Store) -> None:
    vectors = np.array([[0.5, 1.0], [2.0, -0.25]], dtype=np.float32)
    cache_embeddings(store, "s", ["a", "b"], vectors)
    cache_embeddings(store, "s", ["a"], vectors[1:])
    found = cached_embeddings(store, "s", ["b", "a", "c"])
    assert sorted(found) == ["a", "b"]
    assert found["a"].tolist() == [0.5, 1.0]
    assert cached_embeddings(store, "other", ["a"]) == {}
    assert cached_embeddings(store, "s", []) == {}
