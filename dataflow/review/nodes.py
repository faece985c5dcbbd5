"""The nodes of the review graph: from a change to the context of its review.

The change is parsed into files and hunks; its names become queries; the retrieval graph runs them
in one batch; the hits are selected, labelled with their reason and packed into one budget.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
from hamilton.function_modifiers import tag

from operators.context import packing
from operators.context.citations import cite
from operators.context.labels import labelled, labels_of
from operators.context.templates import label_names
from operators.context.token_counts import token_measure
from operators.frames import NOTES, SHOWN, empty
from operators.postgres.store import with_many_repos
from operators.review import evidence as chosen
from operators.review import review_questions
from operators.review.around import around_hunks
from operators.review.changed_names import changed_lines
from operators.review.changed_names import changed_names as names_changed
from operators.review.changed_names import touched_lines as lines_touched
from operators.review.changed_names import used_names as names_used
from operators.review.changes import Change, read_change
from operators.sources.git.range_facts import line_commits as commits_of_lines

NOTHING = "the collection has nothing about this change beyond its diff"


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
    """One query per file, for the passages around its hunks."""
    return review_questions.hunk_questions(change, retrieval.config.corpora, repo)


@tag(stage="change", io="postgres")
def touched_passages(touched_questions: pl.DataFrame, retrieval: Any) -> pl.DataFrame:
    """The passages around the hunks, in the old files."""
    return _found(retrieval, touched_questions)


@tag(stage="change")
def around(change: Change, touched_passages: pl.DataFrame) -> pl.DataFrame:
    """The code around the hunks, without the hunks."""
    return around_hunks(change, touched_passages)


@tag(stage="change")
def changed_names(change: Change, touched_passages: pl.DataFrame) -> list[str]:
    """The names that the change defines, removes or changes, ordered by the number of lines."""
    return names_changed(change, touched_passages)


@tag(stage="change")
def used_names(change: Change, changed_names: list[str]) -> list[str]:
    """The names that the new lines use, newly used ones first."""
    return names_used(change, changed_names)


@tag(stage="change", io="git")
def line_commits(change: Change, root: Path | None = None, base: str | None = None) -> list[str]:
    """The commits that last changed the changed lines; none without a working tree."""
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
    """The queries of the review, one per row."""
    return review_questions.change_questions(
        change,
        changed_names,
        used_names,
        line_commits,
        retrieval.config.corpora,
        repo=repo,
        as_of=as_of,
        title=title,
        description=description,
    )


@tag(stage="search", io="postgres")
def found(questions: pl.DataFrame, retrieval: Any) -> pl.DataFrame:
    """The passages for each query: the node ``unique`` of the retrieval graph."""
    return _found(retrieval, questions)


@tag(stage="context")
def evidence(
    found: pl.DataFrame,
    questions: pl.DataFrame,
    touched_lines: list[tuple[str, int, int]],
    around: pl.DataFrame,
    own_commits: Sequence[str] = (),
) -> pl.DataFrame:
    """The entries for a reviewer, the most useful first; each label gives its reason."""
    others = found.filter(~pl.col("document_id").is_in(own_commits))
    return chosen.evidence(others, questions, touched_lines, around)


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
    """The entries that fit a budget in tokens, section by section."""
    measure = token_measure(retrieval.embedder.count_tokens, vocabulary)
    how: dict[str, Any] = {"budget": context_budget, "measure": measure}
    how["label_names"] = label_names(retrieval.graph.config["corpora"])
    query = pl.DataFrame({"query_id": [0], "texts": [["review"]]})
    fits = packing.pack(evidence.drop("section"), query, review_notes, **how)
    return packing.pack(chosen.by_section(evidence, fits["chunk_id"]), query, review_notes, **how)


@tag(stage="context", frame="CONTEXT")
def review_context(packed: pl.DataFrame, context_budget: int = 2_000) -> pl.DataFrame:
    """The context as one text."""
    query = pl.DataFrame({"query_id": [0]})
    return packing.compose(packed, query, budget=context_budget)


@tag(stage="context", frame="CITATIONS")
def citations(packed: pl.DataFrame) -> pl.DataFrame:
    """A Markdown link for each entry of the context."""
    return cite(packed)


def _found(retrieval: Any, questions: pl.DataFrame) -> pl.DataFrame:
    if questions.is_empty():
        return empty(SHOWN)
    overrides = {"queries": questions.drop("purpose", "about")}
    read = [retrieval.whole_list, "chunks", "corpus_settings", "collections"]
    hits, chunks, corpora, collections = retrieval.execute(read, overrides=overrides).values()
    names = labels_of([hits], hits, chunks, corpora, with_many_repos(collections))
    return labelled(hits, names)
