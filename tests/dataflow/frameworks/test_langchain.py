"""The retriever of LangChain passes LangChain's own tests, and its chains take it."""

from __future__ import annotations

from typing import Any

import pytest

from dataflow.driver.retrieval_driver import RetrievalDriver

pytest.importorskip("langchain_tests", reason="it needs the extra langchain: make test-frameworks")
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from langchain_tests.integration_tests import RetrieversIntegrationTests

from crosscorpus.langchain import CrosscorpusRetriever

QUESTION = "why is the cache flushed twice?"


@pytest.mark.asyncio
@pytest.mark.filterwarnings("ignore:The test .* is marked with '@pytest.mark.asyncio'")
class TestStandard(RetrieversIntegrationTests):
    """What langchain-tests asks of every retriever."""

    @pytest.fixture(autouse=True)
    def _driver(self, driver: RetrievalDriver) -> None:
        self.driver = driver

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return CrosscorpusRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"driver": self.driver}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION


def test_documents_are_the_passages_of_the_driver(driver: RetrievalDriver) -> None:
    found = CrosscorpusRetriever(driver=driver, k=4).invoke(QUESTION)
    answer = driver.ask(QUESTION, top_k=4)
    assert [one.page_content for one in found] == [one.text for one in answer]
    assert [one.metadata["label"] for one in found] == [one.label for one in answer]
    assert [one.metadata["score"] for one in found] == [one.score for one in answer]


def test_filters_of_the_retriever_and_of_one_question(driver: RetrievalDriver) -> None:
    retriever = CrosscorpusRetriever(driver=driver, filters={"repo": "org/app"})
    assert {one.metadata["repo"] for one in retriever.invoke(QUESTION)} == {"org/app"}
    found = retriever.invoke(QUESTION, repo="org/old")
    assert {one.metadata["repo"] for one in found} == {"org/old"}
    found = retriever.invoke(QUESTION, corpus=["code"])
    assert [one.metadata["path"] for one in found] == ["src/cache.py"]


def test_a_chain_that_others_wrote_answers_from_the_documents(driver: RetrievalDriver) -> None:
    prompt = ChatPromptTemplate.from_template("Context: {context}\n\nQuestion: {question}")
    seen = []

    def shown(value: Any) -> Any:
        seen.append(value.to_string())
        return value

    retriever = CrosscorpusRetriever(driver=driver, k=5)
    model = FakeListChatModel(responses=["since workers may die"])
    context = retriever | (lambda found: "\n\n".join(one.page_content for one in found))
    start = {"context": context, "question": RunnablePassthrough()}
    chain = start | prompt | shown | model | StrOutputParser()
    assert chain.invoke(QUESTION) == "since workers may die"
    assert "since workers may die in between" in seen[0]


def test_a_caller_gets_what_he_may_see(driver: RetrievalDriver) -> None:
    found = {
        name: {
            one.metadata["path"]
            for one in CrosscorpusRetriever(driver=driver, principals=[name]).invoke(QUESTION)
        }
        for name in ("ann", "bob")
    }
    assert found["ann"] - found["bob"] == {"notes.md"}
