"""What differs between two configurations' graphs: nodes, arrows, variants, parameters, settings.

Compared are the built graphs with all their sub-graphs, so that a change that reaches a node by
the defaults of its corpus is seen where it takes effect.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dataflow.configuration.catalog import Catalog
from dataflow.configuration.config_model import Config
from dataflow.visualization.dot import to_dot
from dataflow.visualization.graph_model import Described, Description
from dataflow.visualization.png import RenderError
from dataflow.visualization.render import describe_config, write_dot
from operators.report.graphs import ADDED, CHANGED, REMOVED


@dataclass(frozen=True)
class Change:
    """A value that differs; None where one side has nothing."""

    where: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Diff:
    """The differences from a first graph to a second; each list is sorted.

    Attributes:
        added: nodes that only the second graph has.
        removed: nodes that only the first has.
        edges_added: (from, to) between nodes, only in the second; a run-time input may be "from".
        edges_removed: the same, only in the first.
        implementations: node -> its function in the first and in the second graph.
        parameters: ``node.parameter`` -> its value in the first and in the second.
        settings: whatever else the configurations say differently (``workers``, ...).
        corpora: the corpora that both graphs have.
    """

    added: list[str]
    removed: list[str]
    edges_added: list[tuple[str, str]]
    edges_removed: list[tuple[str, str]]
    implementations: list[Change]
    parameters: list[Change]
    settings: list[Change]
    corpora: list[str]

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return any(value for name, value in asdict(self).items() if name != "corpora")

    def to_json(self) -> dict[str, Any]:
        """The differences as plain dicts and lists."""
        return asdict(self)


def diff(before: Config, after: Config, catalog: Catalog | None = None) -> Diff:
    """Compare the graphs that two configurations build, and the rest of what they say."""
    first, second = describe_config(before, catalog), describe_config(after, catalog)
    return compare(first, second, _settings(before), _settings(after))


def compare(
    first: Description,
    second: Description,
    settings_before: dict[str, Any] | None = None,
    settings_after: dict[str, Any] | None = None,
) -> Diff:
    """Compare two described graphs and two flat mappings of settings."""
    a, b = first.nodes, second.nodes
    both = sorted(a.keys() & b.keys())
    edges_a, edges_b = _edges(first), _edges(second)
    parameters = _changes(
        {f"{n}.{k}": v for n in both for k, v in a[n].parameters.items()},
        {f"{n}.{k}": v for n in both for k, v in b[n].parameters.items()},
    )
    return Diff(
        added=sorted(b.keys() - a.keys()),
        removed=sorted(a.keys() - b.keys()),
        edges_added=sorted(edges_b - edges_a),
        edges_removed=sorted(edges_a - edges_b),
        implementations=_changes(
            {n: a[n].implementation for n in both}, {n: b[n].implementation for n in both}
        ),
        parameters=parameters,
        settings=_changes(settings_before or {}, settings_after or {}),
        corpora=sorted(first.answers.keys() & second.answers.keys()),
    )


def _edges(description: Description) -> set[tuple[str, str]]:
    nodes = description.nodes.values()
    return {(start, node.name) for node in nodes for start in (*node.needs, *node.inputs)}


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    names = sorted(before.keys() | after.keys())
    pairs = ((name, before.get(name), after.get(name)) for name in names)
    return [Change(*pair) for pair in pairs if pair[1] != pair[2]]


def _settings(config: Config) -> dict[str, Any]:
    """What no node shows as its variant or parameter."""
    corpora = config.corpora.items()
    flat = config.model_dump(exclude={"variants", "parameters", "corpus_defaults", "corpora"})
    return flat | {f"corpora.{name}.deadline_s": options.deadline_s for name, options in corpora}


def to_text(found: Diff) -> str:
    """The differences as lines that a person reads: ``+`` added, ``-`` removed, ``~`` changed.

    What is the same in every corpus is said once, with ``*`` for the corpus.
    """
    if not found:
        return "no difference\n"
    blocks = [
        ("nodes", [f"- {n}" for n in found.removed] + [f"+ {n}" for n in found.added]),
        (
            "edges",
            [f"- {a} -> {b}" for a, b in found.edges_removed]
            + [f"+ {a} -> {b}" for a, b in found.edges_added],
        ),
        ("variants", [_line(c) for c in found.implementations]),
        ("parameters", [_line(c) for c in found.parameters]),
        ("settings", [_line(c) for c in found.settings]),
    ]
    lines = []
    for title, rows in blocks:
        if rows:
            lines += [title, *(f"  {row}" for row in _once(rows, found.corpora))]
    return "\n".join(lines) + "\n"


def _once(rows: list[str], corpora: list[str]) -> list[str]:
    """``rows`` with those that differ by their corpus only, and are there for each, as one."""
    if len(corpora) < 2:
        return rows
    inside = re.compile(rf"(?<![\w.])({'|'.join(corpora)})\.")
    general = [inside.sub("*.", row) for row in rows]
    counts = Counter(general)
    said = [
        common if counts[common] == len(corpora) and common != row else row
        for row, common in zip(rows, general, strict=True)
    ]
    return list(dict.fromkeys(said))


def _line(change: Change) -> str:
    return f"~ {change.where}: {_spell(change.before)} -> {_spell(change.after)}"


def _spell(value: Any) -> str:
    return "(none)" if value is None else str(value)


def to_diff_dot(first: Description, second: Description) -> str:
    """Both graphs in one DOT picture: added nodes green, removed red, changed ones yellow."""
    found = compare(first, second)
    union: dict[str, Described] = {**first.nodes, **second.nodes}
    for name in first.nodes.keys() & second.nodes.keys():
        needs = {*first.nodes[name].needs, *second.nodes[name].needs}
        union[name] = replace(second.nodes[name], needs=tuple(sorted(needs)))
    changed = {c.where for c in found.implementations}
    changed |= {c.where.rpartition(".")[0] for c in found.parameters}
    colours = dict.fromkeys(union, "#ffffff")
    colours |= dict.fromkeys(changed & union.keys(), CHANGED)
    colours |= dict.fromkeys(found.added, ADDED) | dict.fromkeys(found.removed, REMOVED)
    both = Description(
        nodes=dict(sorted(union.items())),
        inputs=dict(sorted({**first.inputs, **second.inputs}.items())),
        answers=dict(sorted({**first.answers, **second.answers}.items())),
    )
    legend = {"added": ADDED, "removed": REMOVED, "changed": CHANGED, "the same": "#ffffff"}
    return to_dot(both, colours=colours, legend=legend)


def render_diff(before: Config, after: Config, path: Path) -> str:
    """Write the picture of :func:`to_diff_dot` to ``path``.

    Args:
        before: a configuration.
        after: the one that it is compared with.
        path: the file to write; its name ends in .png or .dot.

    Returns:
        The picture's fingerprint: SHA-256 of its DOT text.

    Raises:
        RenderError: the name ends otherwise, or a PNG is asked for and Graphviz is missing.
    """
    ending = path.suffix.lower()
    if ending not in (".png", ".dot"):
        raise RenderError(f"{path.name}: a difference is drawn as .png or .dot")
    dot = to_diff_dot(describe_config(before), describe_config(after))
    return write_dot(dot, path, png=ending == ".png")
