"""A retriever of DSPy."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from dataflow.driver.answer import Answer
from dataflow.driver.retrieval_driver import RetrievalDriver
from dataflow.frameworks.filters import options_of, question
from dataflow.frameworks.full_answers import aask, ask
from dataflow.frameworks.passages import passages_of
from operators.errors import CrosscorpusError
from operators.foundation.extras import installing

try:
    import dspy
except ImportError:
    raise CrosscorpusError(f"DSPy is not installed: {installing('dspy')}") from None


class CrosscorpusRetriever(dspy.Retrieve):
    """A callable that returns a driver's passages; ``dspy.configure(rm=...)`` accepts it too."""

    def __init__(
        self,
        driver: RetrievalDriver,
        k: int = 10,
        filters: Mapping[str, Any] | None = None,
        principals: Sequence[str] | None = None,
        trigger: str | None = None,
        callbacks: list[Any] | None = None,
    ) -> None:
        """Store the options of every query.

        Args:
            driver: from ``build_driver``; its builder closes it.
            k: the number of passages; fewer only if the collection has fewer.
            filters: of every query: see :mod:`dataflow.frameworks.filters`.
            principals: the caller's users and groups; None: the owner, who sees everything.
            trigger: the kind of caller, such as ``issue``; None: a person.
            callbacks: of DSPy.

        Raises:
            CrosscorpusError: a filter is unknown.
        """
        super().__init__(k=k, callbacks=callbacks)
        self.driver = driver
        self._own = options_of(filters or {})
        self._who: dict[str, Any] = {"principals": principals, "trigger": trigger}

    def forward(self, query: str, k: int | None = None, **filters: Any) -> dspy.Prediction:
        """The lists ``passages``, ``metadata`` and ``scores`` of the hits, the best first.

        A filter replaces the retriever's own filter of that name.
        """
        return _prediction(ask(self.driver, query, self._request(k, filters)))

    async def acall(self, query: str, k: int | None = None, **filters: Any) -> dspy.Prediction:
        """The asynchronous call."""
        return _prediction(await aask(self.driver, query, self._request(k, filters)))

    def _request(self, k: int | None, filters: Mapping[str, Any]) -> dict[str, Any]:
        return question(self.k if k is None else k, self._own, options_of(filters), **self._who)

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """The state of a saved program; ``dspy.Retrieve`` does not accept ``json_mode`` (3.4)."""
        return {"k": self.k}

    def __deepcopy__(self, memo: dict[int, Any]) -> "CrosscorpusRetriever":
        """A copy with the same driver: optimizers copy the modules that contain it."""
        return copy(self)


class _Passages(dspy.Prediction):
    """A prediction, and to ``dspy.Retrieve`` an iterable of passages, each with ``long_text``."""

    def __iter__(self) -> Iterator[dspy.Example]:
        return (dspy.Example(long_text=text) for text in self.passages)


def _prediction(answer: Answer) -> dspy.Prediction:
    passages = passages_of(answer)
    return _Passages(
        passages=[one.text for one in passages],
        metadata=[one.metadata for one in passages],
        scores=[one.score for one in passages],
    )
