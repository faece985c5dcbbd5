"""Files that no search of their corpus found, but that found commits changed or reviews are about.

Their own words differ from the question's, so that neither list has them. What links to them has
the question's words: a commit lists the files that it changed, a review thread is on one.
"""

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby, islice
from operator import itemgetter
from typing import TypeAlias

import polars as pl

from operators.frames import CHANGED_PATHS, LINK_SOURCES, empty

File: TypeAlias = tuple[str, str]
"""A repository and a path."""

_RANK_OFFSET = 10
"""As the constant of reciprocal rank fusion, but smaller: the first hits of a list count most."""


def best_found(lists: Iterable[pl.DataFrame], *, most: int) -> pl.DataFrame:
    """``LINK_SOURCES``: the ``most`` best hits of each query and corpus in the ``lists``.

    A hit's vote is the sum over the lists (columns query_id, corpus, chunk_id and rank) of
    ``1 / (10 + rank)`` (reciprocal rank fusion).

    >>> rows = [(0, "history", 7, 0), (0, "history", 8, 1)]
    >>> one = pl.DataFrame(rows, ["query_id", "corpus", "chunk_id", "rank"], orient="row")
    >>> best_found([one, one[:1]], most=1).rows()
    [(0, 'history', 7, 0.2)]
    """
    votes: dict[tuple[str, int, int], float] = defaultdict(float)
    for frame in lists:
        for query, corpus, chunk, rank in frame[
            "query_id", "corpus", "chunk_id", "rank"
        ].iter_rows():
            votes[corpus, query, chunk] += 1 / (_RANK_OFFSET + rank)
    ordered = sorted((*key[:2], -vote, key[2]) for key, vote in votes.items())
    best = [row for _, of in groupby(ordered, key=itemgetter(0, 1)) for row in islice(of, most)]
    rows = [(query, corpus, chunk, -vote) for corpus, query, vote, chunk in best]
    return pl.DataFrame(rows, schema=LINK_SOURCES, orient="row") if rows else empty(LINK_SOURCES)


def changed_paths(metadata: str) -> list[str]:
    """The files that a commit changed, by its metadata; none where it says nothing readable.

    >>> changed_paths('{"changed_paths": ["a.py", "b.py", "a.py"]}'), changed_paths("{}")
    (['a.py', 'b.py'], [])
    """
    paths = json.loads(metadata).get(CHANGED_PATHS)
    known = paths if isinstance(paths, list) else []
    return list(dict.fromkeys(path for path in known if isinstance(path, str)))


def votes_for_files(links: Iterable[tuple[float, str, Sequence[str]]]) -> dict[File, float]:
    """The votes of ``links``: each a vote, a repository, and the paths there that share it.

    Each path gets the vote over the square root of their number.

    >>> votes_for_files([(1.0, "app", ["a.py"]), (1.0, "app", ["a.py", "b.py", "c.py", "d.py"])])
    {('app', 'a.py'): 1.5, ('app', 'b.py'): 0.5, ('app', 'c.py'): 0.5, ('app', 'd.py'): 0.5}
    """
    votes: dict[File, float] = defaultdict(float)
    for vote, repo, paths in links:
        for path in paths:
            votes[repo, path] += vote / math.sqrt(len(paths))
    return dict(votes)


def most_voted(
    votes: Mapping[File, float],
    found: AbstractSet[int],
    chunks: Mapping[File, Collection[int]],
    *,
    most: int,
) -> list[File]:
    """The ``most`` files with the highest ``votes`` of which no chunk is ``found``.

    ``chunks``: of each file that exists and that the question may see.

    >>> votes = {("app", "a.py"): 1.0, ("app", "b.py"): 0.9, ("app", "c.py"): 0.5}
    >>> most_voted(votes, {1}, {("app", "a.py"): [1, 2], ("app", "c.py"): [3]}, most=5)
    [('app', 'c.py')]
    """
    new = [file for file, ids in chunks.items() if file in votes and not found & {*ids}]
    return sorted(new, key=lambda file: (-votes[file], file))[:most]
