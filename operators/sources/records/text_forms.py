"""The text forms of services, as Markdown.

Atlassian's document format is walked here: atlas-doc-parser 1.0.1 was tried; it prints to standard
output, and drops the text of a node that it does not know.
"""

import html
import re
from collections.abc import Mapping
from typing import Any

from operators.sources.formats.html import html_text
from operators.sources.formats.pandoc import converted, why_missing

_SLACK = re.compile(r"<([@#!]?)([^<>|\n]+)(?:\|([^<>\n]*))?>")
_QUOTED = re.compile(r"(?m)^(?:>.*\n?)+")
_INTRODUCED = re.compile(r"(?m)^(?:On|Am|Le|El) .{5,200}:[ \t]*\n+(?=>)")
_SIGNATURE = re.compile(r"(?m)^-- \n[\s\S]{0,1000}\Z")
_SIGNATURE_IN = 1_004  # characters at the end of a mail
_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_MARKS = {"strong": "**", "em": "*", "code": "`", "strike": "~~"}


def markdown(texts: list[tuple[str | None, Any]], form: str, names: Mapping[str, str]) -> str:
    """The texts of a document as one; a text with a heading, such as its author, begins with it.

    Args:
        texts: a heading or None, and a text in ``form``.
        names: what an id in a text stands for.

    Raises:
        ValueError: a text cannot be converted; says why.
    """
    if form == "jira":  # a process of pandoc for all of them
        marked = (f"*{head}*\n\n{text}" if head else str(text) for head, text in texts)
        if why := why_missing("jira"):
            raise ValueError(why)
        return converted("\n\n".join(marked).encode(), "jira").text
    written = ((head, _one(text, form, names).strip()) for head, text in texts)
    return "\n\n".join(f"**{head}**\n\n{text}" if head else text for head, text in written if text)


def _one(text: Any, form: str, names: Mapping[str, str]) -> str:
    if form == "adf" and isinstance(text, dict):
        return _adf(text)
    if not isinstance(text, str):
        raise ValueError(f"a text is {type(text).__name__}, not a string")
    if form == "html":  # Confluence writes code as CDATA, which HTML does not know
        return html_text(_CDATA.sub(lambda code: f"<pre>{html.escape(code[1])}</pre>", text)).text
    if form == "slack":
        return html.unescape(_SLACK.sub(lambda found: _slack(found, names), text))
    if form == "mail":  # what is quoted is in the mail that it answers
        written = _QUOTED.sub("", _INTRODUCED.sub("", text))
        start = max(0, written.rfind("\n", 0, max(0, len(written) - _SIGNATURE_IN)))
        return written[:start] + _SIGNATURE.sub("", written[start:])
    return text


def _slack(found: re.Match[str], names: Mapping[str, str]) -> str:
    kind, target, label = found.groups()
    if kind:
        mark = "#" if kind == "#" else "@"
        return mark + (names.get(target) or label or target.partition("^")[0])
    return f"[{label}]({target})" if label else target


def _adf(node: Mapping[str, Any], indent: str = "") -> str:
    """A node of Atlassian's document format as Markdown; of one that is unknown, its content."""
    kind, attributes = node.get("type"), node.get("attrs") or {}
    content = node.get("content") or ()
    # Each node is read once: reading a list's items twice doubles the time at each level.
    if kind in ("bulletList", "orderedList"):
        return "".join(_adf(one, indent + "  " * bool(indent)) for one in content) + "\n"
    if kind == "tableRow":
        cells = (_adf(one).strip().replace("\n", " ") for one in content)
        return f"| {' | '.join(cells)} |\n"
    if kind == "text":
        text = str(node.get("text", ""))
        for mark in node.get("marks") or ():
            sign = _MARKS.get(mark.get("type"), "")
            href = (mark.get("attrs") or {}).get("href")
            text = f"[{text}]({href})" if href else f"{sign}{text}{sign}"
        return text
    inner = "".join(_adf(one, indent) for one in content)
    if kind == "heading":
        level = min(max(int(attributes.get("level", 1)), 1), 6)
        return f"{'#' * level} {inner}\n\n"
    if kind == "codeBlock":
        return f"```{attributes.get('language') or ''}\n{inner}\n```\n\n"
    if kind == "listItem":
        return f"{indent}- {inner.strip()}\n"
    if kind == "paragraph":
        return f"{inner}\n\n"
    return inner or str(
        attributes.get("text") or attributes.get("url") or "\n" * (kind == "hardBreak")
    )
