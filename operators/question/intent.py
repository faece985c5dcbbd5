"""What a question asks for, read from its text once: a frame of one row a question.

What a question means is read here alone: every rule reads columns. A person asks for the node
``intent`` to see what was understood, and overrides it to say what was meant.

The regular expressions read forms that questions have: names as code has them, text in quotation
marks, lines of error messages, places that tools print (:mod:`operators.ranking.named_places`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import polars as pl

from operators.foundation import tokenizer
from operators.foundation.tokenizer import STOP_WORDS, is_name, name_parts, stem, vocabulary
from operators.frames import INTENT
from operators.question.ask import in_utc
from operators.ranking.named_places import LONGEST_OF_BARE, Place, named_places
from operators.versions.introduced_in import origin_asked
from operators.versions.mentions import mentions
from operators.versions.named_date import limits_said

MOST_NAMES = 16
"""The most names of one question whose definitions are looked up."""

MOST_PHRASES = 8
"""The most phrases of one question."""

LONGEST_PHRASE = 300
"""The longest phrase, in characters."""

FEWEST_WORDS = 3
"""The fewest words of an error message; shorter ones are too common."""

JOINED = r"(?:::|\\|->|\.)"
"""The regular expression of what joins the parts of a qualified name."""

LOOKED_UP = 2
"""A question of up to so many words is an exact lookup."""

_SHORT = 150  # characters of a question about uses or tests
_TITLE = 200  # characters of the first line of a long question
_LONG = 400

_WORD = re.compile(r"[^\W\d]\w*")
_BARE = re.compile(
    rf"\s*(?:[^\W\d]\w*(?:{JOINED}[^\W\d]\w*)+|_\w*|[A-Za-z][A-Za-z0-9]*[A-Z_]\w*|[A-Z][A-Za-z0-9]*)\s*"
)
_NAME = re.compile(
    r"[A-Z][a-z][A-Za-z0-9]*[A-Z]\w*|[a-z][A-Za-z0-9]*[A-Z]\w+|_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+"
)
_MARKED = re.compile(r"`([^`\n]{1,80})`|\b([^\W\d]\w{0,60}(?:\.[^\W\d]\w{0,60}){1,8})")
_CALLED = re.compile(r"\b([^\W\d]\w{2,60})\(")
_CAPITALISED = re.compile(r"(?:^|(?<=[a-z,] ))[A-Z][a-z]\w+")
_SOUGHT = re.compile(
    r"\s*(?i:where is |what does |how (?:does|is) |explain )?(?:the )?"
    r"((?:class|def|fn|func|function|method|struct) )?`?"
    r"(?:\w+(?:\.|::|->))*([^\W\d]\w{2,})(\(\))?`?"
    r"(?: defined| implemented| do| mean| return| work)?\??\s*"
)
_ASKS_WHY = re.compile(
    r"\b(why|since\s+when|what\s+changed|when\s+(was|were|did))\b", re.IGNORECASE
)
_ABOUT_SECONDARY = re.compile(r"\b(?:tests?|testing|spec|examples?|fixtures?|benchmarks?)\b", re.I)
_ABOUT_USES = re.compile(
    r"\b(?:who|what)(?:\s+else)?\s+"
    r"(?:(?:call|use|import|invoke|reference|extend|implement)(?:s|d|ed)|depends\s+on)\b"
    r"|\bwhich(?:\s+\w+){1,2}\s+"
    r"(?:calls?|uses?|imports?|invokes?|references?|extends?|implements?|depends?\s+on)\b"
    r"|\b(?:where|when|how|why)\s+(?:is|are|was)\b.{0,80}?\b(?:called|used|imported|invoked)\b"
    r"|\bwhere\s+(?:do|does)\b.{0,80}?\b(?:call|use|import)\b"
    r"|^\W*(?:(?:all|are|find|list|show|the|what|where|which)\s+){0,4}"
    r"(?:callers?|usages?|uses|references|call\s+sites?|subclasses|implementations)\s+(?:of|to)\b",
    re.IGNORECASE,
)
_ABOUT_TESTS = re.compile(
    r"\b(?:which|what|where\s+are(?:\s+the)?)\s+tests?\b|\btests?\s+(?:of|for|that\s+cover)\b"
    r"|\bhow\s+(?:is|are)\b.{0,80}?\btested\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    rf'(?<!\S)(?:"([^"]{{1,{LONGEST_PHRASE}}})"|“([^”]{{1,{LONGEST_PHRASE}}})”)(?!\w)'
)
_PREFIX = re.compile(r"^(?:[\w.]*(?:error|exception|warning|panic|fatal)(?:\[\w+\])?:\s+)+", re.I)
_OPENS = re.compile(
    r"(?:attempted to|cannot|can't|could not|couldn't|failed to|got (?:an )?unexpected|invalid|"
    r"missing|no such|unable to|unexpected|unknown|unsupported|was not able) ",
    re.I,
)
_ASKS = re.compile(r"(?:how|what|when|where|which|who|why)\b", re.I)
_LABEL = re.compile(r"\A[\w.-]+:\s+")
_VALUE = re.compile(r"""(?<!\w)(?:"[^"]*"|'[^']*'|`[^`]*`|“[^”]*”)(?!\w)|\S*[0-9/]\S*""")
_SPACES = {n: " " for n in range(128) if not (chr(n).isalnum() or chr(n) == "_")}
_FILLED = re.compile(r":(?:\s|$)|(?<!\w)['\"`“{(]")


def intent(
    queries: pl.DataFrame, reduced_queries: pl.DataFrame, now: datetime | None = None
) -> pl.DataFrame:
    """``INTENT``: what each of ``queries`` asks for, one row a question, in order.

    Args:
        queries: columns ``QUERIES``; quotation marks, messages and "why" are read here.
        reduced_queries: the same questions as they are searched; names and places are read here.
        now: the time to which "last month" is relative; None: the present.
    """
    now = in_utc(now or datetime.now(UTC), "now")
    both = zip(
        queries["query_id"].to_list(),
        queries["texts"].to_list(),
        reduced_queries["texts"].to_list(),
        strict=True,
    )
    rows = [
        {"query_id": query, **_read(whole or (), searched or (), now)}
        for query, whole, searched in both
    ]
    return pl.DataFrame(rows, schema=INTENT)


def _read(whole: Sequence[str], searched: Sequence[str], now: datetime) -> Mapping[str, Any]:
    """The columns of one question: ``whole`` as asked, ``searched`` without pasted data."""
    text = "\n".join(searched)
    bare = _BARE.fullmatch(text) is not None
    title = text if len(text) < _LONG else text.partition("\n")[0][:_TITLE]
    tests = _ABOUT_TESTS.search(text) is not None
    own, parts = words_of(text)
    versions = [mention for one in whole for mention in mentions(one)]
    limits = list({one[1:]: one for text in whole if (one := limits_said(text, now))}.values())
    return {
        "name": re.split(JOINED, text.strip())[-1] if bare else None,
        "names": [] if bare else names_said(text),
        "capitalised": list(dict.fromkeys(_CAPITALISED.findall(text)))[:MOST_NAMES],
        "sought": sought(whole),
        "words": own,
        "word_parts": parts,
        "vocabulary": sorted(vocabulary("\n".join(whole))),
        "plain_words": plain_words(searched),
        "quoted": [phrase for one in searched for phrase in quoted(one)],
        "phrases": _phrases(whole),
        "literal": literal(whole),
        "places": [place._asdict() for one in whole for place in _places(one)],
        "versions": [asdict(mention) for mention in versions],
        "limits": limits[0]._asdict() if len(limits) == 1 else None,
        "origins": [words for words in map(origin_asked, whole) if words is not None],
        "asks_why": any(map(_ASKS_WHY.search, whole)),
        "asks_users": asks_for_users(text),
        "asks_tests": tests,
        "about_secondary": tests or _ABOUT_SECONDARY.search(title) is not None,
    }


def understood(asked: Mapping[str, Any]) -> list[str]:
    """What a row of ``INTENT`` says, in a few words each: what a person checks first.

    >>> asked = pl.DataFrame({"query_id": [0], "texts": [["Who calls `flush`?"]]})
    >>> understood(intent(asked, asked).row(0, named=True))
    ['names: flush', 'asks who uses its names']
    """
    lines = [f":{one['line']}" if one["line"] else "" for one in asked["places"]]
    places = [
        "/".join(one["path"]) + line or one["commit"] or one["key"] or f"#{one['number']}"
        for one, line in zip(asked["places"], lines, strict=True)
    ]
    lists = {
        "names": [asked["name"]] if asked["name"] else asked["names"],
        "phrases": asked["phrases"],
        "places": places,
        "versions": [one["written"] for one in asked["versions"]],
        "dates": [asked["limits"]["written"]] if asked["limits"] else [],
    }
    said = [f"{name}: {', '.join(of)}" for name, of in lists.items() if of]
    asks = {
        "asks_users": "asks who uses its names",
        "asks_why": "asks why or since when",
        "about_secondary": "is about tests or examples",
    }
    return said + [words for column, words in asks.items() if asked[column]]


def names_said(text: str) -> list[str]:
    """The code names in ``text``, the first ``MOST_NAMES``.

    A code name is written like one, or stands in back-ticks, between dots or before a parenthesis.

    >>> names_said("`retry` of app.Client is not called by send(), see max_size")
    ['max_size', 'retry', 'Client', 'send']
    """
    names = [word for word in _WORD.findall(text) if _NAME.fullmatch(word)]
    for marked in map("".join, _MARKED.findall(text)):
        names += [word for word in _WORD.findall(marked) if len(word) > 3]
    names += _CALLED.findall(text)
    return list(dict.fromkeys(names))[:MOST_NAMES]


def sought(texts: Sequence[str]) -> str | None:
    """The name that a question is, or asks where it is or what it does; None: it is no such one.

    >>> sought(["Where is flush_all defined?"]), sought(["What does the cache do?"])
    ('flush_all', None)
    """
    match = _SOUGHT.fullmatch(texts[0]) if len(texts) == 1 else None
    if not match:
        return None
    keyword, name, call = match.groups()  # a plain word alone is a topic, not a name
    return name if keyword or call or is_name(name) or name.lower() != name else None


def asks_for_users(text: str) -> bool:
    """Whether a short question is about the places that use something, or about its tests.

    >>> asks_for_users("Who calls `flush`?"), asks_for_users("Where is MAX_SIZE used?")
    (True, True)
    >>> asks_for_users("Which tests cover `flush`?")
    True
    >>> asks_for_users("How do I use `flush`?"), asks_for_users("What does `flush` call?")
    (False, False)
    """
    about = _ABOUT_USES.search(text) or _ABOUT_TESTS.search(text) if len(text) <= _SHORT else None
    return about is not None


def words_of(text: str) -> tuple[list[str], list[str]]:
    """The stems of the words of ``text``, and of the parts of its names, sorted.

    A text that is itself a name has none. Stop words and words of one or two letters do not count.

    >>> words_of("How are maxPages checked?")
    (['check', 'maxpag'], ['check', 'max', 'page'])
    """
    if _BARE.fullmatch(text):
        return [], []
    every = _WORD.findall(text)
    return _stems(every), _stems(part for word in every for part in name_parts(word))


def _stems(words: Iterable[str]) -> list[str]:
    lower = {word.lower() for word in words}
    return sorted({stem(word) for word in lower - STOP_WORDS if len(word) > 2})


def plain_words(texts: Sequence[str]) -> int | None:
    """The number of different words, without stop words; None: the words alone may decide.

    So it is in a lookup, which is a text of one or two words, or with a name as code has them. Of
    several texts the one with most words counts.

    >>> plain_words(["how to print without a new line"]), plain_words(["makeFile leak"])
    (4, None)
    """
    most = 0
    for text in texts:
        found = list(tokenizer.words(text))
        words = {word.lower() for word in found if word.lower() not in STOP_WORDS}
        if len(words) <= LOOKED_UP or any(map(is_name, found)):
            return None
        most = max(most, len(words))
    return most or None


def _places(text: str) -> list[Place]:
    """The places that ``text`` names; a long one, such as a report, only mentions those without
    a line."""
    places = named_places(text)
    return places if len(text) <= LONGEST_OF_BARE else [one for one in places if one.line]


def quoted(text: str) -> list[str]:
    """The phrases in double quotes; a ``text`` of several lines is pasted and has none.

    One word in quotes is a value in a sentence that does not ask: a message that is pasted.

    >>> quoted('where is "not a number" raised?')
    ['not a number']
    >>> quoted('task: Task "build" is not up-to-date')
    []
    """
    phrases = [] if "\n" in text.strip() else map("".join, _QUOTED.findall(text))
    told = not _asks(text) and len(words_in_line(_QUOTED.sub("", text)).split()) >= FEWEST_WORDS
    return [
        plain
        for plain in map(flat, phrases)
        if re.search(r"\w", plain) and not (told and len(plain.split()) == 1)
    ][:MOST_PHRASES]


def message_phrases(text: str) -> list[str]:
    """The lines of ``text`` that are clearly error messages, and each one's part before its values.

    A message fills in its quoted or listed values when it is raised.

    >>> message_phrases("ValueError: No such option: --nmae"), message_phrases("parse a date")
    (['no such option: --nmae', 'no such option'], [])
    >>> message_phrases("error: unclosed bracket, did you mean to close it?")
    ['unclosed bracket, did you mean to close it?']
    """
    phrases: dict[str, None] = {}
    lines = text.strip().splitlines()
    for line in lines:
        line = line.strip()[:LONGEST_PHRASE]
        body = _PREFIX.sub("", line)
        fixed = _FILLED.split(body, maxsplit=1)[0]
        named = body != line or _OPENS.match(body)
        alone = len(lines) == 1 and body[:1].isupper() and body[-1:] in ".!"  # prose has many such
        if not _asks(line) and (named or alone):
            fewest = FEWEST_WORDS - (body != line)  # the text behind "Error:" is a message
            phrases |= {flat(p): None for p in (body, fixed) if len(p.split()) >= fewest}
    return list(phrases)[:MOST_PHRASES]


def literal(texts: Sequence[str]) -> list[str]:
    """The words of a question of one line in their order, apart where values may be filled in.

    >>> literal(["error: recipe `a` has circular dependency `a -> b`"])
    ['recipe', 'has circular dependency']
    >>> literal(["error: unclosed `[`, did you mean to close it?"]), literal(["is it closed?"])
    (['unclosed', 'did you mean to close it'], [])
    """
    line = texts[0].strip() if len(texts) == 1 else ""
    if len(line) > LONGEST_PHRASE or "\n" in line or _asks(line):
        return []
    parts = map(words_in_line, _VALUE.split(_LABEL.sub("", line)))
    return [part for part in parts if part]


def _asks(line: str) -> bool:
    """Whether ``line`` is a question; a message may end in one: "error: ..., did you mean ...?"."""
    body = _PREFIX.sub("", line)
    return _ASKS.match(body) is not None or (body == line and line.rstrip().endswith("?"))


def words_in_line(text: str) -> str:
    """The words of ``text`` in lower case with one space between them.

    >>> words_in_line("Task %q is not up-to-date")
    'task q is not up to date'
    """
    return " ".join(text.lower().translate(_SPACES).split())


def _phrases(texts: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for text in texts:
        quotes = quoted(text)
        kept += [*quotes, *(phrase for one in (text, *quotes) for phrase in message_phrases(one))]
    return list(dict.fromkeys(kept))[:MOST_PHRASES]


def flat(text: str) -> str:
    """``text`` as phrases are compared: in one line, whatever its case and white space."""
    return " ".join(text.split()).casefold()
