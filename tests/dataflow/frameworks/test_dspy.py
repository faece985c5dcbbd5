"""The retriever of DSPy serves modules that others wrote."""

from __future__ import annotations

from typing import Any

import pytest

from dataflow.driver.retrieval_driver import RetrievalDriver
from operators.errors import UnknownName

pytest.importorskip("dspy", reason="it needs the extra dspy: make test-frameworks")
import dspy
from dspy.utils import DummyLM

from crosscorpus.dspy import CrosscorpusRetriever

QUESTION = "why is the cache flushed twice?"
REASON = "since workers may die in between"


def prompted(model: DummyLM) -> str:
    """All that the model was given."""
    return "\n".join(one["content"] for call in model.history for one in call["messages"])


@pytest.mark.parametrize("k", [1, 3])
def test_passages_are_those_of_the_driver(driver: RetrievalDriver, k: int) -> None:
    found = CrosscorpusRetriever(driver)(QUESTION, k=k)
    answer = driver.ask(QUESTION, top_k=k)
    assert isinstance(found, dspy.Prediction)
    assert found.passages == [one.text for one in answer]
    assert found.scores == [one.score for one in answer]
    assert [one["label"] for one in found.metadata] == [one.label for one in answer]


def test_filters_of_the_retriever_and_of_one_question(driver: RetrievalDriver) -> None:
    search = CrosscorpusRetriever(driver, filters={"repo": "org/app"})
    assert {one["repo"] for one in search(QUESTION).metadata} == {"org/app"}
    assert {one["repo"] for one in search(QUESTION, repo="org/old").metadata} == {"org/old"}
    for wrong in ({"repoo": "org/app"}, {"principals": ["root"]}):
        with pytest.raises(UnknownName):
            search(QUESTION, **wrong)
        with pytest.raises(UnknownName):
            CrosscorpusRetriever(driver, filters=wrong)


class OwnSearch(dspy.Module):
    """As DSPy's tutorial of RAG has it."""

    def __init__(self, search: Any) -> None:
        self.search = search
        self.respond = dspy.ChainOfThought("context, question -> response")

    def forward(self, question: str) -> dspy.Prediction:
        context = self.search(question).passages
        return self.respond(context=context, question=question)


class SharedSearch(dspy.Module):
    """As programs have it that take the retriever from the settings."""

    def __init__(self) -> None:
        self.retrieve = dspy.Retrieve(k=5)
        self.respond = dspy.ChainOfThought("context, question -> response")

    def forward(self, question: str) -> dspy.Prediction:
        return self.respond(context=self.retrieve(question).passages, question=question)


@pytest.mark.parametrize("shared", [False, True])
def test_a_module_that_others_wrote_answers_from_the_passages(
    driver: RetrievalDriver, shared: bool
) -> None:
    search = CrosscorpusRetriever(driver, k=5)
    program = SharedSearch() if shared else OwnSearch(search)
    model = DummyLM([{"reasoning": "It is written.", "response": "workers may die"}])
    with dspy.context(lm=model, rm=search):
        assert program(question=QUESTION).response == "workers may die"
    assert REASON in prompted(model)


def test_a_caller_gets_what_he_may_see(driver: RetrievalDriver) -> None:
    found = {
        name: {
            one["path"]
            for one in CrosscorpusRetriever(driver, principals=[name])(QUESTION).metadata
        }
        for name in ("ann", "bob")
    }
    assert found["ann"] - found["bob"] == {"notes.md"}
