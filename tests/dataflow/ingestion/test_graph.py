from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from hamilton.ad_hoc_utils import create_temporary_module

from dataflow.execution.graph_checks import GraphError
from dataflow.ingestion.graph import INPUTS, build_ingestion_graph
from operators.sources.protocol import Document


def test_every_node_has_a_stage_a_type_and_a_sentence() -> None:
    nodes = [n for n in build_ingestion_graph().graph.nodes.values() if not n.user_defined]
    assert [n.name for n in nodes if not n.tags.get("stage")] == []
    assert [n.name for n in nodes if not (n.documentation or "").endswith(".")] == []
    assert [n.name for n in nodes if n.type is Any] == []
    assert {n.name for n in nodes if n.tags.get("io")} == {
        "known_vectors",
        "new_vectors",
        "written",
    }


def test_the_graph_reads_nothing_but_its_inputs() -> None:
    graph = build_ingestion_graph().graph
    assert {n.name for n in graph.nodes.values() if n.user_defined} == INPUTS


def test_the_graph_runs_without_a_server_up_to_the_vectors(embedder: Any) -> None:
    document = Document("d", "docs", "", "T", "some text\n" * 40)
    graph = build_ingestion_graph()
    inputs = {"batch": [document], "embedder": embedder}
    before = graph.execute(["chunks", "embedded_texts"], inputs=inputs)
    assert "".join(before["chunks"]["text"]) == document.text
    texts, hashes = before["embedded_texts"]["text"], before["embedded_texts"]["text_hash"]
    assert texts[0].startswith("T\nsome text")
    vectors = embedder.embed_documents(texts.to_list())
    out = graph.execute(
        ["chunk_embeddings"],
        inputs=inputs,
        overrides={"known_vectors": {}, "new_vectors": dict(zip(hashes, vectors, strict=True))},
    )
    assert out["chunk_embeddings"]["embedding"].to_list() == vectors.tolist()


def test_a_module_that_needs_what_nobody_gives_is_an_error() -> None:
    def written(chunk_embedings: Any) -> int:
        """Mis-spelt."""
        return 0

    module: ModuleType = create_temporary_module(written, module_name="misspelt")
    with pytest.raises(GraphError, match="chunk_embeddings"):
        build_ingestion_graph(modules=[module])
