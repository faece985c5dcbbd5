"""The numbers and dates by which a question may ask for a version, and what its words say of them.

A wrong version hides the right answer. So only a question or a request names one ("What does it
return in 3.5.3?"), no statement ("fixed a regression in 8.0.0"), no code, no number with a unit or
after ``since``, and no change that is planned or merely dated ("will be removed in 0.18"). Which
of the numbers are versions is looked up by :mod:`operators.versions.asked_versions`. A date is
never filled in from today.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from operators.foundation.date_text import MONTH_NAMES, DateRefused, parse_date

LONGEST = 2_000
"""So many characters of a text are read: a longer question is a report."""
MOST_WORDS = 80
KEYWORDS = 8
"""A text of so few words and without a verb is a search ("spark 3.5.3 release notes")."""


@dataclass(frozen=True)
class Mention:
    """A number that may be a version, or a date."""

    written: str  # in the text, without a leading ``v``; a date with its preposition
    marked: bool = False  # as a version: "version 3.5.3", "v5.3"
    governor: str = ""  # the preposition that it depends on: "in 3.5.3"
    product: str = ""  # the words before it that may say whose version it is
    before: bool = False  # the versions before it are asked for
    until: datetime | None = None  # of a date, the first moment that is too late

    @property
    def named(self) -> bool:
        """Whether a name stands before the number ("Spark 3.5.3")."""
        return self.product.rpartition(" ")[2][:1].isupper()


def words(listed: str) -> frozenset[str]:
    """The words of ``listed``, which white space separates."""
    return frozenset(listed.split())


_FLAGS = re.IGNORECASE | re.VERBOSE
_STAGE = r"(?:[-.]?(?:rc|alpha|beta|dev|pre|a|b)[-.]?[0-9]{1,3})"
_NUMBER = rf"[0-9]{{1,4}}(?:\.[0-9]{{1,5}}){{0,4}}(?:\.x)?{_STAGE}?"
_VERSION = re.compile(
    rf"""(?<![\w.+\-/$\#@:=<>~^%&*|\\])(?<![<>=~^]\s)
    (?P<mark>(?:versions?|ver\.?|releases?)\s+v?|v\.?\s?)?
    (?P<v>{_NUMBER})(?![\w%°+=*/\\]|\.[0-9]|[-:]\w)
    (?!\s*(?:(?:and|or)\s+(?:new|lat|high|up|abov|old|low|less|earli|below|great)|onwards?\b))
    (?!\s*(?:[kmgt]?i?b|[munµ]?s|(?:milli)?sec(?:ond)?s?|minutes?|hours?|days?|weeks?|months?
    |years?|times|percent|bytes?|bits?|pixels?|px|[kmg]?hz|k?vb|sats?|btc|usd|eur|items?|rows?|x)\b)
    """,
    _FLAGS,
)
_JOINED = re.compile(r"\s*(?:,|,?\s*(?:and|or|to|vs\.?|versus|&)(?:\s+the)?)\s*", _FLAGS)
_CLAUSE_END = re.compile(r"[,;:]\s")
_TO_ANOTHER = re.compile(r"\s+to\s+(?:\S+\s+){0,3}?v?[0-9]", _FLAGS)
_CODE = re.compile(
    rf"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`(?!v?{_NUMBER}`)[^`\n]*`", re.DOTALL | re.IGNORECASE
)
_SENTENCE = re.compile(r"[^.?!\n]+(?:[.?!](?!\s|\Z|[\"')\]])[^.?!\n]*)*[.?!]*")
_WORD = re.compile(r"[^\s,;()\[\]\"“”`]+")

_ASKS = words(
    """what which how why when where who whose is are was were does do did can could should would
    will has have had may"""
)
_REQUESTS = words(
    """show tell explain describe list give find compare summarize summarise name look get
    provide help define document need want please"""
)
_STATES = re.compile(
    r"""(?:re)?(?:fix|add|remov|deprecat|introduc|chang|updat|bump|drop|support|prepar|revert|mak
    |use|allow|improv|mov|renam|clean|refactor|delay|releas)\w*:?""",
    _FLAGS,
)
_USES = re.compile(
    r"\b(?:i|we)(?:\s+am|['’]m|\s+are|['’]re)?\s+(?:\w+\s+)?(?:on|us\w+|run\w*)\b", _FLAGS
)

_LATER = words("since after past beyond than above over starting newer later")
_EARLIER = words("before pre predating preceding")
_PREPOSITIONS = words(
    """in for of on under with at using running within inside until through by to from between
    run use"""
)
_GOVERNORS = _LATER | _EARLIER | _PREPOSITIONS
_CHANGED = re.compile(
    r"""(?:add|introduc|deprecat|remov|chang|fix|releas|shipp|regress|renam|dropp|land|replac
    |creat)ed|removal|broken|broke|new""",
    _FLAGS,
)
_MOVES = re.compile(r"(?:upgrad|updat|mov|migrat|switch|bump|port|go|jump|chang)\w*", _FLAGS)
_PLANNED = re.compile(
    r"\b(?:(?:will|to|shall)\s+(?:\w+\s+)?be|scheduled|planned|slated|marked|due|targeted)\b",
    _FLAGS,
)
_TO_BE = words("was were is are been got get be being")
_RELATIVE = words("which that it they this")
_MEASURES = words("size length width value factor ratio probability score")
_PARTS = words(
    """section chapter figure fig table step part appendix page rule item level point equation eq
    line port issue pr bug ticket bip rfc cve iso ieee pep jep id no nr"""
)
"""Before a number they say that it is no version."""
_ARTICLES = words("the a an its their this that our my your latest newest older")
_BOUNDS = _GOVERNORS | _ASKS | _REQUESTS | words("and or if not")
"""What one of these words is about ends before the next."""

_DATE = re.compile(
    rf"""\b(?P<when>before|prior\s+to|until|till|up\s+to|as\s+of|as\s+at|in|during|by|at)\s+
    (?:the\s+)?(?:(?P<edge>start|beginning|end)\s+of\s+)?(?:the\s+year\s+)?
    (?P<date>(?:19|20)[0-9]{{2}}-(?P<m>[0-9]{{2}})(?P<d>-[0-9]{{2}})?
    |(?:(?P<d1>[0-9]{{1,2}}(?:st|nd|rd|th)?\s+)?(?P<month>{MONTH_NAMES})\.?\s+
    (?P<d2>[0-9]{{1,2}}(?:st|nd|rd|th)?,?\s+)?)?(?:19|20)[0-9]{{2}})
    (?![\w%]|[-./:]\w)""",
    _FLAGS,
)
_AFTER_A_YEAR = words(
    """and or but nor so if because as than then when while where who what which how why that this
    the a an i we you they it he she there to for from with without on in at of by about before
    after during since until was were is are has have had did do does could would should compared
    versus vs vs. already still"""
)
"""Words that may follow a year; another word is what is counted: "in 2000 requests"."""


def mentions(text: str) -> list[Mention]:
    """The dates and the possible versions that ``text`` asks for, each once.

    >>> [m.written for m in mentions("What does it return in Spark 3.5.3, and in v3.3?")]
    ['3.5.3', '3.3']
    >>> mentions("Fixed a regression in 8.0.0.")
    []
    """
    if not any(character.isdigit() for character in text[:LONGEST]):
        return []
    found: list[Mention] = []
    for sentence in asking(text):
        for match in _DATE.finditer(sentence):
            if (until := _until(match)) is not None:
                found.append(Mention(" ".join(match[0].split()), until=until))
                gap = " " * len(match[0])
                sentence = sentence[: match.start()] + gap + sentence[match.end() :]
        found += _numbers(sentence)
    return list(dict.fromkeys(found))


def asking(text: str) -> Iterator[str]:
    """The sentences that ask; beside such, also those that say what the writer uses.

    They lack code. A long text is a report and asks nothing.
    """
    prose = _CODE.sub("§", text[:LONGEST])
    length = len(prose.split())
    if length > MOST_WORDS:
        return
    sentences = list(filter(None, map(str.strip, _SENTENCE.findall(prose))))
    asks = [_asks(sentence) for sentence in sentences]
    if len(sentences) == 1 and not asks[0] and length <= KEYWORDS:
        asks = [not sentences[0].endswith((".", "!")) and not _STATES.match(sentences[0])]
    for sentence, does in zip(sentences, asks, strict=True):
        if does or (any(asks) and _USES.search(sentence)):
            yield sentence


def _asks(sentence: str) -> bool:
    first = re.match(r"\W*([A-Za-z]+)", sentence)
    word = first[1].lower() if first else ""
    if sentence.endswith("?") or word in _REQUESTS:
        return True
    return word in _ASKS and not sentence.endswith((".", "!", ":"))


def _numbers(sentence: str) -> list[Mention]:
    found: list[Mention] = []
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
            found.append(mention)
        last, end = mention, match.end()
    return found


def _read(match: re.Match[str]) -> Mention | None:
    """What the words before a number say of it; None: that nobody asks for it as a version."""
    before = _CLAUSE_END.split(match.string[: match.start()])[-1]
    marked = match["mark"] is not None
    written = [word.strip("'’:.") for word in _WORD.findall(before)][-7:]
    lower = ["", *(word.lower() for word in written)]
    at = max(n for n, word in enumerate(lower) if not n or word in _BOUNDS)
    governor = lower[at] if lower[at] in _GOVERNORS and len(lower) - at <= 5 else ""
    led = lower[1:at] if governor else []
    previous = led[-1] if led else ""
    earlier = governor in _EARLIER or (previous, governor) == ("prior", "to")
    told = (
        governor in _LATER
        or (governor == "from" and not _TO_ANOTHER.match(match.string, match.end()))
        or (governor == "to" and _MOVES.fullmatch(previous))
        or (not earlier and _CHANGED.fullmatch(previous) and not _asked_about(led[:-1]))
        or _PLANNED.search(before)
    )
    counts = not marked and (lower[-1].removesuffix("s") in _PARTS or previous in _MEASURES)
    if told or counts:
        return None
    between = written[at:] if governor else written[at:][-2:]
    product = " ".join(word for word in between if word.lower() not in _ARTICLES)
    return Mention(match["v"], marked, governor, product, earlier)


def _asked_about(words_before: list[str]) -> bool:
    """Whether the change behind these words is what is asked about: "was it added in ..."."""
    if words_before[-1:] in (["what"], ["which"], ["who"]):
        return True
    to_be = [n for n, word in enumerate(words_before) if word in _TO_BE]
    return bool(to_be) and _RELATIVE.isdisjoint(words_before[to_be[-1] - 1 : to_be[-1]])


def _until(match: re.Match[str]) -> datetime | None:
    """The first moment that is too late for what ``match`` says; None: it is no date."""
    when, by_day = match["when"].lower(), match["d"] or match["d1"] or match["d2"]
    by_month = match["month"] or match["m"]
    if not by_month and not match["edge"]:
        follows = re.match(r"\s+([^\W\d_]\S*)", match.string[match.end() :])
        word = follows[1].rstrip(",;:?!)").lower() if follows else ""
        if when in ("at", "by") or (word and word not in _AFTER_A_YEAR):
            return None
    try:
        begin = parse_date(match["date"])
    except DateRefused:
        return None
    early = when.startswith(("before", "by", "until", "till", "prior"))
    if match["edge"]:
        early = match["edge"].lower() != "end"
    if early:
        return begin
    if by_day:
        return begin + timedelta(days=1)
    if by_month:
        return (begin + timedelta(days=31)).replace(day=1)
    return begin.replace(year=begin.year + 1)
