"""A name that few passages have decides: an embedding has never seen it."""

import re
from collections import defaultdict

import polars as pl

from operators.signals.rule import Questions, Values, lead

FEW, MOST = 5, 10
"""The most passages that have a rare name; of one that more than ``FEW`` have, half counts."""

OTHERS = 2
"""The most other words of a question that looks up a name; a longer one only mentions it."""

WORTH = 0.5
"""Of a passage with all names: less than of one that defines what is sought."""


@lead
def rare_name(hits: pl.DataFrame, questions: Questions) -> Values:
    """.5 times the share of the question's names that the passage has, of those that few have.

    A name that more than ``FEW`` passages have counts half.
    """
    value = [0.0] * hits.height
    if not any(asked["names"] or asked["name"] for asked in questions.values()):
        return value
    rows_of = defaultdict[int, list[tuple[int, str]]](list)
    for row, (query, text) in enumerate(hits["query_id", "text"].iter_rows()):
        rows_of[query].append((row, text))
    for query, rows in rows_of.items():
        asked = questions[query]
        names = [asked["name"]] if asked["name"] else asked["names"]
        if len(asked["words"]) > len(names) + OTHERS:
            continue
        for name in names:
            whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
            having = [row for row, text in rows if name in text and whole.search(text)]
            worth = WORTH if len(having) <= FEW else WORTH / 2
            for row in having if len(having) <= MOST else ():
                value[row] += worth / len(names)
    return value
