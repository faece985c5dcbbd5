"""Who pastes a message or a line wants the passage that has it, whatever values are filled in.

Most of the question's words in their order are evidence by themselves where at most ``FEW``
passages have them: ``variable `x` has multiple definitions`` is a template in one file. A log adds
words before and behind, and values of many words. Then the other direction holds: the question has
all words of a literal of the source, in their order.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import polars as pl

from operators.foundation.tokenizer import STOP_WORDS
from operators.question.intent import literal as literal_parts
from operators.question.intent import words_in_line
from operators.signals.rare_name import BEHIND, FEW
from operators.signals.rule import Questions, Values, lead
from operators.signals.secondary import of_tests

SHORTEST = 3
"""Fewest words of the longest run, and that match and are no stop words; of ``LONG``, one does. Of
a literal with all its words one is enough, and two words if neither is a stop word."""

LONG = 4

SHARE = 0.75
"""The least share of the question's words."""

SURROUNDED = 0.3
"""The least share where a literal of the source has all of its own words in the question."""

_LITERAL = re.compile(r"""\"([^"\n]{10,200})\"|'([^'\n]{10,200})'|`([^`\n]{10,200})`""")
_HOLE = re.compile(r"%[-+#0-9.]*[a-z]\b|[$#]?\{[^{}\n]*\}|\$\w+")


@lead
def literal(hits: pl.DataFrame, questions: Questions) -> Values:
    """The share of the question's words that the passage has in their order, if few have them.

    Where no passage has most of them, code leads that prints the longest literal among them. Tests
    count only where nothing else has the words.
    """
    value = [0.0] * hits.height
    asked = {query: one for query, one in questions.items() if one["literal"]}
    if not asked:
        return value
    numbered = hits["query_id", "text", "of_file"].with_row_index("row")
    found = _shares(numbered, asked, share_in_order)
    left = {query: one for query, one in asked.items() if query not in found}
    found |= _shares(numbered.filter("of_file"), left, printed_share) if left else {}
    places, of_file = hits["path", "anchor"].rows(), hits["of_file"].to_list()
    for query, shares in found.items():
        if not asked[query]["about_secondary"]:  # tests repeat what the source says
            shares = [one for one in shares if not of_tests(*places[one[1]])] or shares
        best = max(shares)[0]
        rows = [row for share, row in shares if share == best]
        for row in rows if len(rows) <= FEW else ():
            is_long = len(" ".join(asked[query]["literal"]).split()) >= LONG
            value[row] = best * BEHIND if is_long and not of_file[row] else best
    return value


def _shares(
    numbered: pl.DataFrame, asked: Questions, share_of: Callable[[Sequence[str], str], float]
) -> dict[int, list[tuple[float, int]]]:
    """The shares above 0 of ``numbered`` hits, and their rows, by query."""
    found = defaultdict[int, list[tuple[float, int]]](list)
    for row, query, text in numbered["row", "query_id", "text"].iter_rows():
        if query in asked and (share := share_of(asked[query]["literal"], text)):
            found[query].append((share, row))
    return dict(found)


def printed_share(parts: Sequence[str], text: str) -> float:
    """The share of the words of ``parts`` that a literal of ``text`` has, with values in its holes.

    0 where it has other words too: a log surrounds what a program prints, and changes none of it.

    >>> line = literal_parts(["WARN: Failed to requeue 7 jobs: Connection refused - connect(2)"])
    >>> printed_share(line, 'warn("Failed to requeue #{jobs.size} jobs: #{ex.message}")')
    0.6666666666666666
    >>> printed_share(line, 'warn("Failed to drop #{jobs.size} jobs: #{ex.message}")')
    0.0
    """
    line = f" {' | '.join(parts)} "
    messages = map("".join, _LITERAL.findall(text))
    most = max((_printed(one, line) for one in messages if " " in one.strip()), default=0)
    share = most / len(line.replace("|", " ").split())
    return share if share >= SURROUNDED else 0.0


def _printed(message: str, line: str) -> int:
    """How many words ``message`` has, if ``line`` has all of them in their order; else 0."""
    if sum(f" {word} " in line for word in words_in_line(message).split()) < SHORTEST - 1:
        return 0  # the usual case, and soon known
    at, words = 0, list[str]()
    for part in literal_parts([_HOLE.sub("0", message)]):
        at = line.find(f" {part} ", at)
        if at < 0:
            return 0
        at += len(part) + 1
        words += part.split()
    telling = sum(word not in STOP_WORDS for word in words)
    return len(words) if telling and len(words) + telling > SHORTEST else 0


def share_in_order(parts: Sequence[str], text: str) -> float:
    """The share of the words of ``parts`` that ``text`` has in runs; 0 where that says nothing.

    >>> share_in_order(["recipe", "has circular dependency"], "recipe {} has circular dependency")
    1.0
    >>> share_in_order(["recipe", "has circular dependency"], "a recipe has a dependency")
    0.0
    """
    whole = [part.split() for part in parts]
    every, lower = [word for words in whole for word in words], text.lower()
    if sum(word in lower for word in every) < SHARE * len(every):
        return 0.0
    line = f" {words_in_line(text)} "
    runs = [run for words in whole for run in _runs(words, line)]
    matched = [word for run in runs for word in run]
    telling = sum(word not in STOP_WORDS for word in matched)
    longest = max(map(len, runs), default=0)
    if longest < SHORTEST or not telling or (telling < SHORTEST and len(matched) < LONG):
        return 0.0
    return share if (share := len(matched) / len(every)) >= SHARE else 0.0


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
