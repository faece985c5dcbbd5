"""A picture in the DOT language: one cluster per sub-graph, side by side, read from the top.

We write the text without the package ``graphviz`` that Hamilton uses: Hamilton's picture of seven
sub-graphs, with 120 nodes and every arrow, is unreadable.
"""

import html
import json
from collections.abc import Iterable, Mapping

from dataflow.visualization.picture import IMPLIED, Box, Picture

_INK, _GREY, _IO = "#30363d", "#8b949e", "#1f5fa8"
_FAINT = "#d5dbe2"
_PALE = {"color": _FAINT, "penwidth": "0.8", "arrowsize": "0.5", "constraint": "false"}


def to_dot(
    shown: Picture,
    *,
    inputs: bool = True,
    legend: bool = True,
    orient: str | None = None,
) -> str:
    """The picture as DOT text; the same picture gives the same bytes.

    Args:
        shown: from :func:`dataflow.visualization.picture.picture`, folded or not.
        inputs: draw the table of run-time inputs.
        legend: draw the legend of colours, without stages if their boxes name them.
        orient: TB: top to bottom; LR: left to right, as for stages.
    """
    orient = orient or ("LR" if shown.by_stage else "TB")
    lines = [
        "digraph dataflow {",
        f'  rankdir={orient}; newrank=true; ranksep="0.26"; nodesep="0.14";',
        '  fontname="Helvetica"; pad="0.15"; bgcolor="white"; splines=true;',
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=12, '
        f'height=0.38, margin="0.10,0.045", color="{_GREY}", fontcolor="{_INK}"];',
        f'  edge [color="{_GREY}", arrowsize=0.6, penwidth=1.0];',
    ]
    for subgraph, title in shown.titles.items():
        lines.append(f"  subgraph {_quote(f'cluster_{subgraph}')} {{")
        lines.append(
            f"    label=<<b>{html.escape(title)}</b>>; labeljust=l; fontsize=14; margin=9; "
            f'fontcolor="{_INK}"; style="rounded,filled"; fillcolor="#fafbfc"; color="#c4ccd6";'
        )
        members = [box for box in shown.boxes.values() if box.node.subgraph == subgraph]
        lines += [f"    {_node(box, shown.fill(box))}" for box in members]
        lines.append("  }")
    lines += [f"  {_node(b, shown.fill(b))}" for b in shown.boxes.values() if not b.node.subgraph]
    if inputs and shown.inputs:
        lines += _input_table(shown)
    if legend and not shown.by_stage:
        lines += _legend(shown)
    inner = {end for start, end in shown.arrows if _home(shown, start) == _home(shown, end)}
    firsts = [_quote(name) for name in shown.boxes if _home(shown, name) and name not in inner]
    lines.append(f"  {{ rank=same; {'; '.join(firsts)} }}")
    for (start, end), mark in shown.arrows.items():
        look = f" [{_listed(_PALE)}]" if mark == IMPLIED else ""
        lines.append(f"  {_quote(start)} -> {_quote(end)}{look};")
    return "\n".join([*lines, "}", ""])


def _home(shown: Picture, name: str) -> str:
    return shown.boxes[name].node.subgraph


def _node(box: Box, fill: str) -> str:
    label = f"<b>{html.escape(box.node.short)}</b>"
    if box.notes:
        notes = (
            f'<font point-size="10.5" color="#57606a">{html.escape(n)}</font>' for n in box.notes
        )
        rows = "".join(f"<tr><td>{row}</td></tr>" for row in (label, *notes))
        label = f'<table border="0" cellborder="0" cellspacing="0" cellpadding="0">{rows}</table>'
    look = {"fillcolor": fill}
    if box.node.io:
        look |= {"color": _IO, "penwidth": "1.8"}
    look |= dict(box.style)
    return f"{_quote(box.node.name)} [label=<{label}>, {_listed(look)}];"


def _table(name: str, rows: Iterable[str]) -> str:
    look = 'border="1" cellborder="0" cellspacing="1" cellpadding="2" color="#c4ccd6"'
    label = f"<table {look}>{''.join(rows)}</table>"
    return f'  "{name}" [shape=plain, style="", fontsize=11, label=<{label}>];'


def _input_table(shown: Picture) -> list[str]:
    """One table of the run-time inputs and the nodes that read them."""
    rows = ['<tr><td colspan="3" align="left"><b>run-time inputs</b></td></tr>']
    for name, annotation, readers in shown.inputs:
        first = ", ".join(readers[:3]) + (", ..." if len(readers) > 3 else "")
        rows.append(
            f'<tr><td align="left">{html.escape(name)}</td>'
            f'<td align="left"><font color="#57606a">{html.escape(annotation)}</font></td>'
            f'<td align="left"><font color="#57606a">{html.escape(first)}</font></td></tr>'
        )
    read = {end for _, end in shown.arrows}
    tops = [name for name, box in shown.boxes.items() if name not in read and box.node.inputs]
    arrows = (f'  "_inputs" -> {_quote(name)} [style=dashed];' for name in tops)
    return [_table("_inputs", rows), *arrows]


def _legend(shown: Picture) -> list[str]:
    keys = [(f'bgcolor="{colour}"', meaning) for meaning, colour in shown.legend.items()]
    if any(box.node.io for box in shown.boxes.values()):
        keys.append((f'border="2" color="{_IO}"', "does I/O"))
    if faint := [*shown.arrows.values()].count(IMPLIED):
        keys.append((f'bgcolor="{_FAINT}"', f"{faint} pale arrows: a longer way leads there too"))
    rows = [
        f'<tr><td {look} width="24"> </td><td align="left">{html.escape(meaning)}</td></tr>'
        for look, meaning in keys
    ]
    return [_table("_legend", rows)] if rows else []


def _listed(attributes: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={_quote(str(value))}" for name, value in attributes.items())


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
