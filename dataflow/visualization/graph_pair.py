"""Two configurations' graphs as two pictures, each with what the other has not in colour.

Corpora that look the same, in both graphs, are drawn as one: seven copies of a change say no more
than one, and the pictures then stand beside each other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dataflow.configuration.catalog import Catalog
from dataflow.configuration.config_model import Config
from dataflow.visualization.dot import to_dot
from dataflow.visualization.graph_diff import diff, to_text
from dataflow.visualization.graph_model import Description
from dataflow.visualization.png import RenderError, draw
from dataflow.visualization.render import describe_config
from operators.report.graphs import ADDED, CHANGED, REMOVED, GraphPair


def graph_pair(before: Config, after: Config, catalog: Catalog | None = None) -> GraphPair:
    """Both graphs drawn, and their differences as text; without Graphviz the text alone."""
    found = diff(before, after, catalog)
    told = to_text(found)
    if not found:
        return GraphPair(None, None, told, same=True)
    changed = {change.where for change in found.implementations}
    changed |= {change.where.rpartition(".")[0] for change in found.parameters}
    colours = dict.fromkeys(changed, CHANGED)
    colours |= dict.fromkeys(found.added, ADDED) | dict.fromkeys(found.removed, REMOVED)
    first, second = describe_config(before, catalog), describe_config(after, catalog)
    groups = alike(first, second, colours)

    def drawn(graph: Description) -> str:
        return draw(_dot(folded(graph, groups), _renamed(colours, groups)), format="svg").decode()

    try:
        return GraphPair(drawn(first), drawn(second), told)
    except RenderError:
        return GraphPair(None, None, told)


def alike(first: Description, second: Description, colours: dict[str, str]) -> dict[str, list[str]]:
    """Corpora whose drawn nodes, in both graphs, are the same: the group's name -> its corpora."""
    groups: dict[Any, list[str]] = {}
    for corpus in sorted({*first.corpora, *second.corpora}):
        looks = tuple(_looks(graph, corpus, colours) for graph in (first, second))
        groups.setdefault(looks, []).append(corpus)
    return {", ".join(members): members for members in groups.values()}


def _looks(graph: Description, corpus: str, colours: dict[str, str]) -> tuple[Any, ...]:
    nodes = [node for node in graph.nodes.values() if node.corpus == corpus]
    return tuple(
        (
            node.short,
            node.variant,
            tuple(sorted(need.removeprefix(f"{corpus}.") for need in node.needs)),
            colours.get(node.name),
        )
        for node in nodes
    )


def folded(graph: Description, groups: dict[str, list[str]]) -> Description:
    """``graph`` with one corpus for each group."""
    names = {member: name for name, members in groups.items() for member in members}
    kept = {members[0] for members in groups.values()}

    def rename(node: str) -> str:
        corpus, dot, rest = node.partition(".")
        return f"{names[corpus]}{dot}{rest}" if corpus in names else node

    nodes = {
        rename(name): replace(
            node,
            name=rename(name),
            corpus=names.get(node.corpus, ""),
            field_of=rename(node.field_of),
            needs=tuple(sorted({rename(need) for need in node.needs})),
        )
        for name, node in graph.nodes.items()
        if name.partition(".")[0] not in names or name.partition(".")[0] in kept
    }
    answers = {
        names[corpus]: rename(node) for corpus, node in graph.answers.items() if corpus in kept
    }
    return Description(nodes, graph.inputs, answers)


def _renamed(colours: dict[str, str], groups: dict[str, list[str]]) -> dict[str, str]:
    firsts = {members[0]: name for name, members in groups.items()}
    renamed = {}
    for node, colour in colours.items():
        corpus, dot, rest = node.partition(".")
        renamed[f"{firsts.get(corpus, corpus)}{dot}{rest}"] = colour
    return renamed


def _dot(graph: Description, colours: dict[str, str]) -> str:
    plain = dict.fromkeys(graph.nodes, "#ffffff")
    return to_dot(graph, colours=plain | colours, inputs=False)
