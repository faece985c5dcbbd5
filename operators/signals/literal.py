"""Who pastes a message or a line wants the passage that has it, whatever values are filled in.

Most of the question's words in their order are evidence by themselves where at most ``FEW``
passages have them: ``variable `x` has multiple definitions`` is a template in one file.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import polars as pl

from operators.foundation.tokenizer import STOP_WORDS
from operators.question.intent import words_in_line
from operators.signals.rare_name import BEHIND, FEW
from operators.signals.rule import Questions, Values, lead
from operators.signals.secondary import of_tests

DEEPEST = 20
"""How many passages of a keyword list are compared: who has the words in order is among them."""

SHORTEST = 3
"""Fewest words of the longest run, and that match and are no stop words; of ``LONG``, one does."""

LONG = 4

SHARE = 0.75
"""The least share of the question's words."""


@lead
def literal(hits: pl.DataFrame, questions: Questions) -> Values:
    """The share of the question's words that the passage has in their order, if few have them.

    Tests count only where nothing else has the words.
    """
    value = [0.0] * hits.height
    if not any(asked["literal"] for asked in questions.values()):
        return value
    found = defaultdict[int, list[tuple[float, int]]](list)
    for row, (query, rank, text) in enumerate(hits["query_id", "text_rank", "text"].iter_rows()):
        parts = questions[query]["literal"]
        if parts and rank is not None and rank < DEEPEST:
            share = share_in_order(parts, words_in_line(text))
            if share >= SHARE:
                found[query].append((share, row))
    places, of_file = hits["path", "anchor"].rows(), hits["of_file"].to_list()
    for query, shares in found.items():
        if not questions[query]["about_secondary"]:  # tests repeat what the source says
            shares = [one for one in shares if not of_tests(*places[one[1]])] or shares
        best = max(shares)[0]
        rows = [row for share, row in shares if share == best]
        for row in rows if len(rows) <= FEW else ():
            is_long = len(" ".join(questions[query]["literal"]).split()) >= LONG
            value[row] = best * BEHIND if is_long and not of_file[row] else best
    return value


def share_in_order(parts: Sequence[str], line: str) -> float:
    """The share of the words of ``parts`` that ``line`` has in runs; 0 where that says nothing.

    >>> share_in_order(["recipe", "has circular dependency"], "recipe {} has circular dependency")
    1.0
    >>> share_in_order(["recipe", "has circular dependency"], "a recipe has a dependency")
    0.0
    """
    whole = [part.split() for part in parts]
    every, known = [word for words in whole for word in words], set(line.split())
    if sum(word in known for word in every) < SHARE * len(every):
        return 0.0
    runs = [run for words in whole for run in _runs(words, f" {line} ")]
    matched = [word for run in runs for word in run]
    telling = sum(word not in STOP_WORDS for word in matched)
    longest = max(map(len, runs), default=0)
    if longest < SHORTEST or not telling or (telling < SHORTEST and len(matched) < LONG):
        return 0.0
    return len(matched) / len(every)


def _runs(words: Sequence[str], line: str) -> Iterator[Sequence[str]]:
    """The longest run, and those before and after it; one word of several is none.

    The line has a space at each end.
    """
    starts, first = list[int](), 0  # of the longest run up to each word, the line is read once
    for last in range(1, len(words) + 1):
        while first < last and f" {' '.join(words[first:last])} " not in line:
            first += 1
        starts.append(first)
    left = [(0, len(words))]
    while left:
        begin, end = left.pop()
        longest = [last + 1 - max(starts[last], begin) for last in range(begin, end)]
        most = max(longest, default=0)
        if most > 1 or most == end - begin > 0:
            last = begin + longest.index(most) + 1
            yield words[last - most : last]
            if most > 1:
                sides = ((begin, last - most), (last, end))
                left += [(low, high) for low, high in sides if high - low > 1]
