"""Two graphs beside each other, with what differs between them in colour."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import etree

from operators.report.page import Html, element, join, key

ADDED, REMOVED, CHANGED = "#b7e4c0", "#f5b8b8", "#ffe08a"
"""What the colours of a pair of pictures mean."""

_SVG = "{http://www.w3.org/2000/svg}"
_COLOURS = {
    "white": "none",
    "#ffffff": "var(--paper)",
    "#fafbfc": "var(--panel)",
    "#c4ccd6": "var(--rule)",
    "#b6bec8": "var(--rule)",
    "#8b949e": "var(--muted)",
    "#57606a": "var(--muted)",
    "#30363d": "var(--ink)",
    "#1f5fa8": "var(--link)",
    ADDED: "var(--added)",
    REMOVED: "var(--removed)",
    CHANGED: "var(--changed)",
}
_DRAWN = frozenset(
    ["svg", "g", "title", "text", "tspan", "path", "polygon", "polyline", "ellipse", "rect", "line"]
)


@dataclass(frozen=True)
class GraphPair:
    """A baseline's graph and another configuration's.

    Attributes:
        before: an SVG picture of the baseline's graph, or None where Graphviz is missing.
        after: the other's.
        text: the differences as lines that a person reads.
        same: whether nothing differs.
    """

    before: str | None
    after: str | None
    text: str
    same: bool = False


def graph_pair(config: str, baseline: str, pair: GraphPair) -> Html:
    """The pictures of both graphs side by side, and their differences as text."""
    if pair.same:
        return element("p", f"The graph of {config} is the same as that of {baseline}.")
    told = element("pre", element("code", pair.text), tabindex=0)
    if pair.before is None or pair.after is None:
        why = "There is no picture, for Graphviz (the extra `render`) was not installed."
        return join([element("p", why, class_="note"), told])
    meanings = key(
        [
            ("changed", "var(--changed)"),
            (f"only in {config}", "var(--added)"),
            (f"only in {baseline}", "var(--removed)"),
        ]
    )
    pictures = element(
        "div", _figure(baseline, pair.before), _figure(config, pair.after), class_="grid"
    )
    return join([meanings, pictures, told])


def _figure(name: str, svg: str) -> Html:
    picture = inline_svg(svg, f"The graph of {name}; its differences are listed below")
    return element(
        "figure",
        element("p", name, class_="title"),
        element("div", picture, class_="dag scroll", tabindex=0, role="region", aria_label=name),
    )


def inline_svg(svg: str, label: str) -> Html:
    """A picture of a graph as a part of a page: shapes and text alone, no ids.

    Its colours become the page's, so that it is readable on dark ground too.

    Args:
        svg: the file's text.
        label: what it shows, for who can't see it.

    Raises:
        ValueError: it is no SVG.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    root = etree.fromstring(svg.encode(), parser)
    if root.tag != f"{_SVG}svg":
        raise ValueError("not an SVG picture")
    for node in list(root.iter()):
        name = node.tag.removeprefix(_SVG) if isinstance(node.tag, str) else ""
        if name not in _DRAWN:
            _drop(node)
            continue
        for attribute in list(node.attrib):
            if attribute.startswith(("on", "{")) or attribute in ("id", "href", "style", "class"):
                del node.attrib[attribute]
    _tidy(root, label)
    etree.cleanup_namespaces(root)
    text: str = etree.tostring(root, encoding="unicode")
    return Html(text)


def _drop(node: etree._Element) -> None:
    """Take ``node`` out; what it held, such as a link around a label, goes with it."""
    parent = node.getparent()
    if parent is not None:
        parent.remove(node)


def _tidy(root: etree._Element, label: str) -> None:
    """The page's own font and colours, and a size of the picture's own at most."""
    width = re.match(r"[\d.]+", root.get("width", ""))
    root.attrib.pop("height", None)
    root.attrib.pop("width", None)
    if width:
        root.set("style", f"width: {float(width[0]) * 4 / 3:.0f}px")
    root.set("role", "img")
    root.set("aria-label", label)
    for shape in root.iter():
        for attribute in ("fill", "stroke"):
            colour = shape.get(attribute)
            if colour in _COLOURS:
                shape.set(attribute, _COLOURS[colour])
    for text in root.iter(f"{_SVG}text"):
        text.attrib.pop("font-family", None)
        text.attrib.pop("{http://www.w3.org/XML/1998/namespace}space", None)
