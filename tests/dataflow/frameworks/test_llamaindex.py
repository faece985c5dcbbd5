"""The retriever of LlamaIndex gives nodes to engines that others wrote."""

from __future__ import annotations

import asyncio

import pytest

from dataflow.driver.retrieval_driver import RetrievalDriver
from operators.errors import CrosscorpusError, UnknownName

pytest.importorskip(
    "llama_index.core", reason="it needs the extra llamaindex: make test-frameworks"
)
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode
from llama_index.core.schema import MetadataMode, NodeWithScore
from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters

from crosscorpus.llamaindex import CrosscorpusRetriever

QUESTION = "why is the cache flushed twice?"


def test_nodes_are_the_passages_of_the_driver(driver: RetrievalDriver) -> None:
    found = CrosscorpusRetriever(driver, similarity_top_k=4).retrieve(QUESTION)
    answer = driver.ask(QUESTION, top_k=4)
    assert all(isinstance(one, NodeWithScore) for one in found)
    assert [one.text for one in found] == [one.text for one in answer]
    assert [one.score for one in found] == [one.score for one in answer]
    assert [one.metadata["label"] for one in found] == [one.label for one in answer]


def test_a_model_reads_the_label_and_the_text_alone(driver: RetrievalDriver) -> None:
    (found,) = CrosscorpusRetriever(driver, 1).retrieve(QUESTION)
    label, text = found.metadata["label"], found.text
    assert found.node.get_content(MetadataMode.LLM) == f"label: {label}\n\n{text}"


def test_conditions_that_must_all_hold_are_filters(driver: RetrievalDriver) -> None:
    inner = MetadataFilters(filters=[MetadataFilter(key="corpus", value="docs")])
    several = MetadataFilter(key="repo", value=["org/app", "org/old"], operator=FilterOperator.IN)
    filters = MetadataFilters(filters=[several, inner])
    found = CrosscorpusRetriever(driver, filters=filters).retrieve(QUESTION)
    assert [one.metadata["path"] for one in found] == ["docs/why.md", "notes.md"]


def test_what_has_no_meaning_here_is_an_error(driver: RetrievalDriver) -> None:
    one = MetadataFilter(key="repo", value="org/app")
    with pytest.raises(CrosscorpusError, match="joined by 'and'"):
        CrosscorpusRetriever(driver, filters=MetadataFilters(filters=[one], condition="or"))
    for key in ("repoo", "principals"):
        filters = MetadataFilters(filters=[MetadataFilter(key=key, value="org/app")])
        with pytest.raises(UnknownName):
            CrosscorpusRetriever(driver, filters=filters)


def test_a_query_engine_answers_from_the_nodes(driver: RetrievalDriver) -> None:
    engine = RetrieverQueryEngine.from_args(
        CrosscorpusRetriever(driver, 4),
        llm=MockLLM(),  # it says its prompt again
        response_mode=ResponseMode.COMPACT,
        node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.0)],
    )
    response = engine.query(QUESTION)
    assert "since workers may die in between" in str(response)
    assert len(response.source_nodes) == 4
    assert str(asyncio.run(engine.aquery(QUESTION))) == str(response)


def test_a_caller_gets_what_he_may_see(driver: RetrievalDriver) -> None:
    found = {
        name: {
            one.metadata["path"]
            for one in CrosscorpusRetriever(driver, principals=[name]).retrieve(QUESTION)
        }
        for name in ("ann", "bob")
    }
    assert found["ann"] - found["bob"] == {"notes.md"}
