"""Arguments of callers over HTTP and MCP: options are parsed by one rule, then checked.

The rule is that of :mod:`operators.context.asked_values`, as in Python and on the command line. So
both interfaces accept any value of an option, and their schemas still state its type.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from inspect import Parameter, signature
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    SkipValidation,
    ValidationError,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from dataflow.service.models import UNKNOWN_ARGUMENT, faults
from operators.context.asked_values import OPTIONS, read_asked
from operators.errors import CrosscorpusError, UnknownName, check_known

Model = TypeVar("Model", bound=BaseModel)


class Arguments(BaseModel):
    """Arguments of a caller. An unknown name is an error: ignoring a filter would widen the search.

    >>> read_given(create_model("Request", __base__=Arguments, query=(str, ...)), {"qurey": "x"})
    Traceback (most recent call last):
    operators.errors.CrosscorpusError: unknown argument 'qurey', did you mean 'query'?
    """

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, arguments: Any) -> Any:
        try:
            check_names(arguments if isinstance(arguments, Mapping) else (), cls.model_fields)
        except UnknownName as error:  # pydantic would let it pass as an error of ours
            raise PydanticCustomError(UNKNOWN_ARGUMENT, "{why}", {"why": str(error)}) from None
        return arguments


def check_names(given: Iterable[str], known: Collection[str]) -> None:
    """Raise :class:`UnknownName` for the first given argument that is not known."""
    for name in given:
        check_known("argument", name, known)


@cache
def model_of(tool: Callable[..., Any]) -> type[BaseModel]:
    """The parameters that a tool accepts from a caller; others are refused."""
    fields: dict[str, Any] = {
        one.name: (one.annotation, ... if one.default is Parameter.empty else one.default)
        for one in signature(tool).parameters.values()
        if one.name != "service"
    }
    return create_model(f"{tool.__name__.title()}Request", __base__=Arguments, **fields)


def sent_types(model: type[BaseModel]) -> dict[str, Any]:
    """The options of ``model`` -> a type that accepts any value and has the schema of the option.

    It is an unchecked ``str``, because the MCP package parses a text as JSON for any other type.
    """
    schemas = model.model_json_schema()["properties"]
    return {
        name: Annotated[str, SkipValidation, WithJsonSchema(schemas[name])]
        for name in model.model_fields
        if name in OPTIONS
    }


def as_sent(model: type[BaseModel]) -> type[BaseModel]:
    """``model`` before its options are read."""
    types = sent_types(model).items()
    fields: dict[str, Any] = {name: (of, model.model_fields[name].default) for name, of in types}
    return create_model(model.__name__, __base__=model, **fields)


def read_given(model: type[Model], given: Mapping[str, Any]) -> tuple[Model, list[str]]:
    """The given arguments as ``model``, and notes on values that were ignored or reinterpreted.

    Raises:
        CrosscorpusError: a value can't be read, or is out of its bounds.
    """
    options, notes = read_asked(given)
    try:
        return model.model_validate(options), notes
    except ValidationError as error:
        raise CrosscorpusError(faults(error.errors())) from None
