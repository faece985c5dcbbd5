"""What a rule is: a function that gives one value a hit, and what the value does to the order.

A rule of a user's own is written the same way, in a module that the configuration names.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from operators.errors import CrosscorpusError, raised

Values: TypeAlias = NDArray[np.float64] | Sequence[float]
"""One value a hit, in the order of the hits; 0: the rule says nothing of it."""

Told: TypeAlias = Values | tuple[Values, Sequence[int | None]]
"""The values, and for each the chunk that it comes from, if it is another hit's."""

Kind: TypeAlias = Literal["factor", "gain", "lead"]

Questions: TypeAlias = dict[int, dict[str, Any]]
"""What each question asks for, by its number: the columns of ``INTENT`` and ``version_scope``."""


@dataclass(frozen=True)
class Rule:
    """A rule by its name, with what its values do: see the decorators."""

    name: str
    kind: Kind
    meaning: str  # the first line of its docstring
    function: Callable[[pl.DataFrame, Questions], Told]

    def __call__(
        self, hits: pl.DataFrame, questions: Questions
    ) -> tuple[NDArray[np.float64], Sequence[int | None] | None]:
        """The values of ``hits``, and the chunks that they come from.

        Raises:
            CrosscorpusError: the function fails, or does not give one finite number a hit.
        """
        try:
            told = self.function(hits, questions)
            values, sources = told if isinstance(told, tuple) else (told, None)
            value = np.asarray(values, np.float64)
        except Exception as error:
            what = raised(error, self.function.__code__.co_filename, hits.columns)
            raise CrosscorpusError(f"the rule {self.name!r} raises {what}") from error
        if value.shape != (hits.height,) or not np.isfinite(value).all():
            wanted = f"one finite number for each of {hits.height} hits"
            raise CrosscorpusError(
                f"the rule {self.name!r} must give {wanted}, got {value.tolist()!s:.60}"
            )
        return value, sources


def factor(function: Callable[[pl.DataFrame, Questions], Told]) -> Rule:
    """A rule that multiplies: a hit's score is times ``weight ** value``."""
    return _rule("factor", function)


def gain(function: Callable[[pl.DataFrame, Questions], Told]) -> Rule:
    """A rule that adds ``weight * value`` times the best score of the hit's corpus.

    The hits of a corpus exchange their scores, so that others keep their ranks.
    """
    return _rule("gain", function)


def lead(function: Callable[[pl.DataFrame, Questions], Told]) -> Rule:
    """A rule that puts hits of a value above 0 first, the highest before all; below 0 last."""
    return _rule("lead", function)


def _rule(kind: Kind, function: Callable[[pl.DataFrame, Questions], Told]) -> Rule:
    name = function.__name__
    return Rule(name, kind, (function.__doc__ or name).strip().partition("\n")[0], function)
