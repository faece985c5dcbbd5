"""A retriever of LlamaIndex."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from dataflow.driver.answer import Answer
from dataflow.driver.retrieval_driver import RetrievalDriver
from dataflow.frameworks.filters import joined, question
from dataflow.frameworks.passages import Passage, passages_of
from operators.errors import CrosscorpusError
from operators.foundation.extras import installing

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.core.vector_stores import FilterCondition, MetadataFilters
except ImportError:
    raise CrosscorpusError(f"LlamaIndex is not installed: {installing('llamaindex')}") from None


class CrosscorpusRetriever(BaseRetriever):
    """Retrieves nodes with a driver; a language model reads each node's label with its text."""

    def __init__(
        self,
        driver: RetrievalDriver,
        similarity_top_k: int = 10,
        filters: MetadataFilters | None = None,
        principals: Sequence[str] | None = None,
        trigger: str | None = None,
        **more: Any,
    ) -> None:
        """Store the options of every query.

        Args:
            driver: from ``build_driver``; its builder closes it.
            similarity_top_k: the number of nodes; fewer only if the collection has fewer.
            filters: conditions that must all hold: see :mod:`dataflow.frameworks.filters`.
            principals: the caller's users and groups; None: the owner, who sees everything.
            trigger: the kind of caller, such as ``issue``; None: a person.
            more: arguments of ``BaseRetriever``, such as ``callback_manager``.

        Raises:
            CrosscorpusError: a filter is unknown.
        """
        super().__init__(**more)
        self.driver = driver
        options = joined(_conditions(filters)) if filters else {}
        who: dict[str, Any] = {"principals": principals, "trigger": trigger}
        self._options = question(similarity_top_k, options, **who)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(self.driver.ask(_texts(query_bundle), **self._options))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(await self.driver.aask(_texts(query_bundle), **self._options))


def _texts(query: QueryBundle) -> list[str]:
    """The query, and the other texts that a transformation such as HyDE made from it."""
    return [*dict.fromkeys([query.query_str, *(query.custom_embedding_strs or [])])]


def _conditions(filters: MetadataFilters) -> Iterator[tuple[str, str, Any]]:
    if filters.condition != FilterCondition.AND:
        raise CrosscorpusError(f"filters are joined by 'and' here, not by {filters.condition!r}")
    for one in filters.filters:
        if isinstance(one, MetadataFilters):
            yield from _conditions(one)
        else:
            yield one.key, one.operator.value, one.value


class _Passage(TextNode):
    """A node whose hash is the same for every query, although its similarity differs."""

    @property
    def hash(self) -> str:
        """The key by which fusion distinguishes nodes."""
        return sha256(f"{self.id_} {self.text}".encode()).hexdigest()


def _nodes(answer: Answer) -> list[NodeWithScore]:
    return [NodeWithScore(node=_node(one), score=one.score) for one in passages_of(answer)]


def _node(one: Passage) -> TextNode:
    unread = sorted(one.metadata.keys() - {"label"})
    more: dict[str, Any] = {f"excluded_{by}_metadata_keys": unread for by in ("llm", "embed")}
    return _Passage(id_=one.id, text=one.text, **(more | {"metadata": one.metadata}))
