"""A described graph in the DOT language: one cluster a corpus, side by side, read from the top.

A picture must stay readable with six corpora, so it leaves out what follows from the rest: an arrow
between stages that a longer path implies, the parts of a node's result, and the node that only
hands a corpus's result out. What a stage reads from inside a corpus other than its final result
(the outcomes of its searches) is one dotted arrow from the corpus as a whole.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable

from dataflow.visualization.graph_model import Described, Description

COLOURS = {
    "queries": "#dbe7f5",
    "search": "#cfe3ff",
    "merge": "#d8f0dd",
    "chunks": "#dff1f4",
    "dedup": "#fff0c9",
    "unify": "#f1e2f6",
    "fusion": "#c3e8cd",
    "weight": "#ffe1d1",
    "rerank": "#fbd9e0",
    "results": "#f6e3b4",
    "context": "#e9e6dc",
    "outcomes": "#e4e6ea",
}
_SPARE = ("#e3f0c4", "#d9d6f5", "#f7d9ef", "#d2efe9", "#f3e3c3")
_INK, _GREY, _IO = "#30363d", "#8b949e", "#1f5fa8"
Edge = tuple[str, str]


def to_dot(
    description: Description,
    *,
    colours: dict[str, str] | None = None,
    legend: dict[str, str] | None = None,
    inputs: bool = True,
) -> str:
    """The graph as DOT text, the same bytes for the same graph.

    Args:
        description: from :func:`dataflow.visualization.graph_model.describe`.
        colours: node name -> fill colour, instead of the stage's.
        legend: what each colour means, instead of the stages.
        inputs: draw the table of run-time inputs and the legend.
    """
    stages = stage_colours(description)
    shown = drawn_nodes(description)
    edges, bundled = drawn_edges(description)
    fill = {name: stages.get(node.stage, "#ffffff") for name, node in shown.items()}
    fill.update(colours or {})
    lines = [
        "digraph crosscorpus {",
        '  rankdir=TB; compound=true; newrank=true; ranksep="0.26"; nodesep="0.14";',
        '  fontname="Helvetica"; pad="0.15"; bgcolor="white"; splines=true;',
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=12, '
        f'height=0.38, margin="0.10,0.045", color="{_GREY}", fontcolor="{_INK}"];',
        f'  edge [color="{_GREY}", arrowsize=0.6, penwidth=1.0];',
    ]
    for corpus in description.corpora:
        lines.append(f"  subgraph {_quote(f'cluster_{corpus}')} {{")
        lines.append(
            f"    label=<<b>{html.escape(corpus)}</b>>; labeljust=l; fontsize=14; margin=9; "
            f'fontcolor="{_INK}"; style="rounded,filled"; fillcolor="#fafbfc"; color="#c4ccd6";'
        )
        members = [n for n in shown.values() if n.corpus == corpus]
        lines += [f"    {_node(n, fill[n.name])}" for n in members]
        lines.append("  }")
    lines += [f"  {_node(n, fill[n.name])}" for n in shown.values() if not n.corpus]
    if inputs:
        lines += _table(description, stages if legend is None else legend, shown)
    firsts = [_quote(n.name) for n in shown.values() if n.corpus and not _needs_own(n, description)]
    lines.append(f"  {{ rank=same; {'; '.join(firsts)} }}")
    lines += [f"  {_quote(a)} -> {_quote(b)};" for a, b in edges]
    lines += [
        f"  {_quote(description.answers[corpus])} -> {_quote(reader)} "
        f'[ltail={_quote(f"cluster_{corpus}")}, style=dotted, color="#b6bec8"];'
        for corpus, reader in bundled
    ]
    return "\n".join([*lines, "}", ""])


def drawn_nodes(description: Description) -> dict[str, Described]:
    """The nodes that a picture shows: no parts of results, no hand-over nodes."""
    return {
        name: node
        for name, node in description.nodes.items()
        if not node.field_of and name not in description.corpora
    }


def drawn_edges(description: Description) -> tuple[list[Edge], list[Edge]]:
    """The arrows of a picture, and the bundled ones from a corpus as a whole to a stage."""
    nodes, full = description.nodes, _all_edges(description)
    behind = _descendants(full)
    readers: dict[str, set[str]] = {}  # of a node; of a corpus as a whole, by its name
    inside, bundled = set(), set()
    for start, end in full:
        corpus = nodes[start].corpus
        if corpus and nodes[end].corpus == corpus:
            inside.add((start, end))
            continue
        readers.setdefault(start, set()).add(end)
        if corpus:
            readers.setdefault(corpus, set()).add(end)
            if start != description.answers[corpus]:
                bundled.add((corpus, end))

    def told(edge: Edge) -> bool:
        """Whether another reader of the same source leads to the same end."""
        return any(edge[1] in behind[other] for other in readers[edge[0]] - {edge[1]})

    answers = set(description.answers.values())
    across = {e for e in full - inside if not nodes[e[0]].corpus or e[0] in answers}
    return (
        sorted(inside | {edge for edge in across if not told(edge)}),
        sorted(edge for edge in bundled if not told(edge)),
    )


def _all_edges(description: Description) -> set[Edge]:
    """Every dependency between drawn nodes, through the nodes that are not drawn."""
    nodes, shown = description.nodes, drawn_nodes(description)

    def origin(name: str) -> str:
        while name not in shown:
            name = nodes[name].field_of or nodes[name].needs[0]
        return name

    return {(origin(need), name) for name in shown for need in nodes[name].needs}


def _descendants(edges: set[Edge]) -> dict[str, set[str]]:
    """Every node with all that comes behind it."""
    followers: dict[str, set[str]] = {name: set() for edge in edges for name in edge}
    for start, end in edges:
        followers[start].add(end)
    behind: dict[str, set[str]] = {}

    def fill(name: str) -> set[str]:
        if name not in behind:
            behind[name] = set(followers[name])
            for follower in followers[name]:
                behind[name] |= fill(follower)
        return behind[name]

    for name in followers:
        fill(name)
    return behind


def stage_colours(description: Description) -> dict[str, str]:
    """Stage -> fill colour, in the order of :data:`COLOURS`; unknown stages get spare colours."""
    present = {node.stage for node in description.nodes.values()} - {""}
    known = {stage: colour for stage, colour in COLOURS.items() if stage in present}
    others = sorted(present - set(COLOURS))
    return known | {stage: _SPARE[i % len(_SPARE)] for i, stage in enumerate(others)}


def _needs_own(node: Described, description: Description) -> bool:
    return any(description.nodes[need].corpus for need in node.needs)


def _node(node: Described, fill: str) -> str:
    label = f"<b>{html.escape(node.short)}</b>"
    if node.variant:
        variant = f'<font point-size="10.5" color="#57606a">{html.escape(node.variant)}</font>'
        rows = f"<tr><td>{label}</td></tr><tr><td>{variant}</td></tr>"
        label = f'<table border="0" cellborder="0" cellspacing="0" cellpadding="0">{rows}</table>'
    border = f', color="{_IO}", penwidth=1.8' if node.io else ""
    return f'{_quote(node.name)} [label=<{label}>, fillcolor="{fill}"{border}];'


def _table(
    description: Description, legend: dict[str, str], shown: dict[str, Described]
) -> list[str]:
    """One table of the run-time inputs, with the legend under it."""
    rows = ['<tr><td colspan="3" align="left"><b>run-time inputs</b></td></tr>']
    for name, annotation in description.inputs.items():
        readers = sorted({n.short for n in description.nodes.values() if name in n.inputs})
        rows.append(
            f'<tr><td align="left">{html.escape(name)}</td>'
            f'<td align="left"><font color="#57606a">{html.escape(annotation)}</font></td>'
            f'<td align="left"><font color="#57606a">{html.escape(_some(readers))}</font></td></tr>'
        )
    keys = "".join(
        f'<tr><td bgcolor="{colour}" width="24"> </td>'
        f'<td align="left">{html.escape(meaning)}</td></tr>'
        for meaning, colour in legend.items()
    )
    keys += f'<tr><td border="2" color="{_IO}" width="24"> </td><td align="left">does I/O</td></tr>'
    style = 'border="1" cellborder="0" cellspacing="1" cellpadding="2" color="#c4ccd6"'
    first = [n.name for n in shown.values() if not n.needs]
    return [
        f'  "_inputs" [shape=plain, style="", fontsize=11, label=<<table {style}>'
        f"{''.join(rows)}</table>>];",
        f'  "_legend" [shape=plain, style="", fontsize=11, label=<<table {style}>{keys}</table>>];',
        *(f'  "_inputs" -> {_quote(name)} [style=dashed];' for name in first),
    ]


def _some(names: Iterable[str], most: int = 3) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (", ..." if len(listed) > most else "")


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
