import os
import re
from typing import Any

import pytest

from operators.errors import CrosscorpusError
from operators.postgres.schema.placement import move_collection
from operators.postgres.search.chunk_lookup import locate
from operators.postgres.store import Store

SHARDS = os.environ.get("CROSSCORPUS_TEST_SHARDS")


def test_a_collection_moves_to_a_node_that_there_is_or_the_error_names_them(
    store: Store, filling: Any
) -> None:
    filling.write(store, [{"document_id": "a.py"}])
    before = locate(store, [], ["a.py"])
    with pytest.raises(CrosscorpusError) as refused:
        move_collection(store, "nowhere:1")
    if not store.clustered:
        assert "no Citus cluster" in str(refused.value)
        return
    nodes = re.findall(r"[\w.]+:\d+", str(refused.value).partition("there are")[2])
    assert len(nodes) >= 2
    if SHARDS:
        with pytest.raises(CrosscorpusError, match="shards on all nodes"):
            move_collection(store, nodes[0])
        return
    for node in (*nodes, nodes[0]):
        move_collection(store, node)
        assert locate(store, [], ["a.py"]).equals(before)
        filling.write(store, [{"document_id": "b.py", "chunk_id": 2}])
