"""Detects queries for the version in which something was added, changed or removed.

"Which version introduced X?" is about all versions, not about the newest: older passages answer it.
The rule is as strict as :mod:`operators.versions.mentions`, because all versions of a passage side
by side are a poor answer to any other query. It accepts only a question or request, and only if
the version is the subject ("Which release added X?") or the time ("In what version was X removed?",
"Since when is X deprecated?", "When was X introduced?"). Not "Which version should I use to add
...?", not "What was added in the newest version?".
"""

import functools
import re

from operators.versions.asking import LONGEST, questions_in

_CAME = r"""(?:first\s+)?(?:introduc|add|deprecat|remov|chang|drop|renam|replac|fix|improv|extend
    |appear|start|stop|support|ship)"""
_DID = r"(?:p?ed|d|e?s)\b"
_NAME = r"""(?:(?!(?:in|of|is|are|was|were|did|does|do|has|have|had|that|the|a|an|to|for|from|on
    |chang\w*|new|kind|type|sort)\b)[\w.+\#-]+)"""
_WHICH = rf"""\b(?:which|what)\s+(?P<of>(?:{_NAME}\s+){{0,3}})(?:versions?|releases?)\b
    (?P<of_>(?:\s+of\s+(?:the\s+)?{_NAME}(?:\s+{_NAME})??)?)(?:\s+on(?:wards?)?\b)?"""
_UP_TO = r"(?:(?!(?:when|if|that|which|where|who|by|to|should|can)\b)[^\s,;:]+\s+){0,15}?"
_HINT = re.compile(r"\b(?:versions?|releases?|since\s+when|when\s+w(?:as|ere))\b", re.IGNORECASE)


@functools.cache
def _origins() -> list[re.Pattern[str]]:
    patterns = (
        # which version [first] added
        rf"{_WHICH}\s+(?:has\s+|have\s+|had\s+|that\s+)?{_CAME}{_DID}",
        # in which version was X [first] added; did they add X; the X was added
        rf"{_WHICH}\s+(?:(?:was|were|has|have|had|got)\s+{_UP_TO}{_CAME}{_DID}"
        rf"|did\s+{_UP_TO}{_CAME})",
        rf"\b(?:in|with|from|since|by)\s+{_WHICH}\s+{_UP_TO}(?:was|were|got)\s+{_CAME}{_DID}",
        # since when is X, since which version does X
        r"\bsince\s+when\s+(?:is|are|was|were|do|does|did|has|have|can)\b",
        rf"\bsince\s+{_WHICH}",
        # when was X added, but not "added to Y"
        rf"\bwhen\s+(?:was|were)\s+{_UP_TO}(?:introduced|added|deprecated|removed)\b"
        r"(?!\s+(?:to|from|into|in|on|by|when|if)\b)",
    )
    return [re.compile(pattern, re.IGNORECASE | re.VERBOSE) for pattern in patterns]


def origin_asked(text: str) -> list[str] | None:
    """The words that say whose version ``text`` asks for; None: it asks for no version.

    >>> origin_asked("With what Node.js version was the error added?")
    ['Node.js']
    >>> origin_asked("Since when is the option deprecated?"), origin_asked("Which version is it?")
    ([], None)
    """
    if not _HINT.search(text[:LONGEST]):
        return None
    for sentence in questions_in(text):
        for pattern in _origins():
            if match := pattern.search(sentence):
                named = match.groupdict("")
                return f"{named.get('of', '')} {named.get('of_', '')}".split()
    return None
