"""Converts the filters of other frameworks to options of a query."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from operators.errors import CrosscorpusError, check_known

OPTIONS = {"corpus": "corpora", "repo": "repos", "path_prefix": "path", "only_corpora": "corpora"}
OPTIONS |= {"versions": "version"}
"""Other names of an option, such as those of the metadata -> the option of ``driver.ask``."""

SEVERAL = frozenset({"corpora", "repos", "version"})
"""Options that take several values."""

SINGLE = frozenset({"path", "language", "state", "pattern", "symbol", "uses", "as_of"})
"""Options that take one value."""

KNOWN = frozenset({*OPTIONS, *SEVERAL, *SINGLE})
"""The filters. ``principals`` is none: the caller's program sets it, never a filter."""


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
        CrosscorpusError: a filter or its operator is unknown, or a filter is given twice.
    """
    options = dict[str, Any]()
    for key, operator, value in conditions:
        check_known("filter", key, KNOWN)
        name = OPTIONS.get(key, key)
        taken = ["==", "in"] if name in SEVERAL else ["=="]
        if operator not in taken:
            raise CrosscorpusError(f"filter {key!r} takes {' or '.join(taken)}, not {operator!r}")
        if name in options:
            raise CrosscorpusError(f"filter {key!r} is given twice: give one list of values")
        options[name] = value
    return options


def conditions(filters: Mapping[str, Any] | None) -> Iterator[tuple[str, str, Any]]:
    """The conditions of Haystack's filters, for :func:`joined`.

    Raises:
        CrosscorpusError: they are joined by another operator than ``AND``.
    """
    if not filters:
        return
    if filters.keys() == {"field", "operator", "value"}:
        yield filters["field"].removeprefix("meta."), filters["operator"], filters["value"]
    elif filters.keys() == {"operator", "conditions"} and filters["operator"] == "AND":
        for one in filters["conditions"]:
            yield from conditions(one)
    else:
        raise CrosscorpusError(
            "filters are comparisons (field, operator, value), joined by the operator 'AND', not"
            f" {filters.get('operator')!r}"
        )


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
