"""A grid of settings: every combination of the given values."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import yaml

from operators.errors import CrosscorpusError

MOST_COMBINATIONS = 500


class GridError(CrosscorpusError):
    """Settings that define no grid; the message names them."""


def read_settings(given: Sequence[str]) -> dict[str, list[Any]]:
    """Settings in command-line form.

    >>> read_settings(["rrf_k=2,60", "merged=rrf,convex"])
    {'rrf_k': [2, 60], 'merged': ['rrf', 'convex']}

    Raises:
        GridError: one is not ``NAME=V1,V2,...``, has a value twice, or is given twice.
    """
    settings: dict[str, list[Any]] = {}
    for text in given:
        name, equals, listed = text.partition("=")
        values = [_value(item) for item in listed.split(",")]
        if not equals or not name.strip() or None in values:
            raise GridError(f"{text!r} is no setting: write it as vector_weight=0.3,0.5,0.7")
        if len({repr(value) for value in values}) < len(values):
            raise GridError(f"{text!r} has a value twice")
        if name.strip() in settings:
            raise GridError(f"{name.strip()!r} is set twice: give all its values at once")
        settings[name.strip()] = values
    return settings


def _value(text: str) -> Any:
    """A number, a truth value or a word; a bare ``off`` is the name of a variant."""
    if text.strip() in ("on", "off", "yes", "no"):
        return text.strip()
    try:
        value = yaml.safe_load(text)
    except Exception:  # not YAML, or text on which PyYAML fails: a number of 5,000 digits, [[[[
        return text.strip()
    return value if isinstance(value, int | float | str | None) else text.strip()


def grid(settings: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination, the last setting varying fastest.

    Raises:
        GridError: there is no setting, or there are over ``MOST_COMBINATIONS`` combinations.
    """
    points = [
        dict(zip(settings, values, strict=True)) for values in itertools.product(*settings.values())
    ]
    if not settings or not points:
        raise GridError("a sweep needs a setting with values, such as vector_weight=0.3,0.5,0.7")
    if len(points) > MOST_COMBINATIONS:
        raise GridError(f"{len(points)} combinations are too many: at most {MOST_COMBINATIONS}")
    return points


def point_name(point: Mapping[str, Any]) -> str:
    """The name of a combination.

    >>> point_name({"rrf_k": 60, "merged": "rrf"})
    'rrf_k=60 merged=rrf'
    """
    return " ".join(f"{name}={value}" for name, value in point.items())


def sweep_table(
    points: Sequence[Mapping[str, Any]], summary: pl.DataFrame, comparison: pl.DataFrame
) -> pl.DataFrame:
    """One row per combination and measure, with its settings and its numbers.

    Args:
        summary: columns ``SUMMARY``; configurations are named by :func:`point_name`.
        comparison: columns ``COMPARISON``, against the configuration without changes.

    Returns:
        ``point``, a column per setting, ``measure``, ``mean``, ``low``, ``high`` of the summary,
        and ``difference``, ``difference_low``, ``difference_high``, ``p``, ``p_corrected`` of the
        comparison; in the order of the points and of the measures.
    """
    names = [point_name(point) for point in points]
    settings = {name: [point[name] for point in points] for name in points[0]}
    table = pl.DataFrame(
        {"point": names, **{k: pl.Series(v, strict=False) for k, v in settings.items()}}
    ).with_row_index("order")
    means = summary.filter(slice="all").drop("slice", "queries")
    against = comparison.select(
        *("measure", "difference", "p", "p_corrected"),
        point="config",
        difference_low="low",
        difference_high="high",
    )
    return (
        table.join(means, left_on="point", right_on="config", maintain_order="left_right")
        .join(against, on=["point", "measure"], how="left", maintain_order="left")
        .select(
            "point",
            *settings,
            *("measure", "mean", "low", "high"),
            *("difference", "difference_low", "difference_high", "p", "p_corrected"),
        )
    )
