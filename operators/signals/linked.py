"""Evidence from linked passages: commits and reviews for files, a pull request for its threads.

A file that relevant commits changed, or that has good review comments, is likely to be their
subject, though its own words differ. A thread of a pull request that answers well is likely to
answer too, and so is the issue that the request closes.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl

from operators.frames import CHANGED_PATHS, CLOSES
from operators.ranking.linked_files import File, changed_paths
from operators.signals.rule import Questions, Told, factor, gain

MOST_LINKED = 30
"""The best commits, and the best review threads, of a question that count."""

_BEST = pl.col("best")
_PULL = re.compile(r'"pr_number": (\d+)')
_ISSUE = re.compile(r'"issue_number": (\d+)')
_CLOSES = re.compile(rf'"{CLOSES}": \[([\d, ]+)\]')
_HAS_CHANGED = f'"{CHANGED_PATHS}": ['


@gain
def by_commits(hits: pl.DataFrame, questions: Questions) -> Told:
    """How much the best commit that changed the hit's file stands out.

    It is its score minus the score of the first commit that does not count (of the last one if all
    count), divided by the square root of the number of files that it changed.
    """
    told = _Given(hits)
    for rows, files in _questions(hits):
        commits: dict[tuple[str, str], int] = {}
        for row in rows:
            if _HAS_CHANGED in told.metadata[row]:
                commits.setdefault((told.repo[row], told.document[row]), row)
        best = list(commits.values())
        least = told.score[best[min(MOST_LINKED, len(best) - 1)]] if best else 0.0
        for commit in best[:MOST_LINKED]:
            paths = changed_paths(told.metadata[commit])
            vote = (told.score[commit] - least) / math.sqrt(max(1, len(paths)))
            for path in paths if vote else ():
                told.give(vote, commit, files.get((told.repo[commit], path), ()))
    return told.values


@factor
def by_reviews(hits: pl.DataFrame, questions: Questions) -> Told:
    """How good the best review thread on the hit's file is, beside the best of its corpus."""
    told = _Given(hits, unit=pl.lit(1.0))
    best = hits["best"].to_list()
    for rows, files in _questions(hits):
        threads = [row for row in rows if told.path[row] and _PULL.search(told.metadata[row])]
        for review in threads[:MOST_LINKED]:
            on_file = files.get((told.repo[review], told.path[review]), ())
            told.give(told.score[review] / (best[review] or 1.0), review, on_file)
    return told.values


@gain
def by_pull_request(hits: pl.DataFrame, questions: Questions) -> Told:
    """How far the best passage of its pull request, or of an issue that closes, is above it."""
    told = _Given(hits)
    for rows, _ in _questions(hits):
        pulls: dict[tuple[str, str], list[int]] = defaultdict(list)
        issues: dict[tuple[str, str], list[int]] = defaultdict(list)
        closed: dict[tuple[str, str], set[str]] = defaultdict(set)
        for row in rows:
            repo, metadata = told.repo[row], told.metadata[row]
            if pull := _PULL.search(metadata):
                pulls[repo, pull[1]].append(row)
                if closes := _CLOSES.search(metadata):
                    closed[repo, pull[1]].update(closes[1].split(", "))
            elif issue := _ISSUE.search(metadata):
                issues[repo, issue[1]].append(row)
        for (repo, pull_request), own in pulls.items():
            linked = (issues.get((repo, number), ()) for number in closed[repo, pull_request])
            best, *others = sorted([*own, *(row for group in linked for row in group)])
            for row in others:
                told.give(told.score[best] - told.score[row], best, [row])
    return told.values


class _Given:
    """What hits gain from others, each in its ``unit``: the best score of its corpus."""

    def __init__(self, hits: pl.DataFrame, unit: pl.Expr = _BEST) -> None:
        self.score = hits["score"].to_list()
        self._unit = hits.with_columns(unit=unit)["unit"].to_list()
        self.repo, self.path = hits["repo"].to_list(), hits["path"].to_list()
        self.document, self._chunk = hits["document_id"].to_list(), hits["chunk_id"].to_list()
        self.metadata: list[str] = hits["metadata"].fill_null("").to_list()
        self._gain = np.zeros(hits.height)
        self._source: list[int | None] = [None] * hits.height

    def give(self, score: float, source: int, rows: Iterable[int]) -> None:
        """Let each of ``rows`` gain ``score`` from the row ``source``, if it has no more yet."""
        for row in rows:
            if self._unit[row] > 0 and score / self._unit[row] > self._gain[row]:
                self._gain[row] = score / self._unit[row]
                self._source[row] = self._chunk[source]

    @property
    def values(self) -> Told:
        """The gains, and the chunk that each comes from."""
        return self._gain, self._source


def _questions(hits: pl.DataFrame) -> Iterator[tuple[list[int], dict[File, list[int]]]]:
    """The rows of each question, best first, and those of each file of code."""
    rows: dict[int, list[int]] = defaultdict(list)
    files: dict[int, dict[File, list[int]]] = defaultdict(lambda: defaultdict(list))
    columns: Any = hits["query_id", "repo", "path", "of_file"].iter_rows()
    for row, (query, repo, path, of_file) in enumerate(columns):
        rows[query].append(row)
        if of_file:
            files[query][repo, path].append(row)
    yield from ((rows[query], files[query]) for query in rows)
