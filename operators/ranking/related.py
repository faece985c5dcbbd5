"""Evidence from linked passages: commits and reviews for files, a pull request for its threads.

A file that relevant commits changed, or that has good review comments, is likely to be their
subject, though its own words differ. A thread of a pull request that answers well is likely to
answer too: it comes before other threads, and takes their scores. All threads together keep their
set of scores, so that they rank no higher among code and pages than before.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
import polars as pl

from operators.frames import CHANGED_PATHS, LINK_GAINS
from operators.ranking.total_order import ranked

_PULL = re.compile(r'"pr_number": (\d+)')
_HAS_CHANGED = f'"{CHANGED_PATHS}": ['

_Place: TypeAlias = tuple[int, str, str]
"""A query, a repository, and a path or a pull request of it."""
_Link: TypeAlias = tuple[int, Sequence[str], float]
"""The row of a hit, the paths that it links to, and the share of its score for their files."""


def related(
    hits: pl.DataFrame,
    *,
    corpora: Collection[str],
    by_commits: float,
    by_reviews: float,
    by_pull_request: float,
    most_linked: int,
) -> pl.DataFrame:
    """``hits`` (``FUSED``) with ``LINK_GAINS``, the gains from their links, and ``linked_by``.

    A hit of ``corpora`` gains ``by_reviews`` times the score of the best review thread of its
    repository and path. And it gains the most that a commit gives that changed its file:
    ``by_commits`` times what its score is above that of the first commit that does not count, over
    the square root of the number of files that it changed. The ``most_linked`` best threads and
    commits of the query count. The passages of pull requests
    (``pr_number`` in their metadata) are ordered by their scores plus ``by_pull_request`` times the
    excess of the best one of the same pull request: the first gets the best of their scores.

    ``linked_by`` has the label of the passage that gives a hit most, and how many more do.
    """
    score = hits["score"].to_numpy()
    files: dict[_Place, list[int]] = defaultdict(list)
    pulls: dict[_Place, list[int]] = defaultdict(list)
    threads: dict[int, list[int]] = defaultdict(list)  # of each query
    links: dict[tuple[int, str], list[_Link]] = defaultdict(list)  # of each query, by the gain
    known = set[tuple[int, str, str]]()  # commits: of several passages the best one counts
    columns = hits["query_id", "corpus", "repo", "path", "document_id", "metadata"]
    for row, (query, corpus, repo, path, document, held) in enumerate(columns.iter_rows()):
        if pull := _PULL.search(held or ""):
            pulls[query, repo, pull[1]].append(row)
            threads[query].append(row)
            if path:
                links[query, "by_reviews"].append((row, [path], by_reviews))
        elif path and corpus in corpora:
            files[query, repo, path].append(row)
        elif held and _HAS_CHANGED in held and (query, repo, document) not in known:
            known.add((query, repo, document))
            if changed := _changed(held):
                share = by_commits / math.sqrt(len(changed))
                links[query, "by_commits"].append((row, changed, share))
    gains = {name: np.zeros(hits.height) for name in LINK_GAINS}
    gained_from: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for (query, name), of_query in links.items():
        of_query.sort(key=lambda link: (-score[link[0]], link[0]))
        last = of_query[min(most_linked, len(of_query) - 1)][0]
        least = score[last] if name == "by_commits" else 0.0
        for linked, paths, share in of_query[:most_linked]:
            repo, gain = hits["repo"][linked], share * (score[linked] - least)
            if not gain:
                continue
            for row in chain.from_iterable(files.get((query, repo, path), ()) for path in paths):
                gains[name][row] = max(gains[name][row], gain)
                gained_from[row].append((-gain, linked))
    wanted = score.copy()
    for rows in pulls.values():
        best = min(rows, key=lambda row: (-score[row], row))
        wanted[rows] += by_pull_request * (score[best] - score[rows])
        for row in set(rows) - {best}:
            gained_from[row].append((0.0, best))
    for at in map(np.array, threads.values()):
        order = at[np.lexsort((at, -score[at], -wanted[at]))]
        gains["by_pull_request"][order] = np.sort(score[at])[::-1] - score[order]
    labels = hits["source_label"]
    named: list[str | None] = [None] * hits.height
    for row, of_row in gained_from.items():
        (_, first), *more = sorted(of_row)
        named[row] = f"{labels[first]} and {len(more)} more" if more else labels[first]
    own = [pl.Series(name, gain) for name, gain in gains.items()]
    told = hits.with_columns(*own, pl.Series("linked_by", named, pl.String))
    return ranked(told, pl.Series(sum(gains.values(), score)))


def _changed(metadata: str) -> list[str]:
    paths = json.loads(metadata).get(CHANGED_PATHS)
    known = paths if isinstance(paths, list) else []
    return list(dict.fromkeys(path for path in known if isinstance(path, str)))
