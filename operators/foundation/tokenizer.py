"""The analyzer: text to index terms, the same at ingestion and at query time.

Code and prose share one vocabulary: an identifier gives its parts and the whole, so that both "make
a file" and its exact name find ``makeFile``. A number with dots, such as a version, does so too.
Parts are stemmed (Snowball English, the second Porter stemmer), wholes are not. Stop words are left
out: they carry no weight and cost the most.

Text is compared in Unicode's compatible form (NFKC) with folded case, so that ligatures, full-width
letters and decomposed accents are the same words. A word with accents gives its terms, and those of
the word without: ``Zurich`` finds ``Zürich``, and the exact word counts more. Scripts that put no
blank between words (Chinese, Japanese, Thai) and Korean, whose particles stick to their word, give
overlapping pairs of letters, as Lucene's CJKBigramFilter does; where such a script meets another
one, a word ends. The names ``C++``, ``C#`` and ``.net`` keep their signs. An operator is a term.

What a program wrote has no words: a hash or a UUID is its first seven digits, since people shorten
it, and the whole; an encoded word (base64) is the whole alone. A long name's whole is its first 64
characters; its parts are those of 512. Of the trailers of a commit and the headers of a mail only
names are left, without what they are for and without addresses.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from unicodedata import normalize

import Stemmer

from operators.foundation.accents import without_accents
from operators.foundation.short_cache import cached_if_short

VERSION = "7"
"""Part of every document's fingerprint: a change of the analysis must raise it."""

MAX_TOKEN_LENGTH = 64
"""Longer terms, and longer words without parts (base64, minified code), are truncated."""

MAX_NAME_LENGTH = 512
"""The characters of a name whose parts are read."""

SHORTEST_BLOB, LETTERS_OF_A_PART = 24, 4
"""A word of at least that many letters whose parts have fewer on average is encoded (base64)."""

TERM_ID_LIMIT = 1_000_000_000
"""Term ids are 1..TERM_ID_LIMIT, the index range of a sparse vector."""

_WORDS = json.loads(Path(__file__).with_name("tokenizer_words.json").read_text("utf-8"))
STOP_WORDS = frozenset(_WORDS["stop_words"])

SHORT_HASH = 7
"""The digits of a hash that tools show."""

UNSPACED = (  # Thai and Lao, Myanmar, Khmer, Han and kana, Hangul, Han beyond the first plane
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035"
    "\u3041-\u30fa\u30fc-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_MARKS = (  # accents and vowel signs, which ``\w`` leaves out
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u06df-\u06e8\u06ea-\u06ed\u0900-\u0963\u0971-\u0dff\u0f71-\u0f84\u1dc0-\u1dff\u20d0-\u20f0"
)
_IGNORED = dict.fromkeys(map(ord, "\xad\u200b\u200c\u200d\u2060\ufe0e\ufe0f\ufeff"))
"""Invisible signs in a word: soft hyphens, joiners, variation selectors."""

_SIGNS = r"!$%&*+\-./:<=>?@\\^|~#"
_REST = (
    r"(?:(?<=\d)\.\d\w*){0,7}"  # a number with dots
    r"(?:(?<!\w\w)(?:\+\+|#)(?![+#A-Za-z_]))?"  # C++17 and F#, no ``note#1``
    r"|(?<![\w)\]}>.])\.(?:net|NET|Net)\b"
)
_UUID = r"(?<!\w)[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?!\w)"
# without the marks of comments and markup (``//``, ``**``, ``--``, ``...``): they mean nothing
_OPERATORS = "|".join(map(re.escape, _WORDS["operators"]))
_OPERATOR = rf"(?<![{_SIGNS}])(?:{_OPERATORS})(?![{_SIGNS}])"
_ASCII_WORD = re.compile(rf"{_UUID}|\w+{_REST}", re.ASCII)
_ANY_WORD = re.compile(rf"{_UUID}|[\w{_MARKS}{UNSPACED}]+{_REST}")
_ASCII_PIECE = re.compile(f"{_ASCII_WORD.pattern}|{_OPERATOR}", re.ASCII)
_ANY_PIECE = re.compile(f"{_ANY_WORD.pattern}|{_OPERATOR}")
_SCRIPT = re.compile(rf"[{UNSPACED}]+|[^{UNSPACED}]+")
_PAIRED = re.compile(f"[{UNSPACED}]")
_DOTTED = re.compile(r"(?<!\d)\d+(?:\.\d+)+")
_CODED = re.compile(rf"{_UUID}|(?=.*\d)(?=.*[a-f])[0-9a-f]{{7,}}")
_TRAILER = re.compile(
    r"^[ \t>]*(?:[A-Z][A-Za-z-]*-by|From|To|Cc|Sender|Reply-To): "
    r"([^\n<]*)<[^<>\s@]+@[^<>\s@]+>[ \t]*$"
    r"|^[ \t>]*(?:Change-Id: \w+|(?:Message-I[Dd]|In-Reply-To|References): <[^\n]*>)[ \t]*$",
    re.MULTILINE,
)
_SIGNED = re.compile(r"\w(?:\+\+|#)|\.net|\W+")
_ASCII_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_PART = re.compile(rf"(?:[^\W\d_]|[{_MARKS}])+|\d+")  # no upper and lower case beyond ASCII
_STEM = Stemmer.Stemmer("english")


def tokens(text: str) -> list[str]:
    """The index terms of ``text`` in reading order, repeated as often as they occur.

    >>> tokens("HTTPServer.makeFile is flushed in 3.12")
    ['http', 'server', 'httpserver', 'make', 'file', 'makefile', 'flush', '3', '12', '3.12']
    """
    return list(chain.from_iterable(map(*_analysis(text))))


def vocabulary(text: str) -> set[str]:
    """The index terms of ``text``, each once: ``set(tokens(text))``, in less time."""
    terms_of, pieces = _analysis(text)
    return set(chain.from_iterable(map(terms_of, set(pieces))))


def words(text: str) -> Iterator[str]:
    """The words of ``text`` in reading order and original case, without operators.

    >>> list(words("open_file() fails in 3.12."))
    ['open_file', 'fails', 'in', '3.12']
    >>> list(words("使用Redis缓存"))
    ['使用', 'Redis', '缓存']
    """
    text = _without_trailers(text)
    if text.isascii():
        return (match.group() for match in _ASCII_WORD.finditer(text))
    matches = _ANY_WORD.finditer(compatible(text))
    return (run for piece in matches for run in _SCRIPT.findall(piece.group()))


def _without_trailers(text: str) -> str:
    """``text`` where of a trailer or a mail's header only the name is left.

    >>> _without_trailers("Fix it\\n\\nReviewed-by: Ann Smith <ann@example.org>").split()
    ['Fix', 'it', 'Ann', 'Smith']
    """
    return _TRAILER.sub(r"\1", text) if ": " in text else text


def compatible(text: str) -> str:
    """``text`` in Unicode's compatible form (NFKC), without signs that nobody sees in a word.

    >>> compatible("ﬁle Ｒｅｄｉｓ"), compatible("up\xadper")
    ('file Redis', 'upper')
    """
    return text if text.isascii() else normalize("NFKC", text.translate(_IGNORED))


def name_parts(word: str) -> list[str]:
    """The parts of a name in code, in original case; a plain word is its only part.

    >>> name_parts("HTTPServer_2")
    ['HTTP', 'Server', '2']
    """
    pattern = _ASCII_PART if word.isascii() else _PART
    return pattern.findall(word[:MAX_NAME_LENGTH])


def is_name(word: str) -> bool:
    """Whether ``word`` has several parts, as names in code and version numbers do.

    >>> is_name("makeFile"), is_name("3.12"), is_name("Makefile")
    (True, True, False)
    """
    return len(name_parts(word)) > 1


def term_id(term: str) -> int:
    """A term's number, 1..TERM_ID_LIMIT: a hash, so that no vocabulary must be maintained.

    Among 500,000 terms, the chance of a shared number is 1 in 4,000 a term: too small to change a
    ranking.
    """
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % TERM_ID_LIMIT + 1


_Terms = Callable[[str], Iterable[str]]


def _analysis(text: str) -> tuple[_Terms, list[str]]:
    """The words and operators of ``text``, and what gives the terms of one."""
    text = _without_trailers(text)
    if text.isascii():
        return _terms_of_word, _ASCII_PIECE.findall(text)
    return _terms_of_runs, _ANY_PIECE.findall(compatible(text))


def _terms_of_runs(piece: str) -> Iterable[str]:
    if piece.isascii() or not _PAIRED.search(piece):
        return _terms_of_word(piece)
    runs = _SCRIPT.findall(piece)
    return chain.from_iterable(
        _pairs(run) if _PAIRED.match(run) else _terms_of_word(run) for run in runs
    )


def _pairs(run: str) -> Iterable[str]:
    """The overlapping pairs of a run of letters; of one letter, itself.

    >>> list(_pairs("数据库"))
    ['数据', '据库']
    """
    return map("".join, pairwise(run)) if len(run) > 1 else (run,)


def stem(word: str) -> str:
    """The stem of an English word in lower case; a word that is all ending stays.

    >>> stem("readers"), stem("reads")
    ('reader', 'read')
    """
    return str(_STEM.stemWord(word)) or word


@cached_if_short(65_536)  # as many words as a batch of judged queries has
def _terms_of_word(word: str) -> tuple[str, ...]:
    exact = _exact_terms(word)
    plain = without_accents(word[:MAX_NAME_LENGTH])
    if word.isascii() or not plain:  # a sign of its own, such as a macron
        return exact
    return exact + tuple(term for term in _exact_terms(plain) if term not in exact)


def _exact_terms(word: str) -> tuple[str, ...]:
    """The terms of ``word`` with its accents."""
    if dotted := _DOTTED.search(word):
        parts_of = map(_exact_terms, word.split("."))
        return (*chain.from_iterable(parts_of), dotted.group()[:MAX_TOKEN_LENGTH])
    whole = word[:MAX_TOKEN_LENGTH].casefold()
    if _SIGNED.fullmatch(whole):
        return (whole,)
    if _CODED.fullmatch(whole):
        return (whole,) if len(whole) == SHORT_HASH else (whole[:SHORT_HASH], whole)
    parts = name_parts(word)
    if len(word) > MAX_TOKEN_LENGTH and _is_short_of_letters(word[:MAX_NAME_LENGTH], parts):
        word = word[:MAX_TOKEN_LENGTH]
        parts = name_parts(word)
    if len(word) >= SHORTEST_BLOB and "_" not in word and _is_short_of_letters(word, parts):
        return (whole,)
    parts = [part[:MAX_TOKEN_LENGTH].casefold() for part in parts] or [whole]
    terms = [stem(part) for part in parts if part not in STOP_WORDS]
    if len(parts) > 1:
        terms.append(whole)
    return tuple(terms)


def _is_short_of_letters(word: str, parts: list[str]) -> bool:
    return len(parts) > len(word) / LETTERS_OF_A_PART
