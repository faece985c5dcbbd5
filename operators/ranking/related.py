"""Evidence from linked passages: review threads for files, a pull request for its threads.

A file with good review comments is likely to be their subject, though its own words differ. A
thread of a pull request that answers well is likely to answer too: it comes before other threads,
and takes their scores. All threads together keep their set of scores, so that they rank no
higher among code and pages than before.
"""

import re
from collections import defaultdict
from collections.abc import Collection

import numpy as np
import polars as pl

from operators.ranking.total_order import ranked

_PULL = re.compile(r'"pr_number": (\d+)')


def related(
    hits: pl.DataFrame,
    *,
    corpora: Collection[str],
    by_reviews: float,
    by_pull_request: float,
    most_reviews: int,
) -> pl.DataFrame:
    """``hits`` (``FUSED``) with ``by_reviews`` and ``by_pull_request``, the gains from their links.

    A hit of ``corpora`` gains ``by_reviews`` times the score of the best review thread of its
    repository and path, of the ``most_reviews`` best of the query. The passages of pull requests
    (``pr_number`` in their metadata) are ordered by their scores plus ``by_pull_request`` times
    the excess of the best one of the same pull request: the first gets the best of their scores.
    """
    score = hits["score"].to_numpy()
    from_reviews, from_pull = np.zeros(hits.height), np.zeros(hits.height)
    files: dict[tuple[int, str, str], list[int]] = defaultdict(list)
    pulls: dict[tuple[int, str, str], list[int]] = defaultdict(list)
    of_pulls: dict[int, list[int]] = defaultdict(list)
    threads: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
    columns = hits["query_id", "corpus", "repo", "path", "metadata"]
    for row, (query_id, corpus, repo, path, metadata) in enumerate(columns.iter_rows()):
        pull = _PULL.search(metadata or "")
        if pull:
            pulls[query_id, repo, pull[1]].append(row)
            of_pulls[query_id].append(row)
            if path:
                threads[query_id].append((row, repo, path))
        elif path and corpus in corpora:
            files[query_id, repo, path].append(row)
    wanted = score.copy()
    for rows in pulls.values():
        wanted[rows] += by_pull_request * (score[rows].max() - score[rows])
    for at in map(np.array, of_pulls.values()):
        order = at[np.lexsort((at, -score[at], -wanted[at]))]
        from_pull[order] = np.sort(score[at])[::-1] - score[order]
    for query_id, reviews in threads.items():
        best = sorted(reviews, key=lambda of: (-score[of[0]], of[0]))[:most_reviews]
        for row, repo, path in reversed(best):  # the best one last
            from_reviews[files.get((query_id, repo, path), [])] = by_reviews * score[row]
    gains = {"by_reviews": from_reviews, "by_pull_request": from_pull}
    gained = hits.with_columns(*(pl.Series(name, gain) for name, gain in gains.items()))
    return ranked(gained, pl.Series(score + from_reviews + from_pull))
