"""A retriever of Haystack, by the protocol ``TextRetriever``."""

import asyncio
from threading import Lock
from typing import Any

from dataflow.driver.answer import Answer
from dataflow.driver.retrieval_driver import RetrievalDriver, build_driver
from dataflow.frameworks.filters import conditions, joined, question
from dataflow.frameworks.full_answers import aask, ask
from dataflow.frameworks.passages import passages_of
from operators.errors import CrosscorpusError
from operators.foundation.extras import installing

try:
    from haystack import Document, component, default_to_dict
    from haystack.utils import Secret
except ImportError:
    raise CrosscorpusError(f"Haystack is not installed: {installing('haystack')}") from None


@component
class CrosscorpusRetriever:
    """Retrieves documents with its own driver; ``warm_up`` opens it, ``close`` closes it."""

    __module__ = "crosscorpus.haystack"  # its name in the YAML of pipelines

    def __init__(
        self,
        config: str = "default",
        collection: str = "default",
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        principals: list[str] | None = None,
        trigger: str | None = None,
        dsn: Secret | None = None,
    ) -> None:
        """Store the options of every query.

        Args:
            config, collection: as of ``build_driver``.
            filters: Haystack's; a filter given to ``run`` replaces the one of that name.
            top_k: the number of documents; fewer only if the collection has fewer.
            principals: the caller's users and groups; None: the owner, who sees everything.
            trigger: the kind of caller, such as ``issue``; None: a person.
            dsn: the server, such as ``Secret.from_env_var("TEAM_DSN")``; None: as ``build_driver``.
        """
        self.config, self.collection, self.dsn = config, collection, dsn
        self.filters, self.top_k = filters, top_k
        self._who: dict[str, Any] = {"principals": principals, "trigger": trigger}
        self._own = joined(conditions(filters))
        self._driver: RetrievalDriver | None = None
        self._lock = Lock()

    def warm_up(self) -> RetrievalDriver:
        """Open the driver, once."""
        with self._lock:
            if self._driver is None:
                dsn = self.dsn.resolve_value() if self.dsn else None
                self._driver = build_driver(self.config, self.collection, dsn=dsn)
            return self._driver

    def close(self) -> None:
        """Close the driver; the next query opens another one."""
        with self._lock:
            driver, self._driver = self._driver, None
        if driver:
            driver.close()

    def to_dict(self) -> dict[str, Any]:
        """The state in a pipeline's YAML: of the secret, only the name of its variable."""
        parameters: dict[str, Any] = {"config": self.config, "collection": self.collection}
        parameters |= {"filters": self.filters, "top_k": self.top_k, "dsn": self.dsn, **self._who}
        return dict(default_to_dict(self, **parameters))

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """The documents that answer ``query``, the best first."""
        return _documents(ask(self.warm_up(), query, self._request(filters, top_k)))

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """The asynchronous :meth:`run`."""
        driver = await asyncio.to_thread(self.warm_up)
        return _documents(await aask(driver, query, self._request(filters, top_k)))

    def _request(self, filters: dict[str, Any] | None, top_k: int | None) -> dict[str, Any]:
        options = joined(conditions(filters))
        return question(self.top_k if top_k is None else top_k, self._own, options, **self._who)


def _documents(answer: Answer) -> dict[str, list[Document]]:
    passages = passages_of(answer)
    return {"documents": [Document(id=n, content=t, meta=m, score=s) for n, t, m, s in passages]}
