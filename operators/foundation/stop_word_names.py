"""Stop words that are names: ``IT`` the department, ``WHO`` the organisation, ``The Who`` the band.

Terms leave stop words out. A stop word is a name if it is in capitals and its neighbours are not,
or if it is one of several in a row that begin with a capital. Its term is in capitals, which no
other term has. So a query of only stop words can be searched. In other queries only ``ACRONYMS``
count: most stop words in capitals are stress (NOT) or an operator (OR) there. A heading, an SQL
clause or a shout in capitals has no such names.
"""

import re

from operators.foundation.tokenizer import STOP_WORDS, UNSPACED, compatible, words

ACRONYMS = frozenset({"IT", "WHO"})
"""The stop words in capitals that count in a query of other words, too."""

_IN_WORD = rf"[^\W{UNSPACED}]"
_RUN = re.compile(  # words in capitals, or several that begin with one
    rf"[A-Z](?<!{_IN_WORD}.)"
    rf"(?:[A-Z0-9_]+(?: [A-Z][A-Z0-9_]+)*|[a-z]+(?: [A-Z][a-z]+)+)(?!{_IN_WORD})"
)


def stop_word_names(text: str) -> list[str]:
    """The stop words of ``text`` that are names, in capitals.

    >>> stop_word_names("IT heard The Who; x IF NOT EXISTS; If you can, OR not")
    ['IT', 'THE', 'WHO', 'OR']
    """
    runs = map(str.split, _RUN.findall(compatible(text)))
    return [word.upper() for run in runs if _are_a_name(run) for word in run]


def asked_names(text: str) -> list[str]:
    """The names among the words of a query: ``ACRONYMS``, or in a query of only stop words all.

    If some of these are in capitals, only they count.

    >>> asked_names("who is in IT"), asked_names("the who"), asked_names("Is IT or HR open NOW?")
    (['IT'], ['THE', 'WHO'], ['IT'])
    """
    if not only_stop_words(text):
        return [name for name in stop_word_names(text) if name in ACRONYMS]
    asked = list(words(text))
    return [word for word in asked if word.isupper() and len(word) > 1] or [
        word.upper() for word in asked
    ]


def only_stop_words(text: str) -> bool:
    """Whether ``text`` has words, and all are stop words.

    >>> only_stop_words("to be or not to be"), only_stop_words("to file"), only_stop_words("?")
    (True, False, False)
    """
    asked = next(words(text), None) is not None
    return asked and all(word.casefold() in STOP_WORDS for word in words(text))


def _are_a_name(run: list[str]) -> bool:
    if not all(word.lower() in STOP_WORDS for word in run):
        return False
    return len(run) == 1 or not run[0].isupper()
