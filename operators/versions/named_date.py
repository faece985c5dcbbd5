"""The dates in a query: "before 2022", "as of March 2021", "what changed last month".

A date of :func:`named_dates` chooses between versions; today's date fills in nothing. The times of
:func:`limits_said` limit the search, and a false one hides the answer: only a question about
changes has them, never a statement, code, words in quotation marks, or how something is done. What
was decided in March is none either: later minutes may have it.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from operators.foundation.date_span import RELATIVE, span_of
from operators.foundation.date_text import EARLIEST, MONTH_NAMES
from operators.versions.asking import LONGEST, VERSION, questions_in, words

_FLAGS = re.IGNORECASE | re.VERBOSE
_DAY = r"(?:[0-9]{1,2}(?:st|nd|rd|th)?,?\s+)?"
_WRITTEN = rf"""(?:19|20)[0-9]{{2}}-[0-9]{{2}}(?:-[0-9]{{2}})?
    |(?:{_DAY}(?:{MONTH_NAMES})\.?\s+{_DAY})?(?:19|20)[0-9]{{2}}"""
_DATE = re.compile(
    rf"""\b(?P<when>before|prior\s+to|until|till|up\s+to|as\s+of|as\s+at|in|during|by|at)\s+
    (?:the\s+)?(?:(?P<edge>start|beginning|end)\s+of\s+)?(?:the\s+year\s+)?
    (?P<date>{_WRITTEN})(?![\w%]|[-./:]\w)""",
    _FLAGS,
)
_AFTER_A_YEAR = words(
    """and or but nor so if because as than then when while where who what which how why that this
    the a an i we you they it he she there to for from with without on in at of by about before
    after during since until was were is are has have had did do does could would should compared
    versus vs vs. already still"""
)
"""Words that may follow a year; before another word the number is a count: "in 2000 requests"."""


def named_dates(sentence: str) -> Iterator[tuple[re.Match[str], datetime]]:
    """Each date of ``sentence`` with its preposition, and the first moment after it."""
    for match in _DATE.finditer(sentence):
        if (until := _until(match)) is not None:
            yield match, until


def _until(match: re.Match[str]) -> datetime | None:
    """The first moment after the date in ``match``; None: it is no date."""
    when, edge = match["when"].lower(), (match["edge"] or "").lower()
    if match["date"].isdigit() and not edge:
        follows = re.match(r"\s+([^\W\d_]\S*)", match.string[match.end() :])
        word = follows[1].rstrip(",;:?!)").lower() if follows else ""
        if when in ("at", "by") or (word and word not in _AFTER_A_YEAR):
            return None
    span = span_of(match["date"], EARLIEST)  # no date of these depends on today
    if span is None:
        return None
    early = edge != "end" if edge else when.startswith(("before", "by", "until", "till", "prior"))
    return span[0] if early else span[1] + timedelta(microseconds=1)


class Limits(NamedTuple):
    """The times between which a question wants documents."""

    written: str  # in the text
    since: datetime | None = None
    until: datetime | None = None
    version: str | None = None  # whose release is the first of the times


_LIMIT = re.compile(
    rf"""(?<![\w./#-])(?:
    (?:between|from)\s+(?P<first>{_WRITTEN}|(?:{MONTH_NAMES})\.?)
    \s+(?:and|to|until|till|through)\s+(?P<last>{_WRITTEN})
    |(?:since|after)\s+(?P<version>{VERSION})
    |(?P<when>since|after|before|prior\s+to|until|till|up\s+to|in|on|during|from|of|within|over)\s+
    (?P<date>(?:the\s+)?(?:{RELATIVE})|{_WRITTEN})
    |(?P<bare>(?:today|yesterday|[0-9a-z]+\s+days?\s+ago|(?:the\s+)?(?:this|last|past)\s+
    (?:[0-9a-z]+\s+)?(?:week|month|year|day)s?))
    )(?![\w%(]|[-./:]\w)""",
    _FLAGS,
)
_QUOTED = re.compile(r"""`[^`]*`|"[^"]*"|“[^”]*”|(?<!\w)'[^'\n]*'(?!\w)""")
_RECORDS = r"""(?:changes|commits?|merges|pull\s+requests?|prs?|reviews|issues|discussions?|fixes
    |history|releases|updates|activity)"""
_RECORD = re.compile(_RECORDS, _FLAGS)
_CHANGES = re.compile(
    rf"""\b(?:{_RECORDS}|(?:chang|merg|remov|renam|releas|replac|introduc|clos|delet|add
    |fix|revert|review|refactor|open|land|happen|work|committ|updat|mov)ed|(?:what|is|['’]s|any\w*)\s+new
    |dropped|shipped|wr(?:ote|itten)|rewr(?:ote|itten)
    |(?:did|has|have)\b.{{1,60}}\b(?<!the\s)(?:do|done|change|merge|add|remove|fix|write|work\s+on|drop
    |ship|release|happen|rename|move))\b""",
    _FLAGS,
)
_BEGINS = re.compile(
    rf"""\s*{_RECORDS}\s+(?:in|on|of|to|by|about|for|since|from|between|before|after|during|until
    |up|within|over|this|last|past|yesterday|today|touching)\b[^\n]{{0,100}}""",
    _FLAGS,
)
_USAGE = re.compile(
    r"""\bhow\b(?!\s+(?:did|ha[sd]|have|many|much|often))|\bwhere\b(?!\s+(?:did|was|were|have))
    |^\W*(?:\w+\W+){0,3}?(?:does|do|can|could|should|would|will|must)\b
    |^\W*(?:(?:is|are)\s+(?!there|any)|what\s+happens\b|why\s+(?:is|are)\b
    |which\s+(?:function|method|class|option|flag|command|endpoint|query|test|field|setting)s?\b
    (?!\s+(?:was|were|ha[sd]|have|\w+ed)\b))""",
    _FLAGS,
)
_STATE = re.compile(
    rf"""^\W*(?:what(?:\s+(?:is|are)|['’]s)\s+(?!been|chang|happen|(?:\w+\s+){{0,2}}?(?:new|{_RECORDS})\b)
    |(?:what|which)\s+(?!{_RECORDS}\b)\w+\s+(?:is|are)\s+(?!new\b)
    |(?:what|which|who)\s+(?:\w*[^\Ws]\s+)?(?!(?:ha|i|wa|doe|thi)s\b|{_RECORDS}\b)\w*[^\Wsu]s
    \s+(?!(?:was|were|ha[sd]|have|did|got|of|in|on|to|from|about|for|with|we|they|i|you
    |\w+ed)\b))""",
    _FLAGS,
)
"""A question about what is so now: "what selects users added today?", "which tables are made"."""
_EVENT = re.compile(
    r"\b(?:after|before|since|until|till|because|due\s+to|instead"
    r"|by\s+(?:the\s+)?(?:end|start|beginning))\b",
    re.IGNORECASE,
)
"""Before an event, whose time is not that of the change: "after the outage in June 2025"."""
_UNLIKE = re.compile(
    r"\b(?:not|except|excluding|without|than|besides|compared\s+(?:to|with)|versus|vs\.?|as|and|or"
    r"|to)\s+$",
    re.IGNORECASE,
)
_AFTER_RECORDS = re.compile(rf"\b{_RECORDS}\s+$", _FLAGS)
_AFTER_OTHERS = re.compile(rf"\b(?!{_CHANGES.pattern})\w+ed\s+$", _FLAGS)
"""Before a time that is not of a change: "the bug reported in 2024"."""
_AND_MORE = re.compile(
    rf"\s*(?:and|or|to|vs\.?|versus|,|-|–)\s+(?:in\s+)?(?:[0-9]+|{MONTH_NAMES}|last|this)\b|\s+of\b",
    re.IGNORECASE,
)


def limits_said(text: str, now: datetime) -> Limits | None:
    """The times that a question about changes names, relative to ``now``; None: it names none.

    >>> now = datetime(2026, 11, 29)
    >>> print(*limits_said("what changed between March and May 2024?", now)[1:3])
    2024-03-01 00:00:00+00:00 2024-05-31 23:59:59.999999+00:00
    >>> limits_said("what changed since v2.1?", now).version
    'v2.1'
    >>> for other in ("how is last month computed?", "what changed in 2025 lines?"):
    ...     limits_said(other, now)
    """
    plain = _QUOTED.sub("§", text[:LONGEST])
    if not _LIMIT.search(plain):
        return None
    asked = [plain] if _BEGINS.fullmatch(plain) else questions_in(plain)
    said: Limits | None = None
    for sentence in asked:
        if _EVENT.search(_LIMIT.sub("", sentence)) or _STATE.search(sentence):
            continue
        for match in _LIMIT.finditer(sentence):
            rest = f"{sentence[: match.start()]} {sentence[match.end() :]}"
            named = [one[0] for one in _CHANGES.finditer(rest)]
            verbs = [one for one in named if not _RECORD.fullmatch(one)]
            about = len(verbs) < 2 and (named or not re.search(r"\w", rest))
            limits = _limits(match, now) if about and not _USAGE.search(sentence) else None
            if limits and said and (said.until or limits.since or limits.version):
                return None  # two times, and not the two ends of one
            if limits and said:
                limits = said._replace(written=f"{said[0]} {limits[0]}", until=limits.until)
            said = limits or said
    return said


def _limits(match: re.Match[str], now: datetime) -> Limits | None:
    """The times that ``match`` means; None: none, as its neighbours say."""
    before, after = match.string[: match.start()], match.string[match.end() :]
    when = (match["when"] or "").lower()
    early = when.startswith(("before", "prior", "until", "till", "up"))
    word = (re.match(r"\s+([^\W\d][\w-]*)", after) or ("", ""))[1].lower()
    goes_on = not word or word in _AFTER_A_YEAR or _CHANGES.fullmatch(word) or word.endswith("ing")
    joined = (_UNLIKE.search(before) and not early) or _AND_MORE.match(after)
    other = _AFTER_OTHERS.search(before) or (when == "of" and not _AFTER_RECORDS.search(before))
    if not goes_on or joined or other or re.match(r"\s+[0-9]", after):  # "the code of today"
        return None
    if early and after.startswith(("'s", "’s")):  # "before yesterday's deploy" is after its morning
        return None
    written = " ".join(match[0].split())
    if match["version"]:
        return Limits(written, version=match["version"])
    last = span_of(match["last"] or match["date"] or match["bare"], now)
    named = match["first"]
    if named and not any(map(str.isdigit, named)):
        named = f"{named} {match['last'][-4:]}" if match["last"][-4:].isdigit() else ""
    first = span_of(named, now) if named else last
    wide = when == "on" and last and last[1] - last[0] > timedelta(days=1)
    if not first or not last or first[0] > last[1] or wide:
        return None
    if not early and first[0] > now.astimezone(UTC):  # what is planned is written before
        return None
    if early:
        return Limits(
            written, until=first[0] - timedelta(microseconds=1) if when[0] in "bp" else last[1]
        )
    return Limits(written, first[0], None if when in ("since", "after") else last[1])
