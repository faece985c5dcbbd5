"""A picture as Mermaid text, for pages that draw it themselves."""

from dataflow.visualization.picture import Box, Picture

_LINES = {"": "-->", "added": "==>", "removed": "-.-x"}


def to_mermaid(shown: Picture) -> str:
    """The picture as a Mermaid flowchart: the same boxes and arrows as in the DOT text.

    In a difference, an arrow that was added is thick; one that was removed is dotted and ends with
    a cross.
    """
    ids = {name: f"n{number}" for number, name in enumerate(shown.boxes)}
    clusters = {subgraph: f"c{number}" for number, subgraph in enumerate(shown.titles)}
    lines = ["flowchart TB"]
    for subgraph, title in shown.titles.items():
        lines.append(f'  subgraph {clusters[subgraph]}["{_text(title)}"]')
        members = [box for box in shown.boxes.values() if box.node.subgraph == subgraph]
        lines += [f"    {_node(ids[box.node.name], box)}" for box in members]
        lines.append("  end")
    lines += [f"  {_node(ids[n], b)}" for n, b in shown.boxes.items() if not b.node.subgraph]
    for (start, end), mark in shown.arrows.items():
        lines.append(f"  {ids[start]} {_LINES.get(mark, '-->')} {ids[end]}")
    lines += [f"  {clusters[one]} -.-> {ids[end]}" for one, end in shown.bundles]
    colours = dict.fromkeys(shown.fill(box) for box in shown.boxes.values())
    for number, colour in enumerate(colours):
        alike = ",".join(ids[n] for n, box in shown.boxes.items() if shown.fill(box) == colour)
        lines.append(f"  classDef s{number} fill:{colour},stroke:#8b949e,color:#30363d")
        lines.append(f"  class {alike} s{number}")
    if gone := ",".join(ids[n] for n, box in shown.boxes.items() if box.mark == "removed"):
        lines.append("  classDef gone stroke:#c0392b,stroke-dasharray:4 3")
        lines.append(f"  class {gone} gone")
    return "\n".join(lines) + "\n"


def _node(identifier: str, box: Box) -> str:
    notes = "".join(f"<br/><small>{_text(note)}</small>" for note in box.notes)
    return f'{identifier}["{_text(box.node.short)}{notes}"]'


def _text(text: str) -> str:
    """Text as Mermaid takes it between quotes."""
    return "".join(c if c.isalnum() or c in " _.,-+()/:" else f"#{ord(c)};" for c in text)
