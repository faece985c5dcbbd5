from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from hamilton.ad_hoc_utils import create_temporary_module
from hamilton.function_modifiers import tag
from ingested import document
from ingesting import ingest_documents

from dataflow.execution.built_graph import GraphError
from dataflow.ingestion.graph_builder import INPUTS, build_ingestion_graph
from operators.postgres.store import Store

Write = Callable[..., Path]


def test_the_graph_reads_nothing_but_its_inputs() -> None:
    graph = build_ingestion_graph().graph
    assert {n.name for n in graph.nodes.values() if n.user_defined} == INPUTS


def test_a_module_that_needs_what_nobody_gives_is_an_error() -> None:
    def written(chunk_embedings: Any) -> int:
        """Mis-spelt."""
        return 0

    module: ModuleType = create_temporary_module(written, module_name="misspelt")
    with pytest.raises(GraphError, match="chunk_embeddings"):
        build_ingestion_graph(modules=[module])


def test_a_node_is_swapped_by_a_module_with_one_of_its_name(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    from dataflow.ingestion.graph import chunks as usual

    @tag(stage="chunk")
    def chunks(documents: pl.DataFrame, embedder: Any) -> pl.DataFrame:
        """The first chunk of each document only."""
        return usual(documents, embedder).filter(pl.col("ordinal") == 0)

    mine = create_temporary_module(chunks, module_name="mine")
    report = ingest_documents(store, embedder, write_lines(document(1)), modules=[mine])
    assert report.chunks == 1
