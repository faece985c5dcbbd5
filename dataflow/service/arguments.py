"""Arguments of callers over HTTP and MCP: options are parsed by one rule, then checked.

The rule is that of :mod:`operators.question.read_options`, as in Python and on the command line. So
both interfaces accept any value of an option, and their schemas still state its type.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import cache
from inspect import Parameter, signature
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SkipValidation,
    ValidationError,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from dataflow.service.models import UNKNOWN_ARGUMENT, faults, without_nul
from operators.errors import CrosscorpusError, UnknownName, check_known
from operators.options import FILTERS, OPTIONS, TRIGGER, Option
from operators.question.read_options import read_asked

Model = TypeVar("Model", bound=BaseModel)
Tool = TypeVar("Tool", bound=Callable[..., Any])

MOST_NAMES = 100
"""The most texts of one option."""


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


def takes_filters(*names: str) -> Callable[[Tool], Tool]:
    """Gives a tool parameters for filters of a question and its trigger: its ``**options``.

    They are in its signature, which becomes the schemas of MCP and HTTP. Without ``names`` they are
    all; an agent pays for each that it reads.
    """

    def with_filters(tool: Tool) -> Tool:
        own = signature(tool, eval_str=True)
        kept = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        kept += [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=FILTER_TYPES[name])
            for name in names or FILTER_TYPES
        ]
        tool.__signature__ = own.replace(parameters=kept)  # type: ignore[attr-defined]
        return tool

    return with_filters


def _type_of(option: Option) -> Any:
    text = Annotated[str, Field(max_length=option.longest), AfterValidator(without_nul)]
    kinds: dict[str, Any] = {
        "names": Annotated[list[text], Field(max_length=MOST_NAMES)],
        "moment": datetime,
        "date": Annotated[datetime | text, WithJsonSchema({"type": "string"})],
    }
    return Annotated[kinds.get(option.kind, text) | None, Field(description=option.says)]


FILTER_TYPES = {one.name: _type_of(one) for one in (*FILTERS, TRIGGER)}
"""What limits a question of a tool, and its trigger, with their types."""


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
