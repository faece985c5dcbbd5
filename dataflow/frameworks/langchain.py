"""A retriever of LangChain."""

from typing import Any

from pydantic import ConfigDict, Field

from dataflow.driver.answer import Answer
from dataflow.driver.retrieval_driver import RetrievalDriver
from dataflow.frameworks.filters import options_of, question
from dataflow.frameworks.passages import passages_of
from operators.errors import CrosscorpusError
from operators.foundation.extras import installing

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError:
    raise CrosscorpusError(f"LangChain is not installed: {installing('langchain')}") from None


class CrosscorpusRetriever(BaseRetriever):
    """Retrieves documents with a driver.

    ``invoke(query, k=3, repo="org/app")`` sets ``k`` and filters for one query; a filter replaces
    the one of that name in ``filters``.

    Attributes:
        driver: from ``build_driver``; its builder closes it.
        k: the number of documents; fewer only if the collection has fewer.
        filters: of every query: see :mod:`dataflow.frameworks.filters`.
        principals: the caller's users and groups; None: the owner, who sees everything.
        trigger: the kind of caller, such as ``issue``; None: a person.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    driver: RetrievalDriver = Field(exclude=True, repr=False)
    k: int = Field(default=10, ge=1)
    filters: dict[str, Any] = Field(default_factory=dict)
    principals: list[str] | None = None
    trigger: str | None = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        **filters: Any,
    ) -> list[Document]:
        return _documents(self.driver.ask(query, **self._request(k, filters)))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        **filters: Any,
    ) -> list[Document]:
        return _documents(await self.driver.aask(query, **self._request(k, filters)))

    def _request(self, k: int | None, filters: dict[str, Any]) -> dict[str, Any]:
        who: dict[str, Any] = {"principals": self.principals, "trigger": self.trigger}
        both = options_of(self.filters), options_of(filters)
        return question(self.k if k is None else k, *both, **who)


def _documents(answer: Answer) -> list[Document]:
    return [
        Document(id=one.id, page_content=one.text, metadata=one.metadata | {"score": one.score})
        for one in passages_of(answer)
    ]
