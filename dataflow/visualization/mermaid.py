"""A described graph as Mermaid text, for pages that draw it themselves."""

from __future__ import annotations

from dataflow.visualization.dot import drawn_edges, drawn_nodes, stage_colours
from dataflow.visualization.graph_model import Described, Description


def to_mermaid(description: Description) -> str:
    """The graph as a Mermaid flowchart: the same nodes and arrows as the DOT picture."""
    shown = drawn_nodes(description)
    ids = {name: f"n{number}" for number, name in enumerate(shown)}
    lines = ["flowchart TB"]
    for corpus in description.corpora:
        lines.append(f'  subgraph {corpus}_corpus["{corpus}"]')
        lines += [f"    {_node(ids[n.name], n)}" for n in shown.values() if n.corpus == corpus]
        lines.append("  end")
    lines += [f"  {_node(ids[n.name], n)}" for n in shown.values() if not n.corpus]
    edges, bundled = drawn_edges(description)
    lines += [f"  {ids[start]} --> {ids[end]}" for start, end in edges]
    lines += [f"  {corpus}_corpus -.-> {ids[end]}" for corpus, end in bundled]
    for number, (stage, colour) in enumerate(stage_colours(description).items()):
        members = ",".join(ids[n.name] for n in shown.values() if n.stage == stage)
        if members:
            lines.append(f"  classDef s{number} fill:{colour},stroke:#8b949e,color:#30363d")
            lines.append(f"  class {members} s{number}")
    return "\n".join(lines) + "\n"


def _node(identifier: str, node: Described) -> str:
    variant = f"<br/><small>{node.variant}</small>" if node.variant else ""
    return f'{identifier}["{node.short}{variant}"]'
