"""One sub-graph for each configured corpus, and the decorators that collect their nodes.

Hamilton resolves these decorators when it builds a graph; they are not nodes.
"""

from collections.abc import Sequence
from inspect import signature
from types import ModuleType
from typing import Any

from hamilton.function_modifiers import (
    base,
    group,
    inject,
    parameterized_subdag,
    resolve_from_config,
    source,
    value,
)
from hamilton.graph_utils import find_functions
from hamilton.node import Node

from dataflow.retrieval import corpus as one_corpus


class _Unchanged(base.NodeDecorator):
    """Changes no node. Without it, Hamilton compares every pair of nodes of all corpora."""

    def __init__(self) -> None:
        super().__init__(target=())

    def decorate_node(self, node_: Node) -> Node:
        return node_


def _branches(corpora: dict[str, Any], corpus_modules: Sequence[ModuleType]) -> Any:
    """One sub-graph per corpus: ``config`` selects its variants, ``inputs`` are what it reads."""
    functions = (find_functions(module) for module in (one_corpus, *corpus_modules))
    read = {name for each in functions for _, one in each for name in signature(one).parameters}
    return parameterized_subdag(
        one_corpus,
        *corpus_modules,
        **{
            name: {
                "inputs": {
                    key: value(given) for key, given in options["inputs"].items() if key in read
                },
                "config": options["config"],
            }
            for name, options in corpora.items()
        },
    )


def from_each_corpus(**arguments: str) -> Any:
    """Passes each argument one node of every corpus, as a dict by corpus name."""

    def decorate(corpora: dict[str, Any]) -> Any:
        given = {
            argument: group(**{name: source(f"{name}.{node}") for name in corpora})
            if corpora
            else value({})
            for argument, node in arguments.items()
        }
        return inject(**given)

    return resolve_from_config(decorate_with=decorate)


def one_branch_each(function: Any) -> Any:
    """Makes one sub-graph per corpus, under the corpus's name."""
    return _Unchanged()(resolve_from_config(decorate_with=_branches)(function))
