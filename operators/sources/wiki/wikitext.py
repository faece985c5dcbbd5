"""MediaWiki's markup to text, in one pass from left to right.

This is no parser: full parsers of this markup backtrack at every unbalanced brace, and take minutes
for 60 kB of ``{{a|``. Here every character is read a bounded number of times. The values of
templates, the text of links and the cells of tables stay, and so do headings
(``== Title ==``), which :func:`operators.sources.formats.headings.headings` finds.

mwparserfromhell 0.7 was tried: on 80 kB of ``{{a|`` it had not ended after 25 s, and it drops the
marks of headings. wikitextparser 3.0 is fast on that text, but drops the values of templates.
"""

import re
from dataclasses import dataclass, field
from html import unescape
from typing import NamedTuple

from operators.sources.formats.shown_text import shown_text

_VERBATIM = ("nowiki", "pre", "syntaxhighlight", "source", "code", "math")
_LEFT_OUT = ("ref", "gallery", "templatestyles", "imagemap", "timeline", "score", "graph")
_TOKEN = re.compile(
    r"(?P<comment><!--)"
    rf"|<(?P<tag>{'|'.join((*_VERBATIM, *_LEFT_OUT))})\b[^<>\n]{{0,500}}>"
    r"|(?P<open>\{\{|\[\[)|(?P<close>\}\}|\]\])|(?P<bar>\|)",
    re.I,
)
_TAG = re.compile(r"</?[a-z][a-z0-9]*(?:[ \t/][^<>\n]{0,500})?>", re.I)
_BREAK = re.compile(r"<br\b[^<>\n]{0,100}>", re.I)
_EXTERNAL = re.compile(
    r"\[((?:https?|ftps?|mailto|irc):[^\s\[\]]{1,2000})(?:[ \t]+([^\[\]\n]{1,2000}))?\]"
)
_QUOTES = re.compile(r"'{2,5}")
_SWITCH = re.compile(r"__[A-Z]{3,40}__")
_NAME = re.compile(r"[\w -]{1,40}=(?!=)")
_HEADING = re.compile(r"(={1,6})(.+?)\1\s*")
_CELL_ATTRIBUTES = re.compile(r"[^|\[\]{}]{0,300}=[^|\[\]{}]{0,300}\|(?!\|)")
_CELLS = re.compile(r"\|\||!!")
_BLANK_RUN = re.compile(r"\n{3,}")
_FILE = re.compile(r":?\s*(?:file|image|media|datei|bild|fichier|archivo)\s*:", re.I)
_CATEGORY = re.compile(r"\s*(?:category|kategorie|catégorie|categoría)\s*:\s*(.+)", re.I | re.S)
_IMAGE_WORD = re.compile(
    r"\s*(?:thumb|thumbnail|frame|frameless|border|left|right|center|none|upright.*|\d*x?\d+px"
    r"|(?:alt|link|page|lang|class)=.*)?\s*",
    re.I | re.S,
)
_REDIRECT = re.compile(r"\s*#\w{4,20}\s*:?\s*\[\[([^\]|]{1,300})", re.I)
_DEEPEST = 100
_MARK = "\ue000"
_REFERENCE = re.compile(f"{_MARK}(\\d+){_MARK}")


class WikiText(NamedTuple):
    """A page's text and the categories that it names."""

    text: str
    categories: list[str]


@dataclass(slots=True)
class _Frame:
    """A template or a link that is not closed yet: its parts, each a list of pieces."""

    opening: str
    parts: list[list[str]] = field(default_factory=lambda: [[]])


def wikitext_text(source: str) -> WikiText:
    """``source`` reduced to text.

    >>> wikitext_text("== A ==\\n'''b''' [[c|d]] {{Note|e}} [[Category:F]]<!-- g -->")
    WikiText(text='== A ==\\nb d e\\n', categories=['F'])
    """
    kept: list[str] = []  # verbatim parts, inserted again at the end
    categories: list[str] = []
    text = _balanced(shown_text(source, "wikitext").replace(_MARK, " "), kept, categories)
    lines = [_line(line) for line in text.split("\n")]
    text = _BLANK_RUN.sub("\n\n", "\n".join(line for line in lines if line is not None))
    parts = _REFERENCE.split(text)  # before entities are read: one may be the references' mark
    parts[::2] = [unescape(part).replace(_MARK, " ") for part in parts[::2]]
    parts[1::2] = [kept[int(number)] for number in parts[1::2]]
    text = "".join(parts).strip("\n")
    return WikiText(f"{text.rstrip()}\n" if text.strip() else "", categories)


def redirect_target(source: str) -> str | None:
    """The page that a redirect page leads to.

    >>> redirect_target("#REDIRECT [[Other page]]")
    'Other page'
    """
    match = _REDIRECT.match(source)
    return match[1].strip() if match else None


def _balanced(source: str, kept: list[str], categories: list[str]) -> str:
    """``source`` without comments, templates, links; verbatim parts are references to ``kept``."""
    root = _Frame("")
    stack = [root]
    never_closed: set[str] = set()
    at = 0
    while match := _TOKEN.search(source, at):
        top = stack[-1].parts[-1]
        top.append(source[at : match.start()])
        at = match.end()
        if match["comment"]:
            end = source.find("-->", at)
            at = len(source) if end < 0 else end + 3
        elif match["tag"]:
            at = _element(source, match, kept, top, never_closed)
        elif match["open"]:
            if len(stack) <= _DEEPEST:
                stack.append(_Frame(match[0]))
        elif match["bar"]:
            if stack[-1] is root:
                top.append("|")
            else:
                stack[-1].parts.append([])
        elif stack[-1].opening == ("{{" if match[0] == "}}" else "[["):
            frame = stack.pop()
            stack[-1].parts[-1].append(_closed(frame, categories))
    stack[-1].parts[-1].append(source[at:])
    while len(stack) > 1:  # unclosed parts are text
        frame = stack.pop()
        stack[-1].parts[-1].append("|".join("".join(part) for part in frame.parts))
    return "".join(root.parts[0])


def _element(
    source: str, match: re.Match[str], kept: list[str], top: list[str], never_closed: set[str]
) -> int:
    """Consume a whole element; return the position after it."""
    tag = match["tag"].lower()
    if match[0].endswith("/>") or tag in never_closed:
        return match.end()
    closing = re.compile(rf"</{tag}\s{{0,20}}>", re.I).search(source, match.end())
    if closing is None:
        never_closed.add(tag)
        return match.end()
    if tag in _VERBATIM:
        content = unescape(source[match.end() : closing.start()])
        lines = content.strip("\n").split("\n")
        if "\n" in content or _HEADING.fullmatch(content):
            content = "\n" + "\n".join(f" {line}".rstrip() for line in lines) + "\n"
        top.append(f"{_MARK}{len(kept)}{_MARK}")
        kept.append(content)
    return closing.end()


def _closed(frame: _Frame, categories: list[str]) -> str:
    first, *others = ["".join(part) for part in frame.parts]
    if frame.opening == "{{":
        if first.lstrip().startswith("#"):  # a parser function: its condition is no text
            others = [part for part in others if part.strip()]
        values = [_without(_NAME, part.strip()) for part in others]
        joint = "\n" if any("\n" in value for value in others) else " "
        return joint.join(value for value in values if value)
    if category := _CATEGORY.match(first):
        categories.append(" ".join(category[1].split()))
        return ""
    if _FILE.match(first):
        words = [part for part in others if not _IMAGE_WORD.fullmatch(part)]
        return words[-1].strip() if words else ""
    label = others[-1] if others else ""
    return label.strip() or first.strip().lstrip(":")


def _line(line: str) -> str | None:
    """One line without inline markup; None for a line that only opens or closes something."""
    stripped = line.strip()
    if stripped.startswith(("{|", "|}", "|-")):
        return None
    if stripped.startswith("|+"):
        line = stripped[2:]
    elif stripped.startswith(("|", "!")):
        cells = [_without(_CELL_ATTRIBUTES, cell) for cell in _CELLS.split(stripped[1:])]
        line = " | ".join(cell.strip() for cell in cells if cell.strip())
    line = _EXTERNAL.sub(lambda m: m[2] or m[1], line)
    line = _TAG.sub("", _BREAK.sub("\n", line))
    return _SWITCH.sub("", _QUOTES.sub("", line)).rstrip()


def _without(start: re.Pattern[str], text: str) -> str:
    match = start.match(text)
    return text[match.end() :].strip() if match else text
