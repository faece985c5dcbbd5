"""Ranks the newest version of a topic above passages that exist only in older versions.

A section that is edited in every version leaves passages that no newer version has word for word.
They nearly repeat the newest one. One may answer what the newest lacks, but together they push
the newest down.
"""

from collections import defaultdict
from datetime import datetime
from functools import cache

import numpy as np
import polars as pl

from operators.arrays.rows import by_rank
from operators.foundation.tokenizer import vocabulary
from operators.ranking.total_order import ranked

HEAD = 10
"""Documents that rank above a passage that the newest version replaces."""

SHARE = 0.05
"""The minimum share of a query's words that only the old passage has: in a long query, one such
word is common."""


def newest_stands(hits: pl.DataFrame, queries: pl.DataFrame, scope: pl.DataFrame) -> pl.DataFrame:
    """``hits`` (``FUSED``) with the newest version of each topic in the place of its older ones.

    A passage that newer versions lack moves behind the first ``HEAD`` other documents, and the best
    passage of its topic's newest version takes its place, if the list has one. An old passage stays
    if it has a word of the query that no newest version of the list has (of a long query, ``SHARE``
    of its words); and if its topic was removed, so that nothing replaces it. A query with an
    ``as_of`` uses the newest version of that moment: a passage superseded later, or at an unknown
    time, is current. A query that names a version (``scope``: ``VERSION_SCOPE``) keeps its list.
    """
    if hits["last_version"].null_count() == hits.height:
        return hits
    hits = by_rank(hits)
    asks_newest = scope.filter(pl.col("version_policy").is_in(["newest", "as_of"]))
    plain = queries.filter(pl.col("query_id").is_in(set(asks_newest["query_id"])))
    moments = dict(asks_newest["query_id", "versions_as_of"].iter_rows())
    moments |= dict(plain.drop_nulls("as_of")["query_id", "as_of"].iter_rows())
    score = hits["score"].to_numpy().copy()
    topic, last = hits["lineage_id"].to_list(), hits["last_version"].to_list()
    document, since = hits["document_id"].to_list(), hits["superseded_at"].to_list()
    removed = hits["removed"].to_list()
    texts = pl.concat_str("title", "anchor", "path", "text", separator="\n", ignore_nulls=True)
    texts_of = hits.select(texts).to_series().to_list()
    words = {
        query_id: vocabulary("\n".join(query_texts))
        for query_id, query_texts in plain["query_id", "texts"].iter_rows()
    }
    all_words = set[str]().union(*words.values())

    @cache  # several queries may hit the same passage
    def matching(text: str) -> set[str]:
        """The words of all queries that a passage contains."""
        return all_words & vocabulary(text)

    rows_of = defaultdict[int, list[int]](list)
    for row, query_id in enumerate(hits["query_id"].to_list()):
        rows_of[query_id].append(row)
    for query_id, terms in words.items():
        rows = rows_of[query_id]
        moment = moments.get(query_id)
        old = [
            row
            for row in rows
            if last[row] is not None and not removed[row] and _gone(since[row], moment)
        ]
        if not old:
            continue
        current = sorted(set(rows).difference(old))
        only_old = terms.intersection(set[str]().union(*(matching(texts_of[row]) for row in old)))
        for row in current:  # the first few have nearly all words
            if not only_old:
                break
            only_old.difference_update(matching(texts_of[row]))
        enough = max(1.0, SHARE * len(terms))
        replaced = [row for row in old if len(only_old & matching(texts_of[row])) < enough]
        first = {topic[row]: row for row in reversed(current)}
        for row in replaced:
            if (newest := first.get(topic[row])) is not None:
                score[newest] = max(score[newest], score[row])
        others = sorted(set(rows).difference(replaced), key=lambda row: float(score[row]))
        if best := sorted({document[row]: score[row] for row in others}.values(), reverse=True):
            limit = np.nextafter(best[:HEAD][-1], -np.inf)
            score[replaced] = np.minimum(score[replaced], limit)
    return ranked(hits, pl.Series(score))


def _gone(since: datetime | None, moment: datetime | None) -> bool:
    """Whether what was superseded at ``since`` (None: unknown) was so at ``moment`` (None: now)."""
    return moment is None or (since is not None and since < moment)
