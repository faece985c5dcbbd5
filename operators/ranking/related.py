"""Evidence from linked passages: commits and reviews for files, a pull request for its threads.

A file that relevant commits changed, or that has good review comments, is likely to be their
subject, though its own words differ. A thread of a pull request that answers well is likely to
answer too, and so is the issue that the request closes. Such files, threads and issues come before
others and take their scores: the scores of the files of a corpus, of all threads, and of all
issues, stay the same numbers, so that they rank no higher among other passages than before.
"""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from operators.frames import CHANGED_PATHS, CLOSES, LINK_GAINS
from operators.ranking.linked_files import changed_paths
from operators.ranking.total_order import ranked

_PULL = re.compile(r'"pr_number": (\d+)')
_ISSUE = re.compile(r'"issue_number": (\d+)')
_CLOSES = re.compile(rf'"{CLOSES}": \[([\d, ]+)\]')
_HAS_CHANGED = f'"{CHANGED_PATHS}": ['

_Scores: TypeAlias = NDArray[np.float64]
_Place: TypeAlias = tuple[int, str, str]
"""A query, a repository, and a path or a pull request of it."""
_Given: TypeAlias = dict[int, list[tuple[float, int]]]
"""What a row gains from other rows: how much, and which."""


def related(
    hits: pl.DataFrame,
    *,
    corpora: Collection[str],
    by_commits: float,
    by_reviews: float,
    by_pull_request: float,
    most_linked: int,
) -> pl.DataFrame:
    """``hits`` (``FUSED``) with ``LINK_GAINS``, the gains from their links, and what gives them.

    Only the ``most_linked`` best review threads and commits of a query count:

    - ``by_reviews``: a hit of ``corpora`` gains this share of the score of the best thread of its
      repository and path.
    - ``by_commits``: the hits of each of ``corpora`` are ordered by their scores plus the most that
      a commit gives that changed the file: this share of what its score is above that of the first
      commit that does not count (if all count, of the last), over the square root of the number of
      files that it changed.
    - ``by_pull_request``: the passages of pull requests (``pr_number`` in their metadata) are
      ordered by their scores plus this share of the excess of the best one of the same request,
      or of the issues that it closes; likewise those of issues (``issue_number``) among themselves.

    Hits that are ordered exchange their scores: the first gets the best of them.

    Beside each gain, ``by_commits_from`` and so on have the label of the passage that gives a hit
    most, and how many more do.
    """
    score = hits["score"].to_numpy()
    files: dict[_Place, list[int]] = defaultdict(list)
    of_corpora: dict[tuple[int, str], list[int]] = defaultdict(list)  # of each query
    pulls: dict[_Place, list[int]] = defaultdict(list)
    closed: dict[_Place, set[str]] = defaultdict(set)  # the issues that a pull request closes
    issues: dict[_Place, list[int]] = defaultdict(list)
    threads: dict[int, list[int]] = defaultdict(list)  # of each query, as the next two
    of_issues: dict[int, list[int]] = defaultdict(list)
    commits: dict[int, dict[tuple[str, str], int]] = defaultdict(dict)  # their best passages
    rows_of = hits["query_id", "corpus", "repo", "path", "document_id", "metadata"]
    for row, (query, corpus, repo, path, document, held) in enumerate(rows_of.iter_rows()):
        if held and _HAS_CHANGED in held:
            commits[query].setdefault((repo, document), row)
        if pull := _PULL.search(held or ""):
            pulls[query, repo, pull[1]].append(row)
            threads[query].append(row)
            if closes := _CLOSES.search(held):
                closed[query, repo, pull[1]].update(closes[1].split(", "))
        elif issue := _ISSUE.search(held or ""):
            issues[query, repo, issue[1]].append(row)
            of_issues[query].append(row)
        elif path and corpus in corpora:
            files[query, repo, path].append(row)
            of_corpora[query, corpus].append(row)
    from_reviews, wanted = np.zeros(hits.height), score.copy()
    linked: dict[str, _Given] = {name: defaultdict(list) for name in LINK_GAINS}
    repos, paths, metadata = hits["repo"], hits["path"], hits["metadata"]
    for query, rows in threads.items():
        for review in _best_first(filter(paths.__getitem__, rows), score)[:most_linked]:
            for row in files.get((query, repos[review], paths[review]), ()):
                from_reviews[row] = max(from_reviews[row], by_reviews * score[review])
                linked["by_reviews"][row].append((by_reviews * score[review], review))
    for query, of_query in commits.items():
        rows = _best_first(of_query.values(), score)
        least = score[rows[min(most_linked, len(rows) - 1)]]
        for commit in rows[:most_linked]:
            changed = changed_paths(metadata[commit])
            vote = by_commits * (score[commit] - least) / math.sqrt(max(1, len(changed)))
            for path in changed if vote else ():
                for row in files.get((query, repos[commit], path), ()):
                    wanted[row] = max(wanted[row], score[row] + vote)
                    linked["by_commits"][row].append((vote, commit))
    for (query, repo, request), rows in pulls.items():
        those = (issues.get((query, repo, number), ()) for number in closed[query, repo, request])
        best, *others = _best_first([*rows, *chain.from_iterable(those)], score)
        for row in others:
            excess = by_pull_request * (score[best] - score[row])
            wanted[row] = max(wanted[row], score[row] + excess)
            linked["by_pull_request"][row].append((excess, best))
    gains = {
        "by_commits": _exchanged(score, wanted, of_corpora.values()),
        "by_reviews": from_reviews,
        "by_pull_request": _exchanged(score, wanted, [*threads.values(), *of_issues.values()]),
    }
    columns = [pl.Series(name, gain) for name, gain in gains.items()]
    labels = hits["source_label"].to_list()
    columns += [_names(name, given, labels) for name, given in linked.items()]
    return ranked(hits.with_columns(columns), pl.Series(sum(gains.values(), score)))


def _names(gain: str, given: _Given, labels: Sequence[str]) -> pl.Series:
    named: list[str | None] = [None] * len(labels)
    for row, of_row in given.items():
        (_, first), *more = sorted(of_row, key=lambda one: (-one[0], one[1]))
        named[row] = f"{labels[first]} and {len(more)} more" if more else labels[first]
    return pl.Series(f"{gain}_from", named, pl.String)


def _best_first(rows: Iterable[int], score: _Scores) -> list[int]:
    return sorted(rows, key=lambda row: (-score[row], row))


def _exchanged(score: _Scores, wanted: _Scores, groups: Iterable[Sequence[int]]) -> _Scores:
    """What each row gains if the rows of a group take its scores in the order of ``wanted``."""
    gain = np.zeros(len(score))
    for rows in map(np.array, groups):
        order = rows[np.lexsort((rows, -score[rows], -wanted[rows]))]
        gain[order] = np.sort(score[rows])[::-1] - score[order]
    return gain
