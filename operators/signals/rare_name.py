"""A name that few passages have decides: an embedding has never seen it."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import polars as pl

from operators.signals.rule import Questions, Values, lead

FEW, MOST = 5, 10
"""The most passages that have a rare name; of one that more than ``FEW`` have, half counts."""

OTHERS = 2
"""The most other words of a question that looks up a name; a longer one only mentions it."""

WORTH = 0.5
"""Of a passage with all names: less than of one that defines what is sought."""

BEHIND = 0.99
"""Times the value of a page or a commit with the same text as code: code stands before it."""


@lead
def rare_name(hits: pl.DataFrame, questions: Questions) -> Values:
    """.5 times the share of the question's names that the passage has, of those that few have.

    A name that more than ``FEW`` passages have counts half. Where a question has nothing but names
    ("what does X do", not "why X"), code stands before pages and commits. ``OPS-41`` and ``!88``
    are names too; a branch may write the former ``ops-41_fix``.
    """
    value = [0.0] * hits.height
    looked_up = {query: names for query, asked in questions.items() if (names := _names(asked))}
    if not looked_up:
        return value
    rows_of = _texts(hits, looked_up, questions)
    of_file = hits["of_file"].to_list()
    for query, names in looked_up.items():
        asked = questions[query]
        of_history = asked["asks_why"] or any(place["key"] for place in asked["places"])
        only_names = not of_history and len(asked["words"]) <= len(names)
        for name, whole in names.items():
            having = [row for row, text in rows_of[query] if _has(text, name, whole)]
            worth = WORTH if len(having) <= FEW else WORTH / 2
            for row in having if len(having) <= MOST else ():
                behind = BEHIND if only_names and not of_file[row] else 1
                value[row] += behind * worth / len(names)
    return value


def absent_names(hits: pl.DataFrame, intent: pl.DataFrame) -> dict[int, list[str]]:
    """The names that a question looks up, by its number, where none of its hits has any of them."""
    questions = {row["query_id"]: row for row in intent.iter_rows(named=True)}
    looked_up = {query: names for query, asked in questions.items() if (names := _names(asked))}
    texts = _texts(hits, looked_up, questions)
    return {
        query: list(names)
        for query, names in looked_up.items()
        if not any(_has(text, *one) for _, text in texts[query] for one in names.items())
    }


def _texts(
    hits: pl.DataFrame, looked_up: Collection[int], questions: Questions
) -> Mapping[int, list[tuple[int, str]]]:
    """Rows and texts of the hits of the questions ``looked_up``; a key stands in titles too."""
    texts = defaultdict[int, list[tuple[int, str]]](list)
    columns = hits["query_id", "title", "text"].iter_rows() if looked_up else ()
    for row, (query, title, text) in enumerate(columns):
        if query in looked_up:
            texts[query].append((row, f"{title} {text}" if questions[query]["places"] else text))
    return texts


def _has(text: str, name: str, whole: re.Pattern[str]) -> bool:
    return (name in text or name.lower() in text) and whole.search(text) is not None


def _names(asked: Mapping[str, Any]) -> dict[str, re.Pattern[str]]:
    """The names that a question looks up; none of one with more than ``OTHERS`` other words."""
    keys = [place["key"].replace("merge_requests/", "!") for place in asked["places"]]
    names = [asked["name"]] if asked["name"] else [*asked["names"], *filter(None, keys)]
    if len(asked["words"]) > len(names) + OTHERS:
        return {}
    bounds = (r"(?<!\w)%s(?!\w)", r"(?i)(?<![^\W_])%s(?![^\W_])")
    return {name: re.compile(bounds[name in keys] % re.escape(name)) for name in names}
