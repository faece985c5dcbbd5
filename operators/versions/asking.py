"""The sentences of a text that are questions or requests.

Only a question or a request asks for a version, no statement and no code; a text of a few words
without a verb is a search.
"""

import re
from collections.abc import Iterator

LONGEST = 2_000
"""Characters of a text that are read: a longer text is a report."""
MOST_WORDS = 80
KEYWORDS = 8
"""A text of so few words and without a verb is a search ("spark 3.5.3 release notes")."""

_FLAGS = re.IGNORECASE | re.VERBOSE
_STAGE = r"(?:[-.]?(?:rc|alpha|beta|dev|pre|a|b)[-.]?[0-9]{1,3})"
NUMBER = rf"[0-9]{{1,4}}(?:\.[0-9]{{1,5}}){{0,4}}(?:\.x)?{_STAGE}?"
"""A regular expression for a possible version."""
VERSION = rf"(?:(?:version|release)\s+v?|v){NUMBER}|(?=[0-9]+\.){NUMBER}"
"""A regular expression for a version that has a mark or a dot."""
_CODE = re.compile(
    rf"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`(?!v?{NUMBER}`)[^`\n]*`", re.DOTALL | re.IGNORECASE
)
_SENTENCE = re.compile(r"[^.?!\n]+(?:(?:(?<=\svs|ver)\.|[.?!](?!\s|\Z|[\"')\]]))[^.?!\n]*)*[.?!]*")


def words(listed: str) -> frozenset[str]:
    """The words of ``listed``, separated by white space."""
    return frozenset(listed.split())


ASKS = words(
    """what which how why when where who whose is are was were does do did can could should would
    will has have had may"""
)
"""Words at the beginning of a question."""
REQUESTS = words(
    """show tell explain describe list give find compare summarize summarise name look get
    provide help define document need want please"""
)
"""Words at the beginning of a request."""
_STATES = re.compile(
    r"""(?:re)?(?:fix|add|remov|deprecat|introduc|chang|updat|bump|drop|support|prepar|revert|mak
    |use|allow|improv|mov|renam|clean|refactor|delay|releas)\w*:?""",
    _FLAGS,
)
_USES = re.compile(
    r"""\b(?:(?:i|we)(?:\s+am|['’]m|\s+are|['’]re)?|(?:my|our)\s+\w+)\s+(?:\w+\s+)?
    (?:on|us\w+|run\w*)\b""",
    _FLAGS,
)


def questions_in(text: str) -> Iterator[str]:
    """The questions and requests; beside them, also statements of what the writer uses.

    Code is removed. A long text is a report and asks nothing.
    """
    prose = _CODE.sub("§", text[:LONGEST]).replace("**", "")
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
    if sentence.endswith("?") or word in REQUESTS:
        return True
    return word in ASKS and not sentence.endswith((".", "!", ":"))
