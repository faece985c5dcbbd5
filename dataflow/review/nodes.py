"""From a change to the context of its review.

The change is read into files and hunks; its names become questions; the retrieval graph answers all
of them in one batch; what it finds is chosen, explained and packed into one budget.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
from hamilton.function_modifiers import tag

from operators.context import packing
from operators.context.citations import cite
from operators.context.templates import label_names
from operators.context.token_counts import token_measure
from operators.frames import FUSED, NOTES, empty
from operators.review import evidence as chosen
from operators.review import review_questions
from operators.review.around import around_hunks
from operators.review.changed_names import changed_lines
from operators.review.changed_names import changed_names as names_changed
from operators.review.changed_names import touched_lines as lines_touched
from operators.review.changed_names import used_names as names_used
from operators.review.changes import Change, read_change
from operators.sources.git.range_facts import line_commits as commits_of_lines

NOTHING = "the collection tells nothing about this change that its diff does not show"


@tag(stage="change")
def change(patch: bytes) -> Change:
    """The files and hunks of the patch."""
    return read_change(patch)


@tag(stage="change")
def touched_lines(change: Change) -> list[tuple[str, int, int]]:
    """The lines of the old files that the patch shows: path, first and last."""
    return lines_touched(change)


@tag(stage="change")
def touched_questions(change: Change, retrieval: Any, repo: str | None = None) -> pl.DataFrame:
    """One question a file, for the passages around its hunks."""
    return review_questions.of_hunks(change, retrieval.config.corpora, repo)


@tag(stage="change", io="postgres")
def touched_passages(touched_questions: pl.DataFrame, retrieval: Any) -> pl.DataFrame:
    """The passages around the hunks, in the old files."""
    return _found(retrieval, touched_questions)


@tag(stage="change")
def around(change: Change, touched_passages: pl.DataFrame) -> pl.DataFrame:
    """What stands around the hunks and not in them."""
    return around_hunks(change, touched_passages)


@tag(stage="change")
def changed_names(change: Change, touched_passages: pl.DataFrame) -> list[str]:
    """What the change defines, removes or changes, the names of most lines first."""
    return names_changed(change, touched_passages)


@tag(stage="change")
def used_names(change: Change, changed_names: list[str]) -> list[str]:
    """What the new lines use, the newly used names first."""
    return names_used(change, changed_names)


@tag(stage="change", io="git")
def line_commits(change: Change, root: Path | None = None, base: str | None = None) -> list[str]:
    """The commits that made the lines which change; none without a working tree."""
    if root is None or base is None:
        return []
    return commits_of_lines(root, base, changed_lines(change))


@tag(stage="question")
def questions(
    change: Change,
    changed_names: list[str],
    used_names: list[str],
    retrieval: Any,
    line_commits: list[str],
    repo: str | None = None,
    as_of: datetime | None = None,
    title: str | None = None,
    description: str | None = None,
) -> pl.DataFrame:
    """What a reviewer looks up, one question each."""
    return review_questions.of_change(
        change,
        changed_names,
        used_names,
        line_commits,
        retrieval.config.corpora,
        repo=repo,
        as_of=as_of,
        title=title or change.title,
        description=description or change.description,
    )


@tag(stage="search", io="postgres")
def found(questions: pl.DataFrame, retrieval: Any) -> pl.DataFrame:
    """The passages that answer each question: the node ``unique`` of the retrieval graph."""
    return _found(retrieval, questions)


@tag(stage="context")
def evidence(
    found: pl.DataFrame,
    questions: pl.DataFrame,
    touched_lines: list[tuple[str, int, int]],
    around: pl.DataFrame,
    own_commits: Sequence[str] = (),
) -> pl.DataFrame:
    """What a reviewer needs, the most useful first; each label says why it is there."""
    of_others = found.filter(~pl.col("document_id").is_in(own_commits))
    return chosen.evidence(of_others, questions, touched_lines, around)


@tag(stage="context")
def review_notes(change: Change, evidence: pl.DataFrame, told: Sequence[str] = ()) -> pl.DataFrame:
    """What was left out of the patch, and what the collection lacks."""
    notes = [*told, *change.notes, *([NOTHING] if evidence.is_empty() else [])]
    return pl.DataFrame({"query_id": [0] * len(notes), "note": notes}, schema=NOTES)


@tag(stage="context", frame="PACKED")
def packed(
    evidence: pl.DataFrame,
    review_notes: pl.DataFrame,
    retrieval: Any,
    context_budget: int = 2_000,
    vocabulary: str = "o200k_base",
) -> pl.DataFrame:
    """The entries that fit a budget of tokens, section by section."""
    measure = token_measure(retrieval.embedder.count_tokens, vocabulary)
    how: dict[str, Any] = {"budget": context_budget, "measure": measure}
    how["label_names"] = label_names(retrieval.graph.config["corpora"])
    asked = pl.DataFrame({"query_id": [0], "texts": [["review"]]})
    fits = packing.pack(evidence.drop("section"), asked, review_notes, **how)
    return packing.pack(chosen.by_section(evidence, fits["chunk_id"]), asked, review_notes, **how)


@tag(stage="context", frame="CONTEXT")
def review_context(packed: pl.DataFrame, context_budget: int = 2_000) -> pl.DataFrame:
    """The context as one text."""
    asked = pl.DataFrame({"query_id": [0]})
    return packing.compose(packed, asked, budget=context_budget)


@tag(stage="context", frame="CITATIONS")
def citations(packed: pl.DataFrame) -> pl.DataFrame:
    """Every entry of the context, as a Markdown link."""
    return cite(packed)


def _found(retrieval: Any, questions: pl.DataFrame) -> pl.DataFrame:
    if questions.is_empty():
        return empty(FUSED)
    asked = questions.drop("purpose", "about")
    found: pl.DataFrame = retrieval.execute(["unique"], overrides={"queries": asked})["unique"]
    return found
