"""The newest version of a topic stands above passages that exist only in older versions.

A section that is edited in every version leaves passages that no newer version has word for word.
They nearly repeat the newest one. One may answer what the newest lacks, but together they push
the newest down.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from functools import cache

import numpy as np
import polars as pl

from operators.foundation.tokenizer import vocabulary
from operators.signals.rule import Questions, Values, gain, lead

SHARE = 0.05
"""The minimum share of a question's words that only the old passage has: in a long question, one
such word is common."""


@gain
def newest_version(hits: pl.DataFrame, questions: Questions) -> Values:
    """By how much an older passage is above the best one of its topic's newest version."""
    value = np.zeros(hits.height)
    if hits["last_version"].null_count() == hits.height:
        return value
    score, best = hits["score"].to_numpy(), hits["best"].to_numpy()
    topic = hits["lineage_id"].to_list()
    for current, old in _replaced(hits, questions):
        first = {topic[row]: row for row in reversed(current)}
        for row in old:
            newest = first.get(topic[row])
            if newest is not None and best[newest] > 0:
                more = (score[row] - score[newest]) / best[newest]
                value[newest] = max(value[newest], more)
    return value


@lead
def replaced(hits: pl.DataFrame, questions: Questions) -> Values:
    """-1 for a passage that newer versions lack, and that has no word of the question alone.

    An old passage stays if it has a word of the question that no newest version of the list has (of
    a long question, ``SHARE`` of its words); and if its topic was removed, so that nothing replaces
    it. A question with an ``as_of`` uses the newest version of that moment: a passage superseded
    later, or at an unknown time, is current. A question that names a version keeps its list.
    """
    value = np.zeros(hits.height)
    if hits["last_version"].null_count() < hits.height:
        for _, old in _replaced(hits, questions):
            value[old] = -1
    return value


def _replaced(hits: pl.DataFrame, questions: Questions) -> Iterator[tuple[list[int], list[int]]]:
    """For each question the rows of current passages, and those that they replace."""
    last, since = hits["last_version"].to_list(), hits["superseded_at"].to_list()
    removed = hits["removed"].to_list()
    texts = pl.concat_str("title", "anchor", "path", "text", separator="\n", ignore_nulls=True)
    texts_of = hits.select(texts).to_series().to_list()
    rows_of = defaultdict[int, list[int]](list)
    for row, query in enumerate(hits["query_id"].to_list()):
        rows_of[query].append(row)
    words_of = cache(vocabulary)  # several questions may hit the same passage
    for query, rows in rows_of.items():
        asked = questions[query]
        if asked["version_policy"] not in ("newest", "as_of"):
            continue
        moment = asked["as_of"] or asked["versions_as_of"]
        old = [
            n for n in rows if last[n] is not None and not removed[n] and _gone(since[n], moment)
        ]
        if not old:
            continue
        terms, current = set(asked["vocabulary"]), sorted(set(rows).difference(old))
        only_old = terms.intersection(*[set[str]().union(*(words_of(texts_of[n]) for n in old))])
        for row in current:  # the first few have nearly all words
            if not only_old:
                break
            only_old.difference_update(words_of(texts_of[row]))
        enough = max(1.0, SHARE * len(terms))
        yield current, [n for n in old if len(only_old & words_of(texts_of[n])) < enough]


def _gone(since: datetime | None, moment: datetime | None) -> bool:
    """Whether what was superseded at ``since`` (None: unknown) was so at ``moment`` (None: now)."""
    return moment is None or (since is not None and since < moment)
