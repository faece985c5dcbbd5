"""One query with its options, and its answer as plain values."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextvars import copy_context
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import partial
from typing import Any

import polars as pl
from hamilton.graph import FunctionGraph

from dataflow.configuration.config_model import Config
from dataflow.driver.visibility import visible_filters
from operators.errors import CrosscorpusError
from operators.options import FILTERS, input_of
from operators.postgres.search.filter_values import as_known, check_pattern
from operators.postgres.search.known_versions import known_in
from operators.postgres.store import Home
from operators.question.read_options import read_asked
from operators.ranking.evidence_level import level_of_one
from operators.versions.asked_versions import KnownVersions

NODES = ("results", "context_window", "citations", "evidence_level", "notes", "provenance")
"""The nodes that an answer is made of."""

CHARACTERS = 4
"""Of a token, where a configuration counts a context in characters."""

LONGEST = 2_000
"""Characters of a passage in a context; in a small one it has a sixth of the room.

Of 64 questions of two sets (``agent``, ``newcomer``), 1,500 tokens have the answer for .92, with
passages of 2,000 characters for .88.
"""


@dataclass(frozen=True)
class Passage:
    """One result, with columns of ``operators.frames.SHOWN``.

    Attributes:
        rank: its rank, from 0.
        label: its label in results, context and notes, such as ``[code: src/cache.py:10-42]``.
        url: its link; None if there is no safe one.
        start_line: its first line in the file, from 1; None if its text has no file lines.
        whole_text: the text around it that reads whole, as the context has it: neighbouring
            passages joined, and for the best ones their section; ``text`` if there is no more.
        whole_lines: the first and the last line of ``whole_text``.
        more_of_file: the next best passages of its file, each as
            ``operators.frames.SHOWN_PASSAGE``.
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
    whole_text: str
    whole_lines: tuple[int | None, int | None]
    more_of_file: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Answer:
    """The answer to one query: iterable and indexable as its passages, the best first.

    Attributes:
        passages: the results.
        context: the text for a model; it fits the budget of the configuration.
        citations: a Markdown link for each passage of the context.
        notes: what failed, what is missing, and how versions were understood.
        provenance: how the answer was computed.
        frame: the node ``results``.
        evidence: ``strong``, ``partial`` or ``weak``: how likely the first passages answer the
            query; None where that is not known.
    """

    passages: tuple[Passage, ...]
    context: str
    citations: tuple[str, ...]
    notes: tuple[str, ...]
    provenance: dict[str, Any] = field(repr=False)
    frame: pl.DataFrame = field(repr=False, compare=False)
    evidence: str | None = None

    def __iter__(self) -> Iterator[Passage]:
        """The passages."""
        return iter(self.passages)

    def __len__(self) -> int:
        """The number of passages."""
        return len(self.passages)

    def __getitem__(self, index: int) -> Passage:
        """The passage at ``index``, from 0."""
        return self.passages[index]


class AnswerMethods:
    """Methods of a driver that answer one query."""

    _askers: Executor
    config: Config
    graph: FunctionGraph
    homes: dict[str, Home]
    context_passages: str  # the node of the list that the context is packed from
    execute: Callable[..., dict[str, Any]]
    seen_by: Callable[..., "AnswerMethods"]

    def question_inputs(
        self, query: str | Sequence[str], *, must_exist: bool = False, **asked: Any
    ) -> dict[str, Any]:
        """The inputs of ``execute`` for one query, for a caller who wants other nodes.

        Options are parsed as :mod:`operators.question.read_options` describes; the notes of the
        answer name options that were dropped or read as something else. An empty list of corpora
        or repositories means no filter.

        Args:
            query: one text, or several phrasings of one query.
            must_exist: take a repository, a language or a state as the visible documents spell it
                (``hono`` for ``honojs/hono``), and raise for a repository or a language that none
                has, instead of an answer without results, and for an invalid ``pattern``.
            asked: inputs of ``execute`` and parameters, by name; None is dropped, except for
                ``principals``, where it is an error. ``max_tokens`` is the size of the context.
                ``only_corpora`` is another name of ``corpora``, ``path_prefix`` of ``path``, and
                ``versions`` of ``version``; it may be a policy, ``newest`` or ``all``. The default
                trigger is ``question`` if the configuration has it; ``none`` is a name too.

        Raises:
            UnknownName: ``must_exist``, and no document is of the repository or in the language.
            CrosscorpusError: an input is given under two names, or can't be read.
        """
        if "principals" in asked and asked["principals"] is None:
            raise CrosscorpusError(
                "principals can't be None: an unknown caller has [], and the owner calls without"
                " principals"
            )
        options, read_as = read_asked(asked, empty_is_none=True)
        if isinstance(version := options.get("version"), str):
            options["version"] = [version]
        if max_tokens := options.pop("max_tokens", None):
            options = self._sizes(max_tokens) | options
        options["query"] = query
        if trigger := options.get("trigger") or self.config.usual_trigger:
            options["trigger"] = trigger
        inputs = dict[str, Any]()
        for name, one in options.items():
            if (known := input_of(name)) in inputs:
                same = next(other for other in options if input_of(other) == known)
                raise CrosscorpusError(f"{same} and {name} mean the same: give only one")
            several = isinstance(one, Sequence) and not isinstance(one, str)
            inputs[known] = list(one) if several else one
        dates = [one.name for one in FILTERS if one.kind == "date"]
        as_versions = [name for name in dates if isinstance(inputs.get(name), str)]
        homes = self.homes
        if (must_exist or as_versions) and "principals" in inputs:
            homes = self.seen_by(inputs["principals"]).homes
        if must_exist:
            spelled, said = as_known(homes, visible_filters(self.config), inputs)
            inputs |= spelled
            read_as += said
            if homes and (pattern := inputs.get("pattern")):
                check_pattern(next(iter(homes.values())).store, pattern)
        for name in as_versions:
            # of every corpus: pages have the release, commits what came with it
            version, seen, repos = inputs[name], visible_filters(self.config), inputs.get("repos")
            every = KnownVersions(known_in(homes)).within(seen, None, repos)
            inputs[name] = every.release_date(name, version)
            read_as.append(f"{name} {version!r} was read as {inputs[name]:%Y-%m-%d}, its date")
        if read_as:
            inputs["read_as"] = read_as
        return inputs

    def _sizes(self, max_tokens: int) -> dict[str, int]:
        """The parameters of a context of so many tokens, those that the graph has."""
        in_tokens = self.config.variants.get("packed") == "tokens"
        length = min(LONGEST, max_tokens * CHARACTERS // 6)
        sizes = {"context_budget": max_tokens * (1 if in_tokens else CHARACTERS)}
        sizes |= {"passage_characters": length, "grown_characters": length}
        return {name: size for name, size in sizes.items() if name in self.graph.nodes}

    def ask(self, query: str | Sequence[str], **asked: Any) -> Answer:
        """The answer to one query, given as one text or as several phrasings.

        ``asked`` are the options of :mod:`operators.options` and the rest of what
        :meth:`question_inputs` takes: ``ask("...", repos=["org/app"], version="3.5", top_k=5)``.

        Raises:
            CrosscorpusError: as :meth:`question_inputs` and ``execute``.
        """
        inputs = self.question_inputs(query, **asked)
        out = self.execute([*NODES, self.context_passages], inputs)
        return answer_of(out, out[self.context_passages])

    async def aask(self, query: str | Sequence[str], **asked: Any) -> Answer:
        """As :meth:`ask`, for coroutines; they share as many threads as the driver has workers."""
        work = partial(copy_context().run, self.ask, query, **asked)
        return await asyncio.get_running_loop().run_in_executor(self._askers, work)


def answer_of(out: Mapping[str, Any], whole: pl.DataFrame) -> Answer:
    """The answer to one query, from the values of ``NODES`` and the passages of its context."""
    results: pl.DataFrame = out["results"]
    named = results.rename({"source_label": "label", "source_url": "url"})
    wanted = [one.name for one in fields(Passage) if one.name in named.columns]
    columns = ("corpus", "parts", "text", "start_line", "end_line")
    rows = whole.select(columns).iter_rows() if "parts" in whole.columns else ()
    around = {
        (corpus, chunk): (text, (first, last))
        for corpus, parts, text, first, last in rows
        for chunk in parts
    }
    passages = []
    for row in named.select(wanted).iter_rows(named=True):
        own = row["text"], (row["start_line"], row["end_line"])
        text, lines = around.get((row["corpus"], row["chunk_id"]), own)
        row["more_of_file"] = tuple(row.get("more_of_file") or ())
        passages.append(Passage(**row, whole_text=text, whole_lines=lines))
    return Answer(
        passages=tuple(passages),
        context="".join(out["context_window"]["text"]),
        citations=tuple(out["citations"]["citation"]),
        notes=tuple(out["notes"]["note"]),
        provenance=out["provenance"],
        frame=results,
        evidence=level_of_one(out["evidence_level"]),
    )
