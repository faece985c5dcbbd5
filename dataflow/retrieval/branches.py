"""One sub-graph for each corpus of the configuration, and what gathers their nodes again.

These are decorators that Hamilton resolves when a graph is built, not nodes.
"""

from collections.abc import Sequence
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
from hamilton.node import Node

from dataflow.retrieval import corpus as one_corpus


class _AsTheyAre(base.NodeDecorator):
    """Changes no node; without it, Hamilton compares each node of all corpora with each."""

    def __init__(self) -> None:
        super().__init__(target=())

    def decorate_node(self, node_: Node) -> Node:
        return node_


def _branches(corpora: dict[str, Any], corpus_modules: Sequence[ModuleType]) -> Any:
    """One sub-graph a corpus: ``config`` chooses its variants, ``inputs`` are its parameters."""
    return parameterized_subdag(
        one_corpus,
        *corpus_modules,
        **{
            name: {
                "inputs": {key: value(given) for key, given in options["inputs"].items()},
                "config": options["config"],
            }
            for name, options in corpora.items()
        },
    )


def from_each_corpus(**arguments: str) -> Any:
    """Feeds each argument with a node of every corpus, as a dict by the corpus's name."""

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
    """Makes one sub-graph a corpus, under the corpus's name."""
    return _AsTheyAre()(resolve_from_config(decorate_with=_branches)(function))
