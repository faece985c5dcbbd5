"""What a configuration may name: read from the retrieval modules, so that no list is kept twice.

A function ``merged__convex`` is the variant ``convex`` of the stage ``merged``; an argument with a
default that no node computes is a parameter. A new variant or parameter is therefore known to the
configuration, to its error messages and to the diff as soon as its function exists.
"""

import functools
import importlib
import inspect
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from hamilton.function_modifiers.base import NodeResolver
from hamilton.graph_utils import find_functions

MODULES = tuple(
    f"dataflow.retrieval.{name}"
    for name in ("queries", "versions", "fusion", "assembly", "explanation")
)
CORPUS_MODULES = ("dataflow.retrieval.corpus",)

DRIVER_INPUTS = frozenset({"store", "embedder", "timings"})
"""Inputs that the driver gives to every run."""

RUN_INPUTS = frozenset(
    {
        "query",
        "trigger",
        "repos",
        "path_prefix",
        "language",
        "state",
        "as_of",
        "only_corpora",
        "versions",
        "now",
        "reranker",
        "explain_chunks",
    }
)
"""Inputs that a caller gives to one run; all but ``query`` may be left out."""

CONFIG_INPUTS = frozenset(
    {
        "corpus",
        "corpora",
        "label",
        "link",
        "filters",
        "deadline_s",
        "source_weights",
        "triggers",
        "embedding",
    }
)
"""Arguments that the configuration fills by its structure, not by its ``parameters``."""


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


@dataclass(frozen=True)
class Catalog:
    """The stages around the corpora and the stages that every corpus has."""

    top: Layer
    corpus: Layer
    modules: tuple[ModuleType, ...]


@functools.cache
def retrieval_catalog() -> Catalog:
    """The catalog of the shipped retrieval graph."""
    modules = tuple(importlib.import_module(name) for name in MODULES)
    corpus = tuple(importlib.import_module(name) for name in CORPUS_MODULES)
    return read_catalog(modules, corpus)


def read_catalog(modules: tuple[ModuleType, ...], corpus: tuple[ModuleType, ...]) -> Catalog:
    """Read ``modules`` and the modules that make one corpus's sub-graph."""
    return Catalog(read_layer(*modules), read_layer(*corpus), modules)


def read_layer(*modules: ModuleType) -> Layer:
    """The variants and parameters that the functions of ``modules`` declare.

    Raises:
        ValueError: one parameter has two defaults, so that leaving it out would mean two things.
    """
    variants: dict[str, list[str]] = {}
    parameters: dict[str, Parameter] = {}
    functions = [pair for module in modules for pair in find_functions(module)]
    nodes = frozenset(name.partition("__")[0] for name, _ in functions)
    for name, function in functions:
        node, _, variant = name.partition("__")
        if variant and f"{node}_variant" in _config_keys(function):
            variants.setdefault(node, []).append(variant)
        for found in _parameters(function, nodes):
            known = parameters.setdefault(found.name, found)
            if known.default != found.default:
                raise ValueError(
                    f"parameter {found.name!r} has the default {found.default!r} in {name} and "
                    f"{known.default!r} elsewhere"
                )
    return Layer(nodes, {n: tuple(sorted(v)) for n, v in sorted(variants.items())}, parameters)


def _config_keys(function: Any) -> set[str]:
    """The keys that its ``@config.when`` reads; a stage may follow another stage's variant."""
    resolvers = getattr(function, NodeResolver.get_lifecycle_name(), [])
    return {key for resolver in resolvers for key in resolver.optional_config() or ()}


def _parameters(function: Any, nodes: frozenset[str]) -> Iterator[Parameter]:
    hints = typing.get_type_hints(function)
    for argument in inspect.signature(function).parameters.values():
        taken = nodes | DRIVER_INPUTS | RUN_INPUTS | CONFIG_INPUTS
        if argument.default is not inspect.Parameter.empty and argument.name not in taken:
            yield Parameter(argument.name, hints.get(argument.name, Any), argument.default)
