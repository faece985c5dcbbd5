"""A list in which a file has one place: a reader sees more files, and each names its passages.

Of the 127 questions on code of octocode's benchmark, judged by lines, ten places of one passage
each answer 92 %, ten files with one passage 70 %, ten files with four 95 % (benchmarks/quality.md).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from operators.arrays.lists import lists
from operators.arrays.rows import by_rank, index, replaced, take
from operators.arrays.segments import Integers
from operators.frames import PASSAGE_OF_FILE

SHARE = 0.25
"""The least share of the score of a file's first passage that a further one has to be named."""

_MORE = "more_of_file"
_PASSAGE = [one.name for one in PASSAGE_OF_FILE.fields]


def in_places(
    hits: pl.DataFrame, top_k: int, *, one_a_file: bool = True, more: int = 3
) -> pl.DataFrame:
    """The ``top_k`` best of each query: first one passage per file, then others of these files.

    Args:
        hits: columns ``FUSED``; a document without a path counts as a file. A score may be
            negative under a reranker: then no further passage is named.
        one_a_file: False: a passage is taken for a file.
        more: the number of passages that a file's first one names.

    Returns:
        Rows of ``hits`` in their order, and a column ``more_of_file``, a list of
        ``PASSAGE_OF_FILE``: the best passages of the file that have no place of their own, only
        in the row of its first one.

    Raises:
        ValueError: ``top_k`` is negative.
    """
    if top_k < 0:
        raise ValueError(f"top_k must be 0 or more, got {top_k}")
    kept = by_rank(hits)
    file = ("repo", pl.coalesce("path", "document_id")) if one_a_file else ("chunk_id",)
    files = kept.select("query_id", "corpus", *file).rows()
    passages, others = defaultdict[object, list[int]](list), defaultdict[int, list[int]](list)
    firsts = defaultdict[int, list[int]](list)
    for row, key in enumerate(files):
        (others if key in passages else firsts)[key[0]].append(row)
        passages[key].append(row)
    chosen = [sorted((rows + others[query])[:top_k]) for query, rows in firsts.items()]
    shown = [row for rows in chosen for row in rows]
    scores = kept["score"].to_list()
    own, named = set(shown), list[tuple[int, int]]()
    for position, row in enumerate(shown):
        first, *rest = passages[files[row]]
        least = SHARE * scores[first]
        left = [other for other in rest if other not in own and scores[other] >= least]
        left = left if row == first else []
        named += [(other, position) for other in left[:more]]
    ranks = [position for rows in chosen for position in range(len(rows))]
    results = replaced(take(kept, _numbers(shown)), pl.Series("rank", ranks, pl.UInt32))
    values = kept[_PASSAGE].to_struct(_MORE)[index(_numbers([other for other, _ in named]))]
    owners = _numbers([position for _, position in named])
    return replaced(results, lists(values, owners, results.height))


def named_beside(
    document_id: str, more_of_file: Sequence[Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """How a result of that document names its further passages: each name is one for ``fetch``.

    By lines in the same document, by the id of another, else by label; of several passages with
    one name, as in a long line, the first.

    >>> more = {"document_id": "a.py", "start_line": 4, "end_line": 9, "source_label": "[code: a]"}
    >>> beside = [more, more, {**more, "document_id": "b"}, {**more, "start_line": None}]
    >>> list(named_beside("a.py", beside))
    ['4-9', 'b', '[code: a]']
    """
    named: dict[str, Mapping[str, Any]] = {}
    for one in more_of_file:
        lines = f"{one['start_line']}-{one['end_line']}" if one["start_line"] else None
        other = one["document_id"] != document_id
        named.setdefault(str(one["document_id"] if other else lines or one["source_label"]), one)
    return named


def _numbers(rows: list[int]) -> Integers:
    return np.array(rows, dtype=np.int64)
