"""The numbers and dates in a query that may name a version, with their context.

A wrong version hides the right answer. So only a question or a request names one ("What does it
return in 3.5.3?"), no statement ("fixed a regression in 8.0.0"), no code, no number with a unit or
after ``since``, and no change that is planned or merely dated ("will be removed in 0.18"). Which
of the numbers are versions is looked up by :mod:`operators.versions.asked_versions`. A date is
never completed from today's date.
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime

from operators.versions.asking import ASKS, LONGEST, NUMBER, REQUESTS, questions_in, words
from operators.versions.named_date import named_dates


@dataclass(frozen=True)
class Mention:
    """A number that may be a version, or a date."""

    written: str  # in the text, without a leading ``v``; a date with its preposition
    marked: bool = False  # as a version: "version 3.5.3", "v5.3"
    governor: str = ""  # the preposition that it depends on: "in 3.5.3"
    product: str = ""  # the words before it that may say whose version it is
    before: bool = False  # the versions before it are meant
    until: datetime | None = None  # of a date, the first moment after it

    @property
    def named(self) -> bool:
        """Whether a name precedes the number ("Spark 3.5.3")."""
        return self.product.rpartition(" ")[2][:1].isupper()


_FLAGS = re.IGNORECASE | re.VERBOSE
_VERSION = re.compile(
    rf"""(?<![\w.+\-/$\#@:=<>~^%&*|\\§])(?<![<>=~^]\s)
    (?P<mark>(?:versions?|ver\.?|releases?)\s+v?|v\.?\s?)?
    (?P<v>{NUMBER})(?![\w+=*/\\]|\.[0-9]|[-:]\w|\s*[%°])
    (?!\s*(?:(?:and|or)\s+(?:new|lat|high|up|abov|old|low|less|earli|below|great)|onwards?\b))
    (?!\s*(?:[kmgt]?i?b|[munµ]?s|(?:milli)?sec(?:ond)?s?|minutes?|hours?|days?|weeks?|months?
    |years?|degrees?|times|percent|bytes?|bits?|pixels?|px
    |[kmg]?hz|k?vb|sats?|btc|usd|eur|items?|rows?|x)\b)
    """,
    _FLAGS,
)
_JOINED = re.compile(r"\s*(?:,|,?\s*(?:and|or|to|vs\.?|versus|&)(?:\s+the)?)\s*", _FLAGS)
_CLAUSE_END = re.compile(r"[,;:]\s")
_TO_ANOTHER = re.compile(r"\s+to\s+(?:\S+\s+){0,3}?v?[0-9]", _FLAGS)
_WORD = re.compile(r"[^\s,;()\[\]\"“”`]+")

_LATER = words("since after past beyond than above over starting newer later")
_EARLIER = words("before pre predating preceding")
_PREPOSITIONS = words(
    """in for of on under with at using running within inside until through to from between
    run runs use uses"""
)
_GOVERNORS = _LATER | _EARLIER | _PREPOSITIONS
_CHANGED = re.compile(
    r"""(?:add|introduc|deprecat|remov|chang|fix|releas|shipp|regress|renam|dropp|land|replac
    |creat)ed|removal|broken|broke""",
    _FLAGS,
)
_MOVES = re.compile(
    r"""\b(?:(?:upgrad|updat|mov|migrat|switch|bump|port)\w*(?:\s(?!from|in|compared)\S+){0,3}
    |(?:go|jump|chang|set|rais|reduc|increas|equal|clos|round)\w*)$""",
    _FLAGS,
)
_PLANNED = re.compile(
    r"\b(?:(?:will|to|shall)\s+(?:\w+\s+)?be|scheduled|planned|slated|marked|due|targeted)\b",
    _FLAGS,
)
_TO_BE = words("was were is are been got get be being")
_RELATIVE = words("which that it they this")
_MEASURES = words("size length width value factor ratio probability score rate weight limit")
_PARTS = words(
    """section clause paragraph chapter figure fig table step part appendix page rule item level
    point equation line port issue pr bug ticket bip rfc cve iso ieee pep jep id no nr"""
)
"""Before a number, these words show that it is no version."""
_ARTICLES = words("the a an its their this that our my your latest newest older")
_BOUNDS = _GOVERNORS | ASKS | REQUESTS | words("and or if not")
"""The phrase of one of these words ends before the next."""


def mentions(text: str) -> list[Mention]:
    """The dates and the possible versions in ``text``, each once.

    >>> [m.written for m in mentions("What does it return in Spark 3.5.3, and in v3.3?")]
    ['3.5.3', '3.3']
    >>> mentions("Fixed a regression in 8.0.0.")
    []
    """
    if not any(character.isdigit() for character in text[:LONGEST]):
        return []
    numbered: list[Mention] = []
    for sentence in questions_in(text):
        numbers = sentence
        for match, until in named_dates(sentence):
            numbered.append(Mention(" ".join(match[0].split()), until=until))
            gap = " " * len(match[0])
            numbers = numbers[: match.start()] + gap + numbers[match.end() :]
        numbered += _numbers(numbers)
    return list(dict.fromkeys(numbered))


def _numbers(sentence: str) -> list[Mention]:
    kept: list[Mention] = []
    last: Mention | None = None
    end = 0
    for match in _VERSION.finditer(sentence):
        written, marked = match["v"], match["mark"] is not None
        if not marked and end and _JOINED.fullmatch(sentence, end, match.start()):
            is_one = last and ("." in written) == ("." in last.written)
            mention = replace(last, written=written) if last and is_one else None
        else:
            mention = _read(match)
        if mention and ("." in written or mention.marked or mention.named):
            kept.append(mention)
        last, end = mention, match.end()
    return kept


def _read(match: re.Match[str]) -> Mention | None:
    """The meaning of a number from the words before it; None: it is not requested as a version."""
    before = _CLAUSE_END.split(match.string[: match.start()])[-1]
    marked = match["mark"] is not None
    written = [word.strip("'’:.") for word in _WORD.findall(before)][-7:]
    lower = ["", *(word.lower() for word in written)]
    at = max(n for n, word in enumerate(lower) if not n or word in _BOUNDS)
    governor = lower[at] if lower[at] in _GOVERNORS and len(lower) - at <= 5 else ""
    led = lower[1:at] if governor else []
    previous = led[-1] if led else ""
    earlier = governor in _EARLIER or (previous, governor) == ("prior", "to")
    excluded = (
        governor in _LATER
        or (governor == "from" and not _TO_ANOTHER.match(match.string, match.end()))
        or (governor == "to" and _MOVES.search(" ".join(led)))
        or (not earlier and _CHANGED.fullmatch(previous) and not _about_change(led[:-1]))
        or _PLANNED.search(before)
    )
    counts = not excluded and (lower[-1].removesuffix("s") in _PARTS or previous in _MEASURES)
    if excluded or counts:
        return None
    between = written[at:] if governor else written[at:][-2:]
    product = " ".join(word for word in between if word.lower() not in _ARTICLES)
    return Mention(match["v"], marked, governor, product, earlier)


def _about_change(words_before: list[str]) -> bool:
    """Whether the question is about the change behind these words: "was it added in ..."."""
    if words_before[-1:] in (["what"], ["which"], ["who"]):
        return True
    to_be = [n for n, word in enumerate(words_before) if word in _TO_BE]
    return bool(to_be) and _RELATIVE.isdisjoint(words_before[to_be[-1] - 1 : to_be[-1]])
