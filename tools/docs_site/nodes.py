"""Every node of every graph, as its own functions say it: what the pages of nodes are made from."""

import importlib
import inspect
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from annotated_types import Ge, Gt, Le, Lt
from hamilton.function_modifiers import extract_fields, tag
from hamilton.graph_utils import find_functions

from dataflow.configuration.catalog import CORPUS_MODULES, MODULES, retrieval_catalog
from dataflow.configuration.config_model import load_config
from dataflow.configuration.value_checks import BOUNDS
from dataflow.execution.annotations import spell
from tools.docs_site.markdown import without_modules

GRAPHS = {
    "retrieval": (*MODULES, *CORPUS_MODULES),
    "review": ("dataflow.review.nodes",),
    "ingestion": ("dataflow.ingestion.graph",),
    "evaluation": ("dataflow.evaluation.runs", "dataflow.evaluation.comparisons"),
}
"""The graphs, and the modules that their nodes are in."""


@dataclass(frozen=True)
class Argument:
    """What a node reads or is told."""

    name: str
    annotation: str
    default: str  # as code; "" where it has none
    bounds: str  # such as "0 to 1"; "" where there are none
    of_each: str = ""  # the node of every corpus that it gathers


@dataclass(frozen=True)
class Form:
    """One function of a node: its only one, or one of its variants."""

    variant: str  # "" for a node with one form
    function: Any
    reads: tuple[Argument, ...]  # other nodes, and inputs of the run
    parameters: tuple[Argument, ...]


@dataclass(frozen=True)
class PageNode:
    """A node with all its forms."""

    graph: str
    name: str
    stage: str
    module: str
    of_corpus: bool  # whether every corpus has it
    gives: str  # the type of its result
    fields: tuple[str, ...]  # the parts of its result that are nodes too
    frames: tuple[str, ...]  # their names in operators/frames.py
    tags: dict[str, Any]
    forms: tuple[Form, ...]


@cache
def nodes() -> tuple[PageNode, ...]:
    """Every node of the four graphs, in the order of their modules.

    ``corpus_branch`` is none: it is where the sub-graph of each corpus hangs.
    """
    return tuple(node for graph in GRAPHS for node in _of_graph(graph))


def _of_graph(graph: str) -> Iterator[PageNode]:
    of_nodes: dict[str, list[tuple[str, Any]]] = {}
    for name in GRAPHS[graph]:
        functions = find_functions(importlib.import_module(name))
        for written, function in sorted(functions, key=lambda one: _line(one[1])):
            if "stage" in _tags(function):
                of_nodes.setdefault(written.partition("__")[0], []).append((written, function))
    fields = {part for of in of_nodes.values() for _, one in of for part in _fields(one)}
    known = of_nodes.keys() | fields
    for name, functions_of in of_nodes.items():
        first = functions_of[0][1]
        tags = {key: value for _, one in functions_of for key, value in _tags(one).items()}
        frames = tags.pop("frame", ())
        yield PageNode(
            graph=graph,
            name=name,
            stage=tags.pop("stage"),
            module=first.__module__,
            of_corpus=first.__module__ in CORPUS_MODULES,
            gives=without_modules(spell(typing.get_type_hints(first)["return"])),
            fields=_fields(first),
            frames=(frames,) if isinstance(frames, str) else tuple(frames),
            tags=tags,
            forms=tuple(_form(graph, *one, known) for one in functions_of),
        )


def _line(function: Any) -> int:
    return int(inspect.unwrap(function).__code__.co_firstlineno)


def _tags(function: Any) -> dict[str, Any]:
    all_tags = [one.tags for one in getattr(function, "decorate_nodes", []) if isinstance(one, tag)]
    return {key: value for tags in all_tags for key, value in tags.items()}


def _fields(function: Any) -> tuple[str, ...]:
    parts = getattr(function, "transform", [])
    return tuple(f for one in parts if isinstance(one, extract_fields) for f in one.fields)


def _form(graph: str, written: str, function: Any, known: typing.Collection[str]) -> Form:
    hints, gathered = typing.get_type_hints(function), _gathered(function)
    catalog = retrieval_catalog()
    tunable = catalog.top.parameters.keys() | catalog.corpus.parameters.keys()
    reads: list[Argument] = []
    parameters: list[Argument] = []
    for one in inspect.signature(function).parameters.values():
        default = one.default is not inspect.Parameter.empty and one.name not in known
        value = "" if not default else repr(one.default)
        tuned = default and (graph != "retrieval" or one.name in tunable)
        kind = without_modules(spell(hints.get(one.name, Any)))
        each = gathered.get(one.name, "")
        argument = Argument(one.name, kind, value, _bounds(one.name), each)
        (parameters if tuned else reads).append(argument)
    return Form(written.partition("__")[2], function, tuple(reads), tuple(parameters))


def _gathered(function: Any) -> dict[str, str]:
    """The arguments that ``from_each_corpus`` feeds, and the node of every corpus that it reads."""
    arguments: dict[str, str] = {}
    for one in getattr(function, "dynamic", []):
        arguments |= inspect.getclosurevars(one.decorate_with).nonlocals.get("arguments", {})
    return arguments


def _bounds(parameter: str) -> str:
    """The bounds of a parameter of the retrieval graph.

    >>> _bounds("vector_weight"), _bounds("top_k"), _bounds("rrf_k"), _bounds("languages")
    ('0 to 1', 'at least 0', 'above 0', '')
    """
    marks = [
        mark
        for one in getattr(BOUNDS.get(parameter), "__metadata__", ())
        for mark in getattr(one, "metadata", ())
    ]
    low = next((m for m in marks if isinstance(m, Ge | Gt)), None)
    high = next((m for m in marks if isinstance(m, Le | Lt)), None)
    if low is None:
        return ""
    if high is None:
        return f"at least {low.ge}" if isinstance(low, Ge) else f"above {low.gt}"
    top = high.le if isinstance(high, Le) else high.lt
    return f"{low.ge} to {top}" if isinstance(low, Ge) else f"above {low.gt}, at most {top}"


@cache
def chosen_variants() -> dict[str, str]:
    """The variant of each stage that the default configuration chooses."""
    config = load_config("default")
    return {**config.variants, **config.corpus_defaults.variants}


@cache
def set_parameters() -> dict[str, str]:
    """The parameters that the default configuration sets, as code."""
    config = load_config("default")
    values = {**config.parameters, **config.corpus_defaults.parameters}
    return {name: repr(value) for name, value in values.items()}
