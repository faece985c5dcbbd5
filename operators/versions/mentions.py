"""The versions and dates that a question names, by its wording alone.

A wrong version hides the right answer. So only a question or a request names one ("What does it
return in 3.5.3?"), no statement ("fixed a regression in 8.0.0"), no code, URL, path or comparison,
no change that is planned or merely dated ("will be removed in 0.18"), and no number after ``since``
or with a unit. :mod:`operators.versions.asked_versions` says which of them exist. A date is never
filled in from today.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple

from operators.foundation.date_text import MONTH_NAMES, MONTHS

LONGEST = 2_000
"""So many characters of a text are read: a longer question is a report."""
MOST_WORDS = 80
KEYWORDS = 8
"""A text of so few words and without a verb is a search ("spark 3.5.3 release notes")."""

Strength = Literal["marked", "product", "plain", "bare"]


@dataclass(frozen=True)
class Mention:
    """A version or a date that a question names.

    ``strength`` says how surely it is a version: ``marked`` as one ("version 3.5.3", "v5.3"), after
    a name ("Spark 3.5.3"), ``plain`` after a preposition ("in 3.5.3"), or ``bare``.
    """

    written: str  # in the text, without a leading ``v``; a date with its preposition
    strength: Strength = "bare"
    before: bool = False  # the versions before it are asked for
    product: str | None = None  # the word before it, where that is a name
    until: datetime | None = None  # of a date, the first moment that is too late


def words(listed: str) -> frozenset[str]:
    """The words of ``listed``, which white space separates."""
    return frozenset(listed.split())


_FLAGS = re.IGNORECASE
_STAGE = r"(?:[-.]?(?:rc|alpha|beta|dev|pre|a|b)[-.]?[0-9]{1,3})"
_NUMBER = rf"[0-9]{{1,4}}(?:\.[0-9]{{1,5}}){{0,4}}(?:\.x)?{_STAGE}?"
_VERSION = re.compile(
    r"(?<![\w.+\-/$#@:=<>~^%&*|\\])(?P<mark>(?:versions?|ver\.?|releases?)\s+v?|v\.?\s?)?"
    rf"(?P<v>{_NUMBER})(?![\w%°+=*/\\]|\.[0-9]|[-:][\w])",
    _FLAGS,
)
_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`", re.DOTALL)
_ONLY_VERSION = re.compile(rf"`v?{_NUMBER}`", _FLAGS)
_NO_WORD = re.compile(r"\S{81,}")
# addresses, paths, options and assignments, comparisons
_NO_PROSE = re.compile(
    r"\w+://\S+|\S*[/\\]\S*[/\\]\S*|\S*\w[/\\]\w\S*|\S*@\S+|(?<!\S)--?[A-Za-z]\S*|\S*[<>=~!]=?\s*v?[0-9]\S*"
)
_SENTENCE = re.compile(r"[^.?!\n]+(?:[.?!](?!\s|\Z|[\"')\]])[^.?!\n]*)*[.?!]*")
_WORD = re.compile(r"[^\s,;()\[\]\"“”]+")

_ASKS = words(
    """what which how why when where who whose is are was were does do did can could should would
    will has have had may"""
)
_REQUESTS = words(
    """show tell explain describe list give find compare summarize summarise name look get
    provide help define document need want please"""
)
_STATES = re.compile(
    r"(?:re)?(?:fix|add|remov|deprecat|introduc|chang|updat|bump|drop|support|prepar|revert|mak|use"
    r"|allow|improv|mov|renam|clean|refactor|delay|releas)\w*:?",
    _FLAGS,
)
_USES = re.compile(
    r"\b(?:i|we)(?:\s+am|'m|’m|\s+are|'re|’re)?\s+(?:\w+\s+)?(?:on|us\w+|run\w*)\b", _FLAGS
)

_AT = words("in for of on under with at using running within inside until through by")
_JOINS = words("and or to vs vs. versus & ,")
_LATER = words("since after past beyond than above over starting newer later")
_BEFORE = words("before pre predating preceding")
_GOVERNORS = _AT | _LATER | _BEFORE | words("to from between")
_MOVES = re.compile(r"(?:upgrad|updat|mov|migrat|switch|bump|port|go|jump|chang)\w*", _FLAGS)
_CHANGED = re.compile(
    r"(?:add|introduc|deprecat|remov|chang|fix|releas|ship|regress|renam|drop|land|replac|creat|break|broke)\w*",
    _FLAGS,
)
_TO_BE = words("was were is are been got get be being it")
_RELATIVE = words("which that it they this")
_PLANNED = re.compile(
    r"\b(?:will|to|shall)\s+(?:\w+\s+)?be\b|\b(?:scheduled|planned|slated|marked|due|targeted)\b",
    _FLAGS,
)
_AFTERWARDS = re.compile(
    r"\s*(?:\+|(?:and|or)\s+(?:new|lat|high|up|abov|old|low|less|earli|below|great)\w*|onwards?\b"
    r"|[kmg]?i?b\b|[munµ]?s\b|secs?\b|seconds?|minutes?|hours?|days?|weeks?|months?|years?|times\b"
    r"|percent|bytes?|bits?|pixels?|px\b|[kmg]?hz\b|kvb\b|vb\b|sat|btc\b|usd\b|eur\b|items?|rows?|x\b)",
    _FLAGS,
)
_NO_PRODUCT = words(
    """section chapter figure fig table step part appendix page rule item level point equation eq
    line lines port issue pr bug ticket bip rfc cve iso ieee pep jep ip utf id number no nr
    least most about around approximately roughly exactly only size length width value factor
    ratio probability score top first last next"""
)
"""Before a number they say that it is no version."""
_NO_NAME = _ASKS | _REQUESTS
_NO_NAME |= words("and or the a an its their this that our my your latest newest older")

_DATE = re.compile(
    rf"\b(?P<when>before|prior\s+to|until|till|up\s+to|as\s+of|as\s+at|in|during|by|at)\s+"
    rf"(?P<date>(?:the\s+)?(?:(?P<edge>start|beginning|end)\s+of\s+)?(?:the\s+year\s+)?"
    rf"(?:(?:(?P<day1>[0-9]{{1,2}})(?:st|nd|rd|th)?\s+)?(?P<month>{MONTH_NAMES})\.?\s+"
    rf"(?:(?P<day2>[0-9]{{1,2}})(?:st|nd|rd|th)?,?\s+)?)?"
    rf"(?P<year>(?:19|20)[0-9]{{2}})(?(month)|(?:-(?P<m>[0-9]{{2}})(?:-(?P<d>[0-9]{{2}}))?)?))"
    rf"(?![\w%]|[-./:][\w])",
    _FLAGS,
)

_AFTER_A_YEAR = words(
    """and or but nor so if because as than then when while where who what which how why that this
    the a an i we you they it he she there to for from with without on in at of by about before
    after during since until was were is are has have had did do does could would should compared
    versus vs vs. already still"""
)
"""Words that may follow a year; another word is what is counted: "in 2000 requests"."""


class _Place(NamedTuple):
    """What stands around a number of a sentence."""

    before: str
    after: str
    marked: bool  # as a version, by a word or a ``v``
    last: str  # the word before it, in lower case as those below
    between: list[str]  # words before it that may name a product, as written
    governor: str  # the preposition that it depends on; empty: none
    asks_before: bool  # that says: the versions before it
    previous: str  # the word before that
    earlier: list[str]  # and those before both


def _asked_about(earlier: list[str]) -> bool:
    """Whether the change after ``earlier`` is what the question is about: "was it added in ..."."""
    to_be = [n for n, word in enumerate(earlier) if word in _TO_BE]
    if earlier[-1:] in (["what"], ["which"], ["who"]):
        return True
    return bool(to_be) and _RELATIVE.isdisjoint(earlier[to_be[-1] - 1 : to_be[-1]])


Rules = dict[str, Callable[[_Place], object]]
"""Rules, each under a question that it alone decides."""

NO_VERSION: Rules = {
    "What will be removed in v0.18?": lambda at: _PLANNED.search(re.split("[,;:]", at.before)[-1]),
    "Does it need 3.9 or newer?": lambda at: _AFTERWARDS.match(at.after),
    "What is in section 3.3?": lambda at: at.last in _NO_PRODUCT and not at.marked,
}
"""A number that one of these takes is no version."""

NOT_ASKED: Rules = {
    "What is it since 0.21?": lambda at: at.governor in _LATER,
    "What is the size of 3.3?": lambda at: at.previous in _NO_PRODUCT,
    "How do I migrate to 5.3?": lambda at: at.governor == "to" and _MOVES.fullmatch(at.previous),
    "Why does the flag added in 0.20 fail?": lambda at: (
        not at.asks_before and _CHANGED.fullmatch(at.previous) and not _asked_about(at.earlier)
    ),
}
"""A version that one of these takes is only told of: the question asks for what holds now."""


def mentions(text: str) -> list[Mention]:
    """The versions and dates that ``text`` asks for, in its order, each once.

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
        found += _versions(sentence)
    return list(dict.fromkeys(found))


def asking(text: str) -> Iterator[str]:
    """The sentences that ask; beside such, also those that say what the writer uses.

    They lack code, addresses and paths. A long text is a report and asks nothing.
    """
    prose = _NO_PROSE.sub(_blank, _NO_WORD.sub(_blank, _CODE.sub(_blank, text[:LONGEST])))
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


def _versions(sentence: str) -> list[Mention]:
    found: list[Mention] = []
    moving: list[Mention] = []  # from one version, until it says to which
    end = 0
    for match in _VERSION.finditer(sentence):
        mention = Mention(match["v"], "marked" if match["mark"] else "bare")
        at = _place(match)
        joined = at.last in _JOINS or at.before.rstrip()[-1:] in ("", ",")
        near = len(_WORD.findall(sentence[end : match.start()])) <= 3
        placed: Mention | None
        if any(rule(at) for rule in NO_VERSION.values()):
            continue
        if at.last == "from":
            moving = [mention]
            continue
        if moving and at.last == "to":
            found, moving, placed = found + moving, [], _named(mention, None)
        elif found and joined and near and at.last not in _LATER:
            strength = found[-1].strength if mention.strength == "bare" else mention.strength
            placed = replace(mention, strength=strength)
        else:
            placed = _placed(mention, at)
        if placed:
            found, end = [*found, placed], match.end()
    return [
        mention  # a whole number behind some word is none
        for mention in found
        if "." in mention.written
        or mention.strength == "marked"
        or (mention.product or "")[:1].isupper()
    ]


def _place(match: re.Match[str]) -> _Place:
    before, after = match.string[: match.start()], match.string[match.end() :]
    words = [word.strip("'’:.") for word in _WORD.findall(before)][-7:]
    lower = [word.lower() for word in words]
    governors = [n for n, word in enumerate(lower) if word in _GOVERNORS and len(lower) - n <= 5]
    at = governors[-1] if governors else len(lower) - 2
    governor, led = lower[at] if governors else "", ["", *lower[: max(at, 0)]]
    backwards = governor in _BEFORE or (led[-1], governor) == ("prior", "to")
    marked, last = match["mark"] is not None, ["", *lower][-1]
    between, earlier = words[max(at + 1, 0) :], led[1:-1]
    return _Place(before, after, marked, last, between, governor, backwards, led[-1], earlier)


def _placed(mention: Mention, at: _Place) -> Mention | None:
    """``mention`` with what the words before it say; None: they say that nobody asks for it."""
    product = next(filter(_names, reversed(at.between)), None)
    if not at.governor:
        return _named(mention, product) if product else mention
    if any(rule(at) for rule in NOT_ASKED.values()):
        return None
    return replace(_named(mention, product), before=at.asks_before)


def _names(word: str) -> bool:
    lower = word.lower()
    return lower not in _NO_NAME and re.search("[a-z]", lower) is not None


def _named(mention: Mention, product: str | None) -> Mention:
    if mention.strength == "marked":
        return replace(mention, product=product)
    return replace(mention, product=product, strength="product" if product else "plain")


def _until(match: re.Match[str]) -> datetime | None:
    """The first moment that is too late for what ``match`` says; None: it is no date."""
    when = match["when"].lower()
    if match["date"] == match["year"]:
        follows = re.match(r"\s+([^\W\d_]\S*)", match.string[match.end() :])
        word = follows[1].rstrip(",;:?!)").lower() if follows else ""
        if when in ("at", "by") or (word and word not in _AFTER_A_YEAR):
            return None
    month = MONTHS[match["month"].lower()] if match["month"] else int(match["m"] or 0)
    day = int(match["d"] or match["day1"] or match["day2"] or 0)
    early = when.startswith(("before", "by", "until", "till", "prior"))
    if match["edge"]:
        early = match["edge"].lower() != "end"
    try:
        begin = datetime(int(match["year"]), month or 1, day or 1, tzinfo=UTC)
    except ValueError:
        return None
    if early or day:
        return begin if early else begin + timedelta(days=1)
    month = month or 12
    return datetime(begin.year + month // 12, month % 12 + 1, 1, tzinfo=UTC)


def _blank(match: re.Match[str]) -> str:
    """As many characters without a word; of code that is a version alone only its marks go."""
    if _ONLY_VERSION.fullmatch(match[0]):
        return f" {match[0][1:-1]} "
    return "§" + " " * (len(match[0]) - 1)
