"""A passage that the newest version of its topic lacks is probably not so any more."""

import numpy as np
import polars as pl

from operators.signals.rule import Questions, Values, factor


@factor
def superseded(hits: pl.DataFrame, questions: Questions) -> Values:
    """1 for a hit that the newest version of its topic lacks.

    0 if the question asks for all versions, for the hit's version, or for a moment before a version
    first lacked it.
    """
    value = np.zeros(hits.height)
    if hits["last_version"].null_count() == hits.height:
        return value
    columns = hits["query_id", "version", "last_version", "superseded_at"]
    for row, (query, version, last, since) in enumerate(columns.iter_rows()):
        if last is None:
            continue
        asked = questions[query]
        pinned = {one for of in asked["pinned"] or () for one in of}
        moment = min(filter(None, (asked["as_of"], asked["versions_as_of"])), default=None)
        still_there = moment is not None and since is not None and moment <= since
        if asked["version_policy"] != "all" and version not in pinned and not still_there:
            value[row] = 1
    return value
