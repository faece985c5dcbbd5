"""The retriever of Haystack runs in pipelines that others wrote, also after their way to YAML."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dataflow.driver.retrieval_driver import RetrievalDriver
from operators.errors import CrosscorpusError, UnknownName

pytest.importorskip("haystack", reason="it needs the extra haystack: make test-frameworks")
from haystack import Document, Pipeline
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret

from crosscorpus.haystack import CrosscorpusRetriever

QUESTION = "why is the cache flushed twice?"
OURS = {"allowed_modules": ["crosscorpus.haystack"]}
PROMPT = """{% message role="user" %}{% for one in documents %}
{{ one.meta.label }} {{ one.content }}
{% endfor %}Question: {{ question }}{% endmessage %}"""


@pytest.fixture
def retriever(home: Path, driver: RetrievalDriver) -> Iterator[CrosscorpusRetriever]:
    made = CrosscorpusRetriever(collection=driver.store.collection)
    yield made
    made.close()


def equal_to(field: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operator": "==", "value": value}


@pytest.mark.parametrize("top_k", [1, 3])
def test_documents_are_the_passages_of_the_driver(
    driver: RetrievalDriver, retriever: CrosscorpusRetriever, top_k: int
) -> None:
    found = retriever.run(QUESTION, top_k=top_k)["documents"]
    answer = driver.ask(QUESTION, top_k=top_k)
    assert len(found) == top_k
    assert all(isinstance(one, Document) for one in found)
    assert [one.content for one in found] == [one.text for one in answer]
    assert [one.score for one in found] == [one.score for one in answer]
    assert [one.meta["label"] for one in found] == [one.label for one in answer]
    assert len(retriever.run(QUESTION, top_k=5)["documents"]) == 5


def test_filters_of_the_component_and_of_one_question(retriever: CrosscorpusRetriever) -> None:
    apps = equal_to("meta.repo", "org/app")
    made = CrosscorpusRetriever("default", retriever.collection, apps, 3)
    assert {one.meta["repo"] for one in made.run(QUESTION)["documents"]} == {"org/app"}
    both = [equal_to("meta.repo", "org/old"), equal_to("corpus", "docs")]
    found = made.run(QUESTION, {"operator": "AND", "conditions": both})["documents"]
    assert [one.meta["path"] for one in found] == ["notes.md"]
    made.close()
    with pytest.raises(UnknownName, match="did you mean 'repo'"):
        retriever.run(QUESTION, equal_to("meta.repoo", "org/app"))
    with pytest.raises(UnknownName):
        CrosscorpusRetriever(filters=equal_to("principals", ["root"]))
    with pytest.raises(CrosscorpusError, match="'AND', not 'OR'"):
        retriever.run(QUESTION, {"operator": "OR", "conditions": both})


def rag(collection: str) -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("retriever", CrosscorpusRetriever(collection=collection, top_k=5))
    builder = ChatPromptBuilder(PROMPT, required_variables=["documents", "question"])
    pipeline.add_component("prompt", builder)
    pipeline.add_component("model", MockChatGenerator())  # it says its prompt again
    pipeline.connect("retriever.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "model.messages")
    return pipeline


def answered(pipeline: Pipeline) -> str:
    given = {"retriever": {"query": QUESTION}, "prompt": {"question": QUESTION}}
    reply: ChatMessage = pipeline.run(given)["model"]["replies"][0]
    return str(reply.text)


def test_a_pipeline_answers_from_the_documents_also_after_its_way_to_yaml(
    home: Path, driver: RetrievalDriver
) -> None:
    pipeline = rag(driver.store.collection)
    written = pipeline.dumps()
    again = Pipeline.loads(written, **OURS)
    assert "type: crosscorpus.haystack.CrosscorpusRetriever" in written
    assert again.to_dict()["components"] == pipeline.to_dict()["components"]
    assert "since workers may die in between" in answered(pipeline)
    assert answered(again) == answered(pipeline)
    for one in (pipeline, again):
        one.close()


def test_yaml_has_the_name_of_a_secret_and_no_token(
    home: Path, driver: RetrievalDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CROSSCORPUS_DSN")
    monkeypatch.setenv("TEAM_DSN", driver.store.dsn)
    given: dict[str, Any] = {"filters": equal_to("meta.repo", "org/app"), "principals": ["ann"]}
    given |= {
        "collection": driver.store.collection,
        "top_k": 2,
        "trigger": "issue",
        "config": "rrf",
    }
    made = CrosscorpusRetriever(dsn=Secret.from_env_var("TEAM_DSN"), **given)
    pipeline = Pipeline()
    pipeline.add_component("retriever", made)
    written = pipeline.dumps()
    assert "TEAM_DSN" in written
    assert driver.store.dsn not in written
    again = Pipeline.loads(written, **OURS)
    assert again.dumps() == written
    found = again.run({"query": QUESTION})["retriever"]["documents"]
    assert {one.meta["repo"] for one in found} == {"org/app"}
    again.close()
    with_token = CrosscorpusRetriever(dsn=Secret.from_token(driver.store.dsn))
    with pytest.raises(ValueError, match="token"):
        with_token.to_dict()


def test_a_caller_gets_what_he_may_see(home: Path, driver: RetrievalDriver) -> None:
    found = {}
    for name in ("ann", "bob"):
        made = CrosscorpusRetriever(collection=driver.store.collection, principals=[name])
        found[name] = {one.meta["path"] for one in made.run(QUESTION)["documents"]}
        made.close()
    assert found["ann"] - found["bob"] == {"notes.md"}
