"""Who quotes, or pastes a message, wants the passages that have it as it stands."""

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from operators.foundation.escape import label_text
from operators.frames import NOTES
from operators.question.intent import flat
from operators.signals.rare_name import WORTH
from operators.signals.rule import Questions, Values, lead

_CODE_BREAK = re.compile(r"""["'][ \t]*\\?\n[ \t]*\w{0,2}["']""")


EXACT = ("exact_phrase", "literal", "rare_name")
"""Rules that find what the query says word for word. Where one leads, the first passage answers
97 % of 474 made questions that none of them was chosen on (benchmarks/quality.md)."""


@lead
def exact_phrase(hits: pl.DataFrame, questions: Questions) -> Values:
    """How many phrases of the question the passage has, whatever their case and white space.

    What precedes the values of a message counts as its share of the message's words.
    """
    value = [0.0] * hits.height
    worth = {query: shares for query, asked in questions.items() if (shares := _worth(asked))}
    if not worth:
        return value
    for row, (query, text) in enumerate(hits["query_id", "text"].iter_rows()):
        if query in worth:
            passage = _flat(text)
            value[row] = sum(of for phrase, of in worth[query].items() if _stands(phrase, passage))
    return value


def said_exactly(signals: pl.DataFrame) -> pl.Series:
    """The queries with a passage that has what they say word for word, by ``SIGNALS``."""
    whole = (pl.col("signal") != "rare_name") | (pl.col("value") >= WORTH)  # all its names
    return signals.filter(pl.col("signal").is_in(EXACT) & whole)["query_id"].unique()


def notes(hits: pl.DataFrame, intent: pl.DataFrame) -> pl.DataFrame:
    """``NOTES``: the phrases in double quotes that no passage of ``hits`` contains."""
    rows = []
    for query, phrases in intent["query_id", "quoted"].iter_rows():
        contents = hits.filter(pl.col("query_id") == query)["text"] if phrases else ()
        passages = list(map(_flat, contents))
        rows += [
            (query, f'no passage found has "{label_text(phrase)}" as it stands')
            for phrase in phrases
            if not any(_stands(phrase, passage) for passage in passages)
        ]
    return pl.DataFrame(rows, schema=NOTES, orient="row")


def _worth(asked: Mapping[str, Any]) -> dict[str, float]:
    """1 for each phrase; less for the beginning of another, by their words."""
    phrases = {phrase: len(phrase.split()) for phrase in asked["phrases"]}
    return {
        phrase: words / max(of for other, of in phrases.items() if other.startswith(phrase))
        for phrase, words in phrases.items()
    }


def _flat(text: str) -> str:
    return flat(_CODE_BREAK.sub("", text))


def _stands(phrase: str, passage: str) -> bool:
    whole = rf"(?:(?<!\w)|(?=\W)){re.escape(phrase)}(?:(?!\w)|(?<=\W))"
    return phrase in passage and re.search(whole, passage) is not None
