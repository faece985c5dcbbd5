"""Converts the filters of other frameworks to options of a query."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from operators.errors import CrosscorpusError, check_known
from operators.options import FILTERS, ONLY_CORPORA

NAMES = {name: one for one in FILTERS for name in (one.flag, one.column, one.name)}
NAMES[ONLY_CORPORA] = NAMES["corpora"]
"""The filters by their names, those of the metadata included. ``principals`` is none: the caller's
program sets it, never a filter."""


def options_of(filters: Mapping[str, Any]) -> dict[str, Any]:
    """The options of ``driver.ask`` for filters given by name.

    Raises:
        CrosscorpusError: a filter is unknown, or given under two names.
    """
    return joined((name, "==", value) for name, value in filters.items() if value is not None)


def joined(conditions: Iterable[tuple[str, str, Any]]) -> dict[str, Any]:
    """The options for conditions that must all hold: a name, an operator and a value each.

    The operator is ``==`` or, if an option takes several values, ``in``.

    Raises:
        CrosscorpusError: a filter or its operator is unknown, or it is given twice or has no value.
    """
    options = dict[str, Any]()
    for key, operator, value in conditions:
        check_known("filter", key, NAMES)
        name, kind = NAMES[key].name, NAMES[key].kind
        taken = ["==", "in"] if kind in ("names", "versions") else ["=="]
        if operator not in taken:
            raise CrosscorpusError(f"filter {key!r} takes {' or '.join(taken)}, not {operator!r}")
        if value is None:  # the driver would take it for no filter, and search everything
            raise CrosscorpusError(f"filter {key!r} has no value: leave it out or give it one")
        if name in options:
            raise CrosscorpusError(f"filter {key!r} is given twice: give one list of values")
        options[name] = value
    return options


def question(
    top_k: int,
    *options: Mapping[str, Any],
    principals: Sequence[str] | None = None,
    trigger: str | None = None,
) -> dict[str, Any]:
    """Keywords of ``driver.ask``; the last value of an option in several of ``options`` wins.

    Without ``principals`` the caller is the owner, who sees everything.
    """
    request: dict[str, Any] = {"top_k": top_k, "trigger": trigger}
    for more in options:
        request |= more
    if principals is None:
        return request
    return request | {"principals": [principals] if isinstance(principals, str) else [*principals]}
