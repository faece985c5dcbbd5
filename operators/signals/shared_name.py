"""The name of a file says what it is about: words of the question in it count, rare ones more."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import numpy as np
import polars as pl

from operators.foundation.short_cache import cached_if_short
from operators.foundation.tokenizer import name_parts, stem
from operators.ranking.linked_files import File
from operators.signals.files import rows_by_file
from operators.signals.rule import Questions, Values, gain

COVER = 0.43
"""The weight of the share of the file's own name that the question has, beside the other share."""


@gain
def shared_name(hits: pl.DataFrame, questions: Questions) -> Values:
    """How well the names of the hit's file and folder match the words of the question.

    The share of the question's words that are in the name of the file or its folder, and ``COVER``
    times the share of the file's own name that the question has. A word counts
    ``log(1 + (N - n + .5) / (n + .5))`` over its value for no file, with ``n`` of the ``N`` files
    that have it: a word that most files have selects none. For a question that is itself a name, 0.
    """
    value = np.zeros(hits.height)
    for (query, _), files in rows_by_file(hits).items():
        asked = questions[query]
        if asked["words"]:
            matches = _matches(list(files), asked["words"], asked["word_parts"])
            for rows, match in zip(files.values(), matches, strict=True):
                value[rows] = match
    return value


def _matches(files: Sequence[File], words: Sequence[str], parts: Sequence[str]) -> Iterator[float]:
    index, known, whole = _by_start(words), _by_start(parts), set(parts)
    matched = [
        sorted({w for part in _around(path) for w in _alike(part, index)}) for _, path in files
    ]
    counts = Counter(word for common in matched for word in common)
    n = len(files)
    rare = {
        word: math.log(1 + (n - count + 0.5) / (count + 0.5)) / math.log(1 + (n + 0.5) / 0.5)
        for word, count in counts.items()
    }
    for (_, path), common in zip(files, matched, strict=True):
        own = _parts(PurePosixPath(path).stem)
        covered = sum(part in whole or any(True for _ in _alike(part, known)) for part in own)
        cover = covered / len(own) if own else 0.0
        share = sum(rare[word] for word in common) / len(words)
        yield share + COVER * cover * max((rare[word] for word in common), default=0.0)


@cached_if_short(65_536)
def _parts(name: str) -> tuple[str, ...]:
    return tuple(stem(part.lower()) for part in name_parts(name))


@cached_if_short(65_536)
def _around(path: str) -> frozenset[str]:
    """The words of a file's own name and of its folder."""
    file = PurePosixPath(path)
    names = [name for name in (file.stem, file.parent.name) if name]
    return frozenset(part for name in names for part in (stem(name.lower()), *_parts(name)))


def _by_start(words: Iterable[str]) -> dict[str, list[str]]:
    """``words`` by their first three letters, for :func:`_alike`."""
    by_start = defaultdict[str, list[str]](list)
    for word in words:
        by_start[word[:3]].append(word)
    return by_start


def _alike(part: str, words: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Those of ``words`` that are a prefix of ``part`` or the reverse; ``words`` by start."""
    return (w for w in words.get(part[:3], ()) if part.startswith(w) or w.startswith(part))
