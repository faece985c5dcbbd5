"""Type and bounds checks of the values of a configuration and of a call.

Without them, a search with a wrong value fails late or gives wrong results. Pydantic checks both
in its strict mode: a bool is no number, ``"1"`` is none either, an int is a float.
"""

from dataclasses import is_dataclass
from functools import cache
from typing import Annotated, Any

from pydantic import ConfigDict, Field, InstanceOf, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

_Finite = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[_Finite, Field(ge=0)]
_Positive = Annotated[_Finite, Field(gt=0)]
_AtLeastOne = Annotated[_Finite, Field(ge=1)]
_Share = Annotated[_Finite, Field(ge=0, le=1)]
_Threshold = Annotated[_Finite, Field(gt=0, le=1)]

_BOUNDED = {
    NotNegative: "context_budget context_depth full_weight_terms "
    "grown_characters grown_passages joined_passages lexical_margin linked_files more_passages "
    "most_linked passage_characters recency_boost recency_days rerank_depth search_depth "
    "strong_from top_k weak_below",
    _Positive: "rrf_k",
    _AtLeastOne: "max_query_characters",
    _Share: "context_floor missing_score_fraction vector_weight weak_context_floor",
    _Threshold: "cosine_threshold jaccard_threshold",
}
BOUNDS: dict[str, Any] = {name: of for of, names in _BOUNDED.items() for name in names.split()}
"""The bounds of each numeric parameter; without an entry it may be any finite number."""

_STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True)


def fits(value: Any, annotation: Any) -> bool:
    """Whether ``value`` is of the annotated type; an int is a float, a bool is no number.

    >>> fits(60, float), fits(True, int), fits(["1"], list[str]), fits("1", int)
    (True, False, True, False)
    """
    try:
        _adapter(annotation).validate_python(value)
    except ValidationError:
        return False
    return True


def out_of_bounds(name: str, value: Any) -> str | None:
    """The error text for a value outside the bounds of the parameter ``name``; None: it fits.

    >>> out_of_bounds("vector_weight", 7), out_of_bounds("top_k", 0)
    ('expected less than or equal to 1, got 7', None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        _adapter(BOUNDS.get(name, _Finite)).validate_python(value)
    except ValidationError as error:
        return expectation(error.errors(include_url=False)[0])
    return None


def expectation(fault: ErrorDetails) -> str:
    """The expected and the actual value, for a Pydantic error."""
    return f"{fault['msg'].replace('Input should be', 'expected', 1)}, got {fault['input']!r}"


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    if is_dataclass(annotation) or hasattr(annotation, "_fields"):  # its fields are not checked
        return TypeAdapter(InstanceOf[annotation])
    return TypeAdapter(annotation, config=_STRICT)
