"""Orders versions of one passage in an answer: the newest first, each marked in its label.

Two results are versions of one passage if they are of one topic (``lineage_id``), under the same
heading, and of different versions. Only such results exchange ranks, among themselves; every
other result keeps its rank.
"""

from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from operators.arrays.rows import by_rank, replaced, take
from operators.versions.version_key import version_key

NEWEST, OLDER = "newest version here", "older version"
_ALWAYS = datetime.min.replace(tzinfo=UTC)


def newest_first(results: pl.DataFrame) -> pl.DataFrame:
    """``results`` (columns ``SHOWN``) in reading order; ``rank`` is the position.

    Among versions of one passage, ``source_label`` marks the newest one here and the older ones.
    """
    if results["lineage_id"].null_count() >= results.height - 1:
        return results
    results = by_rank(results)
    passages: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    keys = results["query_id", "corpus", "lineage_id", "anchor"]
    for row, key in enumerate(keys.iter_rows()):
        if key[2] is not None:
            passages[key].append(row)
    versions = results["version"].to_list()
    several = [rows for rows in passages.values() if len({versions[row] for row in rows}) > 1]
    if not several:
        return results
    labels = results["source_label"].to_list()
    dates = results["doc_date"].to_list()
    order = np.arange(results.height)
    for rows in several:
        # a stable sort keeps the order within one version
        age = {row: (version_key(versions[row]), dates[row] or _ALWAYS) for row in rows}
        by_age = sorted(rows, key=age.__getitem__, reverse=True)
        order[rows] = by_age
        for row in rows:
            newest = versions[row] == versions[by_age[0]]
            labels[row] = _marked(labels[row], NEWEST if newest else OLDER)
    marked = take(replaced(results, pl.Series("source_label", labels, dtype=pl.String)), order)
    return replaced(marked, results["rank"])


def _marked(label: str, mark: str) -> str:
    return f"{label[:-1]}; {mark}]" if label.endswith("]") else f"{label}; {mark}"
