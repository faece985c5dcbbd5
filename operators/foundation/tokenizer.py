"""The analyzer: text to index terms, the same at ingestion and at query time.

Code and prose share one vocabulary: an identifier gives its parts and the whole, so that both "make
a file" and its exact name find ``makeFile``. A number with dots, such as a version, does so too.
Parts are stemmed (Snowball English, the second Porter stemmer), wholes are not. Stop words are left
out: they carry no weight and cost the most.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

import Stemmer

VERSION = "4"
"""Part of every document's fingerprint: a change of the analysis must raise it."""

MAX_TOKEN_LENGTH = 64
"""Longer words (base64, minified code) are cut here: nobody asks for them."""

TERM_ID_LIMIT = 1_000_000_000
"""Term ids are 1..TERM_ID_LIMIT, the index range of a sparse vector."""

STOP_WORDS = frozenset(
    """a about after all also an and any are as at be because been before being between both but by
    can could did do does doing down during each few for from further had has have having he her
    here hers him his how i if in into is it its itself just me more most my no nor not now of off
    on once only or other our out over own same she should so some such than that the their them
    then there these they this those through to too under until up very was we were what when where
    which while who whom why will with would you your""".split()  # noqa: SIM905 - a list of 140 quoted words is no easier to read
)

_PIECE = re.compile(r"\w+(?:(?<=\d)\.\d\w*){0,7}")
_DOTTED = re.compile(r"(?<!\d)\d+(?:\.\d+)+")
_ASCII_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_PART = re.compile(r"[^\W\d_]+|\d+")  # cannot tell upper from lower case beyond ASCII
_STEM = Stemmer.Stemmer("english")


def tokens(text: str) -> list[str]:
    """The index terms of ``text`` in reading order, repeated as often as they occur.

    >>> tokens("HTTPServer.makeFile is flushed in 3.12")
    ['http', 'server', 'httpserver', 'make', 'file', 'makefile', 'flush', '3', '12', '3.12']
    """
    return list(chain.from_iterable(map(_terms_of_word, _PIECE.findall(text))))


def vocabulary(text: str) -> set[str]:
    """The index terms of ``text``, each once: ``set(tokens(text))``, in less time."""
    return set(chain.from_iterable(map(_terms_of_word, set(_PIECE.findall(text)))))


def words(text: str) -> Iterator[str]:
    """The unchanged words of ``text`` in reading order.

    >>> list(words("open_file() fails in 3.12."))
    ['open_file', 'fails', 'in', '3.12']
    """
    return (found.group() for found in _PIECE.finditer(text))


def is_name(word: str) -> bool:
    """Whether ``word`` has several parts, as names in code and version numbers do.

    >>> is_name("makeFile"), is_name("3.12"), is_name("Makefile")
    (True, True, False)
    """
    pattern = _ASCII_PART if word.isascii() else _PART
    return len(pattern.findall(word[:MAX_TOKEN_LENGTH])) > 1


def term_id(term: str) -> int:
    """A term's number, 1..TERM_ID_LIMIT: a hash, so that there is no vocabulary to keep in step.

    Among 500,000 terms, the chance of a shared number is 1 in 4,000 a term: too small to change a
    ranking.
    """
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % TERM_ID_LIMIT + 1


@lru_cache(maxsize=65_536)  # as many words as a batch of judged questions finds
def _terms_of_word(word: str) -> tuple[str, ...]:
    if dotted := _DOTTED.search(word):
        parts_of = map(_terms_of_word, word.split("."))
        return (*chain.from_iterable(parts_of), dotted.group()[:MAX_TOKEN_LENGTH])
    word = word[:MAX_TOKEN_LENGTH]
    pattern = _ASCII_PART if word.isascii() else _PART
    parts = [part.lower() for part in pattern.findall(word)] or [word.lower()]
    terms = [str(_STEM.stemWord(part)) or part for part in parts if part not in STOP_WORDS]
    if len(parts) > 1:
        terms.append(word.lower())
    return tuple(terms)
