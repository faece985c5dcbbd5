"""The text forms of services, as Markdown.

Atlassian's document format is walked here: atlas-doc-parser 1.0.1 was tried; it prints to standard
output, and drops the text of a node that it does not know.
"""

import html
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from operators.sources.formats.html import html_text
from operators.sources.formats.pandoc import converted, why_missing
from operators.sources.formats.shown_text import shown_text

_SLACK = re.compile(r"<([@#!]?)([^<>|\n#][^<>|\n]*)(?:\|([^<>\n]*))?>")
_QUOTED = re.compile(r"(?m)^(?:>.*\n?)+")
_INTRODUCED = re.compile(
    r"(?m)^(?:On|Am|Le|El) .{5,200}"
    r"(?:\n.{0,80}\b(?:wrote|schrieb|écrit|escribió) ?)?:[ \t]*\n+(?=>)"
)
_BELOW = re.compile(  # Outlook repeats the whole mail under such a line
    r"(?m)^-+ ?(?:Original Message|Ursprüngliche Nachricht|Message d'origine|Mensaje original) ?-+"
    r"[\s\S]*\Z"
)
_SIGNATURE = re.compile(r"(?m)^(?:-- \n|_{40,}\s[^\n]*mailing list\b)[\s\S]{0,1000}\Z")
_SIGNATURE_IN = 1_004  # characters at the end of a mail
_MENTION = re.compile(r"\[~(?:accountid:)?([^]\s]+)\]")  # of a user, in Jira's markup
_CDATA = re.compile(r"(<ac:plain-text-link-body>\s*)?<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_STORAGE = (  # elements of Confluence's storage format that HTML does not know
    (r"<ac:parameter\b[^>]*/>", ""),
    (r'<ac:parameter\b(?![^>]*"(?:title|key)")[^>]*>.*?</ac:parameter>', ""),
    (r"<ac:parameter\b[^>]*>(.*?)</ac:parameter>", r" \1 "),  # a title, an issue of Jira
    (r"<ac:(task-id|task-uuid|task-status|adf-attribute|adf-fallback)\b.*?</ac:\1>", ""),
    (r"<(/?)ac:task-body>", r"<\1li>"),
    (r'<ri:page\b[^>]*?ri:content-title="([^"]*)"[^>]*/>\s*(?=</ac:link>)', r"\1"),
    (r'<time\b[^>]*?datetime="([^"]*)"[^>]*/>', r"\1"),
)
_STORAGE_PATTERNS = [(re.compile(found, re.DOTALL), put) for found, put in _STORAGE]
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
        texts = [(head, _MENTION.sub(r"@\1", str(text))) for head, text in texts]
        marked = (f"*{head}*\n\n{text}" if head else text for head, text in texts)
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
    if form == "html":
        return html_text(_storage(text)).text
    if form == "slack":
        return html.unescape(_SLACK.sub(lambda found: _slack(found, names), text))
    if form == "mail":  # what is quoted is in the mail that it answers
        written = _QUOTED.sub("", _INTRODUCED.sub("", _BELOW.sub("", text)))
        start = max(0, written.rfind("\n", 0, max(0, len(written) - _SIGNATURE_IN)))
        return written[:start] + _SIGNATURE.sub("", written[start:])
    return shown_text(text, form)


def _storage(text: str) -> str:
    """Confluence's storage format as HTML; other HTML is unchanged.

    Of a macro's parameters the title and the key of an issue stay: the others are settings.
    """
    text = _CDATA.sub(_characters, text)
    for pattern, put in _STORAGE_PATTERNS:
        text = pattern.sub(put, text)
    return text


def _characters(found: re.Match[str]) -> str:
    """CDATA as HTML: the text of a link stays in its line, code gets lines of its own."""
    link, text = found.groups()
    return html.escape(text) if link else f"<pre>{html.escape(text)}</pre>"


def _slack(found: re.Match[str], names: Mapping[str, str]) -> str:
    kind, target, label = found.groups()
    if kind:
        mark = "#" if kind == "#" else "@"
        return mark + (names.get(target) or (label or target.partition("^")[0]).lstrip("@#"))
    return f"[{label}]({target})" if label else target


def _adf(node: Mapping[str, Any]) -> str:
    """A node of Atlassian's document format as Markdown; of one that is unknown, its content."""
    kind, attributes = node.get("type"), node.get("attrs") or {}
    content = node.get("content") or ()
    if kind == "tableRow":  # each node is read once: twice doubles the time at each level
        cells = (_adf(one).strip().replace("\n", " ") for one in content)
        return f"| {' | '.join(cells)} |\n"
    if kind == "text":
        text = str(node.get("text", ""))
        for mark in node.get("marks") or ():
            sign = _MARKS.get(mark.get("type"), "")
            href = (mark.get("attrs") or {}).get("href")
            text = f"[{text}]({href})" if href else f"{sign}{text}{sign}"
        return text
    inner = "".join(_adf(one) for one in content)
    if kind == "heading":
        level = min(max(int(attributes.get("level", 1)), 1), 6)
        return f"{'#' * level} {inner}\n\n"
    if kind == "codeBlock":
        return f"```{attributes.get('language') or ''}\n{inner}\n```\n\n"
    if kind in ("listItem", "taskItem", "decisionItem"):
        return "- " + re.sub(r"\n+", "\n  ", inner.strip()) + "\n"  # its further lines indented
    if kind in ("bulletList", "orderedList", "taskList", "decisionList"):
        return f"{inner}\n"
    if kind == "table":
        return f"{inner}\n"
    if kind == "paragraph":
        return f"{inner}\n\n"
    if kind in ("expand", "nestedExpand"):
        return f"{attributes.get('title') or ''}\n\n{inner}"
    if kind == "date":
        milliseconds = int(attributes.get("timestamp") or 0)
        return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d}"
    return inner or _shown(attributes) or "\n" * (kind == "hardBreak")


def _shown(attributes: Mapping[str, Any]) -> str:
    """What a reader sees of a node without content: a mention, a status, an emoji, a link."""
    names = ("text", "url", "alt", "shortName")
    return next((str(attributes[name]) for name in names if attributes.get(name)), "")
