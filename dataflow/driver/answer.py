"""One question as its caller says it, and its answer as plain values."""

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
from dataflow.driver.visibility import visible_filters
from operators.context.asked_values import read_asked
from operators.errors import CrosscorpusError
from operators.postgres.search.filter_values import check_known_values
from operators.postgres.store import Home

if TYPE_CHECKING:
    import pyarrow

NODES = ("results", "context_window", "citations", "notes", "provenance")
"""What an answer is made of."""

OTHER_NAMES = {"corpora": "only_corpora", "path": "path_prefix", "version": "versions"}
"""What a caller may say -> the input of the graph that it is."""


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
    homes: dict[str, Home]
    execute: Callable[..., dict[str, Any]]
    seen_by: Callable[..., "AnswerMethods"]

    def question_inputs(
        self, query: str | Sequence[str], *, must_exist: bool = False, **asked: Any
    ) -> dict[str, Any]:
        """The inputs of ``execute`` for one question, for a caller who wants other nodes.

        Options are read as :mod:`operators.context.asked_values` says; the notes of the answer say
        what was left out and what was read as what. An empty list of corpora or repositories is
        none of them.

        Args:
            query: one text, or several ways to put one question.
            must_exist: a repository or a language that no visible document has is an error, and
                not an answer without results.
            asked: inputs of ``execute``, and parameters, by their names; None is left out,
                but for ``principals``, where it is an error.
                ``corpora`` is another name of ``only_corpora``, ``path`` of ``path_prefix``, and
                ``version`` of ``versions``, but ``version`` always names a version (``versions``
                may also be ``newest`` or ``all``). People ask, so that the trigger is ``question``
                where none is given and the configuration has it; ``none`` is a name too.

        Raises:
            UnknownName: ``must_exist``, and no document is of the repository or in the language.
            CrosscorpusError: an input is given under two names, or can't be read.
        """
        if "principals" in asked and asked["principals"] is None:
            raise CrosscorpusError(
                "principals: None is nobody's name; a caller whom nobody knows has [], and the"
                " owner asks without principals"
            )
        given, said = read_asked(asked, empty_is_none=True)
        if isinstance(version := given.get("version"), str):
            given["version"] = [version]
        given["query"] = query
        if trigger := given.get("trigger") or self.config.usual_trigger:
            given["trigger"] = trigger
        if said:
            given["read_as"] = said
        for other, name in OTHER_NAMES.items():
            if {other, name} <= given.keys():
                raise CrosscorpusError(f"{other} and {name} say the same: leave one of them out")
        inputs = {
            OTHER_NAMES.get(name, name): list(one)
            if isinstance(one, Sequence) and not isinstance(one, str)
            else one
            for name, one in given.items()
        }
        if must_exist:
            named = {name: inputs.get(name) for name in ("repos", "language")}
            homes = self.homes
            if "principals" in inputs:
                homes = self.seen_by(inputs["principals"]).homes
            check_known_values(homes, visible_filters(self.config), **named)
        return inputs

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

        Arguments are those of :meth:`question_inputs`; ``more`` takes the others (``top_k=5``).

        Raises:
            CrosscorpusError: as :meth:`question_inputs` and ``execute``.
        """
        asked: dict[str, Any] = {"trigger": trigger, "repos": repos, "only_corpora": only_corpora}
        asked |= {"path_prefix": path_prefix, "language": language, "versions": versions}
        asked |= {"as_of": as_of, **more}
        return answer_of(self.execute(NODES, self.question_inputs(query, **asked)))

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
