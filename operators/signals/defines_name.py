"""A file that defines what the question names is likely to answer."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import polars as pl

from operators.question.intent import MOST_NAMES
from operators.ranking.definitions import defines, flat_name
from operators.ranking.linked_files import File
from operators.signals.files import rows_by_file
from operators.signals.rule import Questions, Values, gain

MOST_DEFINING = 3
"""A capitalised word that more files define, such as a namespace, is no name of a question."""

FEW_NAMES = 8
"""A file that defines this many names of a question counts as defining all of them."""


@gain
def defines_name(hits: pl.DataFrame, questions: Questions) -> Values:
    """How many of the names in the question the hit's file defines, at one passage of it.

    A question that is a name gives 1 to each passage that defines it, and .4 to other passages of a
    file of that name. Otherwise a file gets the share of the names (of up to ``FEW_NAMES``) that
    its passages define: at a passage that defines one of them if the question has one or two names,
    at its best passage if it has more. In a file with one of the names, all values are times 1.5.
    A capitalised word is a name if one to ``MOST_DEFINING`` of the files define it, but for the
    project's own name.
    """
    value = np.zeros(hits.height)
    passages = hits["text", "metadata"].rows()
    for (query, _), files in rows_by_file(hits).items():
        asked = questions[query]
        if words := capitalised(asked, list(files)):
            words = [
                word for word in words if 0 < _defining(word, files, passages) <= MOST_DEFINING
            ]
        names = [asked["name"]] if asked["name"] else [*asked["names"], *words]
        names = list(dict.fromkeys(names))[:MOST_NAMES]
        flat = {flat_name(name) for name in names}
        for (_, path), rows in files.items() if names else ():
            own = [{name for name in names if defines(name, *passages[row])} for row in rows]
            so_called = flat_name(PurePosixPath(path).stem) in flat
            boost = 1.5 if so_called else 1.0
            if asked["name"]:
                value[rows] = [boost if defined else 0.4 * so_called for defined in own]
            elif defined := set[str]().union(*own):
                at = 0 if len(names) > 2 else next(n for n, one in enumerate(own) if one)
                value[rows[at]] = min(len(defined) / min(len(names), FEW_NAMES), 1.0) * boost
    return value


def capitalised(asked: dict[str, Any], files: Sequence[File]) -> list[str]:
    """The capitalised words of a question, but for the names of the ``files``' own projects."""
    projects = {repo.rpartition("/")[2].casefold() for repo, _ in files}
    return [word for word in asked["capitalised"] if word.casefold() not in projects]


def _defining(
    word: str, files: dict[File, list[int]], passages: Sequence[tuple[str | None, str | None]]
) -> int:
    """How many of the files define ``word``."""
    return sum(any(defines(word, *passages[row]) for row in rows) for rows in files.values())
