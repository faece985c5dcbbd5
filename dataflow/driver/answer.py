"""The answer to one question as plain values: results, context, citations and notes."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextvars import copy_context
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import polars as pl

from dataflow.configuration.config_model import Config

if TYPE_CHECKING:
    import pyarrow

NODES = ("results", "context_window", "citations", "notes", "provenance")
"""What an answer is made of."""


@dataclass(frozen=True)
class Passage:
    """One result, as ``operators.frames.FUSED`` has it.

    Attributes:
        rank: its place, from 0.
        label: what it is called everywhere, such as ``[code: src/cache.py:10-42]``.
        url: its link; None where there is none that is safe.
        start_line: of its file, from 1; None where its text has no lines of a file.
    """

    rank: int
    score: float
    label: str
    url: str | None
    text: str
    corpus: str
    repo: str
    title: str | None
    path: str | None
    start_line: int | None
    end_line: int | None
    language: str | None
    version: str | None
    created_at: datetime | None
    document_id: str
    chunk_id: int


@dataclass(frozen=True)
class Answer:
    """The answer to one question: iterable and indexable as its passages, the best first.

    Attributes:
        passages: the results.
        context: what a model reads; it fits the budget of the configuration.
        citations: a Markdown link for each passage of the context.
        notes: what a reader must know: what failed, is missing, or was understood of versions.
        provenance: how the answer came about.
        frame: the node ``results``.
    """

    passages: tuple[Passage, ...]
    context: str
    citations: tuple[str, ...]
    notes: tuple[str, ...]
    provenance: dict[str, Any] = field(repr=False)
    frame: pl.DataFrame = field(repr=False, compare=False)

    def __iter__(self) -> Iterator[Passage]:
        """The passages."""
        return iter(self.passages)

    def __len__(self) -> int:
        """How many passages."""
        return len(self.passages)

    def __getitem__(self, place: int) -> Passage:
        """The passage at ``place``, from 0."""
        return self.passages[place]

    def to_arrow(self) -> "pyarrow.Table":
        """The results as an Arrow table: the columns ``operators.frames.FUSED``, one row a passage.

        ``pyarrow.parquet.write_table(answer.to_arrow(), "answer.parquet")`` keeps them.
        """
        return self.frame.to_arrow()

    def _repr_html_(self) -> str:
        """A table with links, for a notebook."""
        rows = "".join(
            f"<tr><td>{one.rank + 1}</td><td>{_link(one)}</td><td>{one.score:.4f}</td>"
            f"<td><pre>{escape(one.text[:400])}</pre></td></tr>"
            for one in self.passages
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"<table>{rows}</table>" + (f"<ul>{notes}</ul>" if notes else "")


class AnswerMethods:
    """Asking one question; a driver has it."""

    _askers: Executor
    config: Config
    execute: Callable[..., dict[str, Any]]

    def ask(
        self,
        query: str | Sequence[str],
        *,
        trigger: str | Mapping[str, float] | None = None,
        repos: Sequence[str] | None = None,
        only_corpora: Sequence[str] | None = None,
        path_prefix: str | None = None,
        language: str | None = None,
        as_of: datetime | None = None,
        versions: str | Sequence[str] | None = None,
        **more: Any,
    ) -> Answer:
        """The answer to one question, put in one way or in several.

        Arguments are the inputs of ``execute`` of the same names; ``more`` takes the others, and
        parameters by name (``top_k=5``). People ask, so that the trigger is ``question`` where none
        is given; ``none`` is a name too.

        Raises:
            CrosscorpusError: as ``execute``.
        """
        asked: dict[str, Any] = {"query": query, "repos": repos, "versions": versions}
        asked |= {"only_corpora": only_corpora, "path_prefix": path_prefix, "language": language}
        asked |= {"trigger": trigger or self.config.usual_trigger, "as_of": as_of, **more}
        inputs = {
            name: list(one) if isinstance(one, Sequence) and not isinstance(one, str) else one
            for name, one in asked.items()
            if one is not None
        }
        return answer_of(self.execute(NODES, inputs=inputs))

    async def aask(self, query: str | Sequence[str], **asked: Any) -> Answer:
        """As :meth:`ask`, for coroutines: all share as many threads as the driver has workers."""
        work = partial(copy_context().run, self.ask, query, **asked)
        return await asyncio.get_running_loop().run_in_executor(self._askers, work)


def answer_of(out: Mapping[str, Any]) -> Answer:
    """The answer that the values of ``NODES`` of one question make."""
    results: pl.DataFrame = out["results"]
    named = results.rename({"source_label": "label", "source_url": "url"})
    wanted = [one.name for one in fields(Passage)]
    return Answer(
        passages=tuple(Passage(**row) for row in named.select(wanted).iter_rows(named=True)),
        context="".join(out["context_window"]["text"]),
        citations=tuple(out["citations"]["citation"]),
        notes=tuple(out["notes"]["note"]),
        provenance=out["provenance"],
        frame=results,
    )


def _link(one: Passage) -> str:
    label = escape(one.label)
    return f'<a href="{escape(one.url)}">{label}</a>' if one.url else label
