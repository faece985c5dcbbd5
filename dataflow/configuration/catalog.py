"""The names that a configuration may use, read from the retrieval modules: no list is kept twice.

A function ``merged__convex`` is the variant ``convex`` of the stage ``merged``; an argument with a
default that no node computes is a parameter. So a new variant or parameter is known to the
configuration, to its error messages and to the diff as soon as its function exists.
"""

import functools
import importlib
import inspect
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import polars as pl
from hamilton.function_modifiers import tag
from hamilton.graph_utils import find_functions

from dataflow.configuration.loader import ConfigError
from dataflow.configuration.own_modules import (
    check_functions,
    config_keys,
    origin,
    own_module,
    own_rules,
    variant_of,
)
from operators import frames
from operators.errors import suggest
from operators.options import INPUTS
from operators.signals.rule import Rule

MODULES = tuple(
    f"dataflow.retrieval.{name}" for name in ("queries", "versions", "score", "fusion", "assembly")
)
CORPUS_MODULES = ("dataflow.retrieval.corpus",)

Modules = tuple[ModuleType, ...]

DRIVER_INPUTS = frozenset({"store", "embedder", "homes", "other_embedders", "timings"})
"""Inputs that the driver gives to every run."""

RUN_INPUTS = INPUTS | {"query", "trigger", "now", "reranker", "explain_chunks", "read_as"}
"""Inputs of one run from its caller; all except ``query`` are optional."""

CONFIG_INPUTS = frozenset(
    {
        *("corpus", "corpora", "label", "link", "filters", "deadline_s", "source_weights"),
        *("triggers", "embedding", "reranker_model", "chosen_variants", "top_parameters"),
        *("corpus_modules", "own_modules", "own_rules", "on_corpus_error"),
    }
)
"""Arguments that come from the structure of the configuration, not from its ``parameters``."""


@dataclass(frozen=True)
class Parameter:
    """A tunable number, switch or name: its type and its default, as the node declares them."""

    name: str
    annotation: Any
    default: Any


@dataclass(frozen=True)
class Layer:
    """The stages of one set of modules: their variants and parameters."""

    nodes: frozenset[str]
    variants: dict[str, tuple[str, ...]]
    parameters: dict[str, Parameter]
    # those of a node with a row for each corpus: a corpus may have its own values
    of_corpora: dict[str, Parameter] = field(default_factory=dict)
    # nodes that always have a variant without a name, so that a configuration need not choose
    plain: frozenset[str] = frozenset()
    # for each node the function that computes it, or one of them
    functions: dict[str, Any] = field(default_factory=dict)
    # the columns of the frame of each node or field that declares them
    frames: dict[str, pl.Schema] = field(default_factory=dict)


@dataclass(frozen=True)
class Catalog:
    """The stages around the corpora, and the stages that every corpus has."""

    top: Layer
    corpus: Layer
    modules: tuple[ModuleType, ...]
    # the version or hash of each of the user's own modules, by name
    own: dict[str, str] = field(default_factory=dict)
    inside: Modules = ()  # those of them whose nodes every corpus has
    rules: dict[str, Rule] = field(default_factory=dict)  # of the user's own modules, by name

    @property
    def frames(self) -> dict[str, pl.Schema]:
        """The columns of the frames of nodes, by node name without the corpus."""
        return {**self.top.frames, **self.corpus.frames}


def retrieval_catalog(modules: Sequence[str] = (), corpus_modules: Sequence[str] = ()) -> Catalog:
    """The catalog of the retrieval graph, with the user's own modules.

    Args:
        modules: names or files of modules with nodes around the corpora.
        corpus_modules: likewise, with nodes that every corpus has.

    Raises:
        ConfigError: a module can't be used; names the function.
    """
    own = tuple(own_module(name) for name in modules)
    inside = tuple(own_module(name) for name in corpus_modules)
    return _retrieval_catalog(own, inside)


@functools.cache
def _retrieval_catalog(own: Modules, inside: Modules) -> Catalog:
    shipped = tuple(importlib.import_module(name) for name in MODULES)
    corpus = tuple(importlib.import_module(name) for name in CORPUS_MODULES)
    if not own and not inside:
        return Catalog(*_layers(shipped, corpus), shipped)
    ours = _retrieval_catalog((), ())
    check_functions(own, ours.top.functions, ours.top.variants)
    check_functions(inside, ours.corpus.functions, ours.corpus.variants)
    try:
        top, each = _layers((*shipped, *own), (*corpus, *inside))
    except ValueError as error:
        raise ConfigError(f"modules: {error}") from None
    names = {one.__name__: origin(one) for one in (*own, *inside)}
    return Catalog(top, each, (*shipped, *own), names, inside, own_rules(own))


def _layers(around: Modules, inside: Modules) -> tuple[Layer, Layer]:
    """The stages around the corpora, and those of every corpus with what a corpus may set."""
    top, each = read_layer(*around), read_layer(*inside)
    return top, replace(each, parameters=each.parameters | top.of_corpora)


def read_layer(*modules: ModuleType) -> Layer:
    """The variants and parameters that the functions of ``modules`` declare.

    Raises:
        ValueError: one parameter has two defaults, so that its default would be ambiguous, or is
            of the node with a row for each corpus and of another too; or a tag names no frame.
    """
    variants: dict[str, list[str]] = {}
    parameters: dict[str, Parameter] = {}
    of_corpora: dict[str, Parameter] = {}
    functions = [pair for module in modules for pair in find_functions(module)]
    nodes = frozenset(name.partition("__")[0] for name, _ in functions)
    for name, function in functions:
        node, variant = variant_of(function, name)
        if variant and f"{node}_variant" in config_keys(function):
            variants.setdefault(node, []).append(variant)
        rows = any(schema is frames.CORPORA for _, schema in _frames(name, function))
        for parameter in _parameters(function, nodes):
            known = (of_corpora if rows else parameters).setdefault(parameter.name, parameter)
            if known.default != parameter.default:
                raise ValueError(
                    f"parameter {parameter.name!r} has the default {parameter.default!r} in {name} "
                    f"and {known.default!r} elsewhere"
                )
    for name in sorted(of_corpora.keys() & parameters.keys()):
        raise ValueError(f"parameter {name!r} is one of corpus_settings: read its frame instead")
    return Layer(
        nodes,
        {node: tuple(sorted(of)) for node, of in sorted(variants.items())},
        parameters,
        of_corpora,
        frozenset(name for name, _ in functions if "__" not in name),
        {name.partition("__")[0]: function for name, function in functions},
        {name: schema for pair in functions for name, schema in _frames(*pair)},
    )


def _frames(name: str, function: Any) -> Iterator[tuple[str, pl.Schema]]:
    """The node, or its fields in order, and the schema that its tag ``frame`` names."""
    tags = [one.tags for one in getattr(function, "decorate_nodes", []) if isinstance(one, tag)]
    for named in (of["frame"] for of in tags if "frame" in of):
        schemas = [named] if isinstance(named, str) else named
        parts = getattr(function, "transform", [])
        fields = [field for one in parts for field in one.fields] or [name.partition("__")[0]]
        known = {of: schema for of, schema in vars(frames).items() if isinstance(schema, pl.Schema)}
        for of in schemas:
            if of not in known:
                raise ValueError(f"{name}: its tag names no frame {of!r}{suggest(of, known)}")
        yield from ((n, known[of]) for n, of in zip(fields, schemas, strict=True))


def _parameters(function: Any, nodes: frozenset[str]) -> Iterator[Parameter]:
    hints = typing.get_type_hints(function)
    for argument in inspect.signature(function).parameters.values():
        taken = nodes | DRIVER_INPUTS | RUN_INPUTS | CONFIG_INPUTS
        if argument.default is not inspect.Parameter.empty and argument.name not in taken:
            yield Parameter(argument.name, hints.get(argument.name, Any), argument.default)
