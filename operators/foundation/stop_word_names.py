"""Stop words that are names in capitals: ``IT`` the department, ``WHO`` the organisation.

Terms leave stop words out. The term of a name is in capitals, which no other term has. Other stop
words in capitals are stress (NOT) or an operator (OR).
"""

import re

from operators.foundation.tokenizer import STOP_WORDS, UNSPACED, compatible, words

_IN_WORD = rf"[^\W{UNSPACED}]"
_NAME = re.compile(rf"(?:IT|WHO)(?<!{_IN_WORD}IT)(?<!{_IN_WORD}WHO)(?!{_IN_WORD})")


def stop_word_names(text: str) -> list[str]:
    """The names in ``text``.

    >>> stop_word_names("WHO told IT to do it?")
    ['WHO', 'IT']
    """
    return _NAME.findall(compatible(text))


def only_stop_words(text: str) -> bool:
    """Whether ``text`` has words, and all are stop words.

    >>> only_stop_words("to be or not to be"), only_stop_words("to file"), only_stop_words("?")
    (True, False, False)
    """
    asked = [word.casefold() for word in words(text)]
    return bool(asked) and STOP_WORDS.issuperset(asked)
