"""Twins of code: one definition in a sync and an async form.

``_sync/pool.py`` and ``_async/pool.py``, ``Client`` and ``AsyncClient``, ``get`` and ``aget`` are
alike. They differ in ``async``, ``await`` and names made of these. Two passages are twins if

- both are code of one repository, and definitions begin in them,
- without these words the definitions have the same names and parameters, and the same numbers,
- nearly all of their other tokens are the same,
- one passage, with its path, contains these words more often than the other,
- and in one file the names differ by these words, because overloads have one name.

``is_async_step`` is no twin of ``is_step``: it has another meaning.
"""

import json
import re
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence, Set
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from operators.arrays.segments import Integers
from operators.dedup.greedy import greedy
from operators.dedup.jaccard import jaccard, may_reach
from operators.dedup.representatives import check_threshold
from operators.dedup.token_index import index_tokens
from operators.foundation.short_cache import cached_if_short
from operators.foundation.tokenizer import name_parts
from operators.frames import DEFINES

_MARKS = ("async", "await", "aio")
_WORDS_OF_TWINS = frozenset(("async", "asyncio", "await", "awaitable", "aio", "sync"))
_TOKEN = re.compile(r"\w+|[^\w\s]")
# of folded text: a name, and the types and parameters behind it; the bounds keep the time in
# proportion to the length of a text that opens many brackets and closes none
_CALL = re.compile(r"\b(\w++)(?=((?: <[^()]{0,200}>)? \( [^)]{0,1000}))")
# a test for async, not the async form of another test
_PREDICATE = re.compile(r"(?:\b|_)(?:is|has)_?async", re.I)
_SIGNS = re.compile(r"[\W_]+")

_Key = tuple[Any, ...]


class _Passage(NamedTuple):
    """A passage of code in which definitions begin."""

    row: int
    path: str | None
    names: list[str]  # of the definitions
    text: str


def twin_representatives(hits: pl.DataFrame, threshold: float) -> Integers:
    """For each row the row that represents it: itself, or the best ranked of its twins.

    Args:
        hits: columns ``FUSED``, sorted by query and rank.
        threshold: the minimum Jaccard index of two passages' tokens, repeated ones too, without the
            words of twins; above 0 and at most 1.

    Raises:
        ValueError: the threshold is out of range.
    """
    check_threshold("Jaccard", threshold)
    representative = np.arange(hits.height)
    candidates = [
        (number, passage, text)
        for number, group in enumerate(_candidates(hits))
        for passage, text in group
    ]
    if not candidates:
        return representative
    groups, passages, texts = zip(*candidates, strict=True)
    every = np.arange(len(texts))
    tokens = index_tokens(pl.DataFrame({"text": list(map(_numbered, texts))}))

    def choose(row: int, others: Integers) -> int | None:
        high = others[jaccard(tokens, row, others) >= threshold].tolist()
        return next((one for one in high if _are_two_forms(passages[one], passages[row])), None)

    stays = greedy(np.array(groups), may_reach(every, tokens, threshold), choose)
    rows = np.array([passage.row for passage in passages])
    representative[rows] = rows[stays]
    return representative


def _candidates(hits: pl.DataFrame) -> Iterator[list[tuple[_Passage, str]]]:
    """Groups of passages that may contain twins, each passage with its folded text."""
    for (*_, names), passages in _by_definitions(hits).items():
        if len(passages) == 1 or len(set(map(_marks, passages))) == 1:
            continue
        texts = [folded(passage.text) for passage in passages]
        known = {word for text in texts for word in text}
        groups = defaultdict[_Key, list[tuple[_Passage, str]]](list)
        for passage, text in zip(passages, texts, strict=True):
            words = " ".join(_without_a(word, known) for word in text)
            groups[tuple(_guards(words, names))].append((passage, words))
        yield from (group for group in groups.values() if len(group) > 1)


def _by_definitions(hits: pl.DataFrame) -> dict[_Key, list[_Passage]]:
    """The passages of each query and repository that begin definitions of the same names."""
    scopes = defaultdict[_Key, list[tuple[list[str], _Passage]]](list)
    columns = hits["query_id", "repo", "corpus", "path", "text", "metadata"].rows()
    for row, (query_id, repo, corpus, path, text, metadata) in enumerate(columns):
        names = _defined(metadata) if corpus == "code" else []
        if names and not any(map(_PREDICATE.search, names)):
            words = folded(" ".join(names))
            scopes[query_id, repo].append((words, _Passage(row, path, names, text or "")))
    groups = defaultdict[_Key, list[_Passage]](list)
    for scope, passages in scopes.items():
        known = {word for words, _ in passages for word in words}
        for words, passage in passages:
            groups[scope, tuple(_without_a(word, known) for word in words)].append(passage)
    return groups


def _are_two_forms(one: _Passage, two: _Passage) -> bool:
    """Whether one has more words of async code; in one file its names must have them too."""
    if one.path == two.path and _letters(one.names) == _letters(two.names):
        return False
    return _marks(one) != _marks(two)


def _letters(names: Sequence[str]) -> str:
    return _SIGNS.sub("", "".join(names)).lower()


def _defined(metadata: str | None) -> list[str]:
    """The names of the definitions that begin in a passage with that metadata, a JSON object."""
    if f'"{DEFINES}"' not in (metadata or ""):
        return []
    names = json.loads(metadata or "{}").get(DEFINES)
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _marks(passage: _Passage) -> int:
    """How often a passage, its path and the names that it defines contain a word of async code."""
    text = "\n".join((passage.path or "", *passage.names, passage.text)).lower()
    return sum(map(text.count, _MARKS))


def _without_a(word: str, known: Set[str]) -> str:
    """``aget`` as ``get`` if that is ``known`` too; any other word unchanged."""
    return word[1:] if word[0] == "a" and word[1:] in known else word


def _guards(text: str, names: Container[str]) -> list[Any]:
    """What folded twins must have in the same order: numbers, and the parameters of ``names``.

    >>> _guards("/ / 2 ways t get < t > ( int a ) { }", {"get"})
    ['2', ('get', ' < t > ( int a ')]
    """
    numbers = [word for word in text.split() if word.isdigit()]
    return [*numbers, *(call for call in _CALL.findall(text) if call[0] in names)]


def _numbered(text: str) -> str:
    """``text`` with a number at each repeated word, so that repetitions count.

    >>> _numbered("a b a a")
    'a b a#1 a#2'
    """
    counters = defaultdict[str, Iterator[int]](count)
    numbers = ((word, next(counters[word])) for word in text.split())
    return " ".join(f"{word}#{number}" if number else word for word, number in numbers)


def folded(text: str) -> list[str]:
    """The tokens of ``text`` without the words in which twins differ.

    >>> " ".join(folded("async with AsyncClient(2) as c: await c.read()"))
    'with client ( 2 ) as c : c . read ( )'
    """
    return list(filter(None, map(_folded_token, _TOKEN.findall(text))))


@cached_if_short(100_000)
def _folded_token(token: str) -> str:
    """``token`` in lower case, its parts joined; empty if it is only a word of twins."""
    parts = [part.lower() for part in name_parts(token)]
    return "_".join(part for part in parts if part not in _WORDS_OF_TWINS) if parts else token
