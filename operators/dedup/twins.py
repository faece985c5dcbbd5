"""Twins of code: one definition written twice, for callers that wait and for those that do not.

``_sync/pool.py`` and ``_async/pool.py``, or ``Client`` and ``AsyncClient`` in one file, say the
same. They differ in ``async``, ``await`` and names made of these. Two passages are twins if

- they are of one repository and of definitions with the same name, in two files or classes,
- nearly all of their tokens are the same, and all numbers, after these words are taken away,
- one of them, its file or its class says these words more often than the other.
"""

import re
from collections import defaultdict
from functools import lru_cache

import numpy as np
import polars as pl

from operators.arrays.rows import index
from operators.arrays.segments import Integers
from operators.dedup.jaccard import Finder
from operators.dedup.token_index import index_tokens
from operators.foundation.tokenizer import name_parts

_PLACE = ("path", "anchor")
_MARKS = ("async", "await", "aio")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_WORDS_OF_TWINS = frozenset(("async", "asyncio", "await", "awaitable", "aio", "sync"))
# Python's protocols call these otherwise in async code. Not every "a": asin is no twin of sin.
_PYTHONS_OWN = re.compile(r"a(close|enter|exit|iter|next|read|send|throw|write)")


def twin_representatives(hits: pl.DataFrame, threshold: float) -> Integers:
    """For each row the row that represents it: itself, or the best ranked of its twins.

    Args:
        hits: columns ``FUSED``, sorted by query and rank. A passage without ``anchor``, the name
            of its definition, has no twin.
        threshold: the least Jaccard index of two passages' folded tokens, above 0 and at most 1.

    Raises:
        ValueError: the threshold is out of range.
    """
    representative = np.arange(hits.height)
    group = _groups(hits)
    some = np.flatnonzero(group >= 0)
    passages = hits.select(*_PLACE, "text")[index(some)].rows()
    places = [(path, _container(anchor)) for path, anchor, _ in passages]
    marks = list(map(_marks, passages))
    texts = [folded(text or "") for *_, text in passages]
    guards = [_guards(*of) for of in zip(texts, (folded(p[1]) for p in passages), strict=True)]

    def are_twins(best: int, row: int) -> bool:
        apart = places[best] != places[row] and marks[best] != marks[row]
        return apart and guards[best] == guards[row]

    every = np.arange(len(some))
    sets = index_tokens(pl.DataFrame({"chunk_id": some, "text": texts}))
    finder = Finder(every, [sets], threshold)
    representative[some] = some[finder.representatives(group[some], every, are_twins)]
    return representative


def _groups(hits: pl.DataFrame) -> Integers:
    """Of each row the number of the question, repository and name that it shares with others.

    -1 where no other row has that name, or all that have it say the words of twins equally often.
    """
    rows_of = defaultdict[tuple[object, ...], list[int]](list)
    of_code = hits.select("query_id", "repo", "corpus", "anchor").rows()
    for row, (query_id, repo, corpus, anchor) in enumerate(of_code):
        if corpus == "code" and anchor:
            rows_of[query_id, repo, folded(anchor)].append(row)
    group = np.full(hits.height, -1)
    columns = hits.select(*_PLACE, "text")
    for number, rows in enumerate(rows_of.values()):
        if len(rows) > 1 and len({_marks(columns.row(row)) for row in rows}) > 1:
            group[rows] = number
    return group


def _marks(passage: tuple[str | None, ...]) -> int:
    """How often ``passage``, its path, anchor and text, says a word of async code."""
    said = "\n".join(one or "" for one in passage).lower()
    return sum(map(said.count, _MARKS))


def _guards(text: str, anchor: str) -> list[str]:
    """What twins have in the same order: the numbers of ``text`` and the definition's parameters.

    Both are folded. Overloads have other parameters.

    >>> _guards("/ / 2 ways int get ( int a )", "client . get")
    ['2', 'get', '(', 'int', 'a', ')']
    """
    words = text.split()
    guards = [word for word in words if word.isdigit()]
    name, depth = anchor.split()[-1:], 0
    for at in range(len(words) - 1):
        if words[at : at + 1] == name and words[at + 1] in ("(", "<"):
            for one in words[at:]:
                guards.append(one)
                depth += (one == "(") - (one == ")")
                if one == ")" and not depth:
                    break
            break
    return guards


def folded(text: str) -> str:
    """The tokens of ``text`` without the words in which twins differ.

    >>> folded("async with AsyncClient(2) as c: await c.aclose()")
    'with client ( 2 ) as c : c . close ( )'
    """
    return " ".join(filter(None, map(_folded_token, _TOKEN.findall(text))))


@lru_cache(100_000)
def _folded_token(token: str) -> str:
    """``token`` as its parts in lower case; empty if it is only a word of twins."""
    parts = [part.lower() for part in name_parts(token)]
    kept = [part for part in parts if part not in _WORDS_OF_TWINS]
    if not parts:
        return token
    return "_".join(_PYTHONS_OWN.sub(r"\1", p) if _PYTHONS_OWN.fullmatch(p) else p for p in kept)


def _container(anchor: str) -> str:
    """What a definition stands in.

    >>> _container("Client.get"), _container("tests::get"), _container("get")
    ('Client', 'tests', '')
    """
    inside = re.fullmatch(r"(.+?)(?:\.|::)[^.:]+", anchor)
    return inside[1] if inside else ""
