"""The page that explains one answer: why each passage has its rank, or why it is missing.

It is one self-contained HTML file (``explanation.html``, a template of Jinja): it makes no request,
and no content can run in it. Every text is escaped where the template shows it, so hostile queries,
labels or names can't become markup by accident.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import polars as pl

from operators.errors import CrosscorpusError, counted
from operators.explain.dispositions import DISPOSITION_MEANINGS
from operators.explain.waterfall import FACTORS, Step, spell, waterfall
from operators.foundation.escape import visible
from operators.foundation.extras import installing
from operators.question.intent import understood

try:
    import jinja2
    from markupsafe import Markup
except ImportError as error:
    raise CrosscorpusError(f"a page needs {error.name}: {installing('evaluate')}") from None

_LONGEST = 600  # shown characters of a passage's text


@dataclass(frozen=True)
class Passage:
    """A passage of an explanation, with its name and its numbers."""

    name: str  # its rank among the results, from 1, or ?1, ?2, ...
    row: Mapping[str, Any]  # of ``DISPOSITIONS``
    steps: Sequence[Step]  # its waterfall
    text: str  # of a result, its beginning; else empty

    @property
    def is_result(self) -> bool:
        """Whether it is among the results."""
        return self.row["result_rank"] is not None

    @property
    def score(self) -> str:
        """Its score, with four digits; empty if it has none."""
        return "" if self.row["score"] is None else f"{self.row['score']:.4f}"

    @property
    def sentence(self) -> str:
        """What became of it, and why."""
        said = f"{self.row['reason']}."
        if self.row["disposition"] != "context":
            said = f"{DISPOSITION_MEANINGS[self.row['disposition']]}: {said}"
        return said[:1].upper() + said[1:]

    @property
    def factors(self) -> list[tuple[str, str, str]]:
        """Each step of its score: its name, what it does, and the score after it."""
        return [(step.factor, step.formula, spell(step.after)) for step in self.steps]


def explanation_page(answer: Mapping[str, Any]) -> str:
    """The whole page for the first query of a run as HTML.

    It loads nothing and runs nothing. ``answer`` has the outputs
    ``queries``, ``results``, ``explain``, ``dispositions`` and ``provenance`` of a run.
    """
    question = answer["queries"].row(0, named=True)
    results, explained, ends = (
        answer[name].filter(query_id=question["query_id"])
        for name in ("results", "explain", "dispositions")
    )
    passages = _passages(ends, explained, dict(results["chunk_id", "text"].iter_rows()))
    placed = [one for one in passages if one.is_result]
    named = [one for one in passages if not one.is_result]
    stages, places = _places(passages)
    return _template().render(
        title=question["texts"][0],
        style=Markup((files(__package__) / "explanation.css").read_text(encoding="utf-8")),
        lead=_lead(placed, named),
        facts=_facts(question, answer.get("intent")),
        notes=answer["provenance"]["degraded"],
        passages=[_line(one) for one in passages],
        meanings=_meanings(passages),
        stages=stages,
        places=places,
        named=named,
        placed=placed,
    )


def _passages(
    dispositions: pl.DataFrame, explained: pl.DataFrame, texts: Mapping[int, str]
) -> list[Passage]:
    """The passages in order: results by rank, then the other requested ones, ?1, ?2, ..."""
    by_chunk = explained.partition_by("chunk_id", as_dict=True, maintain_order=True)
    passages: list[Passage] = []
    numbers = itertools.count(1)
    for row in dispositions.iter_rows(named=True):
        rank = row["result_rank"]
        name = str(rank + 1) if rank is not None else f"?{next(numbers)}"
        rows = by_chunk.get((row["chunk_id"],), explained.clear())
        text = (texts.get(row["chunk_id"]) or "") if rank is not None else ""
        shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
        passages.append(Passage(name, row, waterfall(rows), shown))
    return passages


def _lead(results: Sequence[Passage], named: Sequence[Passage]) -> str:
    used = sum(one.row["number"] is not None for one in results)
    corpora = len({one.row["corpus"] for one in results})
    lead = f"{counted(len(results), 'result')} of {counted(corpora, 'corpus', 'corpora')}, "
    lead += f"{used} in the context"
    if named:
        lead += f"; {counted(len(named), 'passage')} asked about"
    return f"{lead}."


def _facts(question: Mapping[str, Any], intent: pl.DataFrame | None) -> list[str]:
    """What the question was asked with, and what was read from its text."""
    facts = [f"also put as: {text}" for text in question["texts"][1:]]
    if question["trigger"]:
        mix = [f"{one['trigger']} {spell(one['share'])}" for one in question["trigger"]]
        single = len(mix) == 1 and question["trigger"][0]["trigger"]
        facts.append(f"trigger: {single or ', '.join(mix)}")
    for name, what in (("repos", "in"), ("corpora", "only")):
        if question[name] is not None:
            facts.append(f"{what} {', '.join(question[name]) or 'nothing'}")
    single_values = [
        name
        for name in ("path_prefix", "language", "state", "symbol", "uses")
        if question[name] is not None
    ]
    facts += [f"{name.replace('_', ' ')} {question[name]}" for name in single_values]
    if question["as_of"] is not None:
        facts.append(f"as of {question['as_of']:%Y-%m-%d %H:%M} UTC")
    if intent is not None:
        facts += understood(
            intent.row(by_predicate=pl.col("query_id") == question["query_id"], named=True)
        )
    return facts


def _line(one: Passage) -> list[str | Mapping[str, Any]]:
    """A passage's line in the table of all; its row stands for its link."""
    number, copies = one.row["number"], len(one.row["near_duplicates"])
    fate = DISPOSITION_MEANINGS[one.row["disposition"]]
    return [one.name, one.row, one.score, fate, str(number or ""), str(copies or "")]


def _meanings(passages: Sequence[Passage]) -> str:
    """What the factors of the passages are, in order, and what ?1 is; empty without a factor."""
    there = {step.factor: step.meaning for one in passages for step in one.steps}
    if not there:
        return ""
    first = [factor for factor in FACTORS if factor in there]
    named = [f"{factor}: {there[factor].rstrip('.')}" for factor in dict.fromkeys([*first, *there])]
    meanings = "; ".join(named)
    has_others = not all(one.is_result for one in passages)
    asked = " ?1, ...: passages that were asked about and are no results." if has_others else ""
    return f"{meanings[:1].upper()}{meanings[1:]}.{asked}"


def _places(passages: Sequence[Passage]) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of the table of places: each passage's in the lists that have some.

    A list that changes no rank is left out.
    """
    positions = [{one["list"]: one["rank"] for one in passage.row["ranks"]} for passage in passages]
    every = list(dict.fromkeys(name for ranks in positions for name in ranks))
    columns = {name: [ranks.get(name) for ranks in positions] for name in every}
    pairs = zip(every, [None, *every[:-1]], strict=True)
    stages = [one for one, last in pairs if last is None or columns[one] != columns[last]]
    rows = [
        [one.name, *(str(ranks[name] + 1) if name in ranks else "" for name in stages)]
        for one, ranks in zip(passages, positions, strict=True)
    ]
    return ["", *stages], rows


def _shown(value: Any) -> Any:
    """A text with invisible characters shown; markup and everything else unchanged."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    source = (files(__package__) / "explanation.html").read_text(encoding="utf-8")
    return environment.from_string(source)
