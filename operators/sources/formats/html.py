"""HTML to text: the visible words of the page, line by line, with its headings.

libxml2's parser reports tags as they come and builds no tree: neither the depth nor the size of a
page costs more than its length. Headings become lines ``## Title`` between blank lines, as
:func:`operators.sources.formats.headings.headings` knows them; no other line looks like that.

inscriptis 2.7 was tried: it keeps navigation, marks no heading, loses the text inside 200,000
nested elements and takes twice the time. html2text 2025.4 keeps hidden text, and needs over 15 s of
CPU for half a million short paragraphs.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lxml import etree

from operators.foundation.sanitize import clean_text


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_LEFT_OUT = _names(
    "script style noscript template svg math iframe object embed applet canvas audio video nav"
    " datalist select button head"
)
_VOID = _names("area base br col embed hr img input link meta source track wbr")
_BLOCKS = _names(
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption"
    " figure footer form header hr html li main ol option p pre section summary table tbody tfoot"
    " thead tr ul"
)
_CELLS = frozenset(("td", "th"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_SPACE = re.compile(r"[^\S\u00a0]+")
_LOOKS_LIKE_HEADING = re.compile(r"#{1,6} ")
_BLANK_RUN = re.compile(r"\n{3,}")
_FED = 1 << 16
_BULLET = "- "


@dataclass(frozen=True, slots=True)
class HtmlText:
    """A page's title, else its first heading, and its text."""

    title: str | None
    text: str


def html_text(source: str) -> HtmlText:
    """The visible text of a page.

    Scripts, styles, comments, navigation, form controls and elements that an attribute or an inline
    style hides are left out. Preformatted text keeps its lines, indented by four spaces.

    >>> html_text("<title>T</title><h1>One</h1><p>a  <b>b</b><script>c</script></p>").text
    '# One\\n\\na b\\n'
    """
    target = _Visible()
    feed_html(clean_text(source), target)
    return target.result()


@lru_cache(maxsize=8)  # a map asks for the same elements of a page several times
def element_text(source: str, name: str) -> str:
    """The visible text of the first element whose id or class is ``name``; empty: there is none.

    >>> element_text('<p>By <b class="name author">Ada</b></p>', "author")
    'Ada'
    """
    target = _Element(name)
    feed_html(clean_text(source), target)
    return target.result().text.strip()


def feed_html(source: str, target: Any) -> None:
    """Parse a page with libxml2 into a parser target of lxml, in pieces of bounded size."""
    parser = etree.HTMLParser(target=target, huge_tree=True)
    for start in range(0, len(source), _FED):
        parser.feed(source[start : start + _FED])
    if source:
        parser.close()


class _Visible:
    """A parser target: gathers lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.line: list[str] = []
        self.title: list[str] = []
        self.first_heading: str | None = None
        self.hidden_by: list[str] = []  # the open tags from the one that hides on
        self.pre = 0
        self.heading: int | None = None
        self.in_title = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self.hidden_by:
            if tag == "title" and self.hidden_by == ["head"]:
                self.in_title = True
            elif tag == self.hidden_by[0] and tag not in _VOID:
                self.hidden_by.append(tag)
            return
        if tag == "br":
            self._end_line()
        elif tag == "img":
            if alternative := attributes.get("alt"):
                self.data(f" {alternative} ")
        elif tag not in _VOID and (tag in _LEFT_OUT or _is_hidden(attributes)):
            self.hidden_by.append(tag)
        elif tag in _HEADINGS:
            self._end_line()
            self.heading = _HEADINGS[tag]
        elif tag in _CELLS:
            self.line.append(" | " if any(part.strip() for part in self.line) else "")
        elif tag in _BLOCKS:
            if self.line != [_BULLET]:  # a list item may hold paragraphs
                self._end_line()
            self.pre += tag == "pre"
            if tag == "li":
                self.line = [_BULLET]

    def end(self, tag: str) -> None:
        if self.in_title and tag == "title":
            self.in_title = False
        elif self.hidden_by:
            if tag == self.hidden_by[0]:
                self.hidden_by.pop()
        elif tag in _HEADINGS:
            self._end_line()
            self.heading = None
        elif tag in _BLOCKS:
            self._end_line()
            if tag == "pre" and self.pre:
                self.pre -= 1
            if tag in ("p", "pre", "ul", "ol", "table", "blockquote", "dl"):
                self.lines.append("")

    def data(self, text: str) -> None:
        if self.in_title:
            self.title.append(text)
        elif self.hidden_by:
            return
        elif self.pre:
            first, *others = text.split("\n")
            self.line.append(first)
            for other in others:
                self._end_line(keep_blank=True)
                self.line.append(other)
        else:
            self.line.append(_SPACE.sub(" ", text))

    def close(self) -> None:
        self._end_line()

    def result(self) -> HtmlText:
        text = _BLANK_RUN.sub("\n\n", "\n".join(self.lines)).strip("\n")
        title = " ".join("".join(self.title).split())
        return HtmlText(title or self.first_heading, f"{text}\n" if text else "")

    def _end_line(self, keep_blank: bool = False) -> None:
        text = "".join(self.line)
        self.line = []
        if self.pre:
            if text.strip() or keep_blank:
                self.lines.append(f"    {text.rstrip()}".rstrip())
            return
        text = _SPACE.sub(" ", text).strip()
        if not text or text == _BULLET.strip():
            return
        if self.heading is not None:
            if text := text.rstrip("¶§#").strip():  # the mark of a link to the heading itself
                self.lines += ["", f"{'#' * self.heading} {text}", ""]
                self.first_heading = self.first_heading or text
        else:
            self.lines.append(f" {text}" if _LOOKS_LIKE_HEADING.match(text) else text)


class _Element(_Visible):
    """A parser target: gathers the lines of one element."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.depth = 0  # of open tags, from that of the element on; after it -1

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        names = (attributes.get("id"), *attributes.get("class", "").split())
        if self.depth > 0 or (self.depth == 0 and self.name in names):
            self.depth += 1
            super().start(tag, attributes)

    def end(self, tag: str) -> None:
        if self.depth > 0:
            self.depth = self.depth - 1 or -1
            super().end(tag)

    def data(self, text: str) -> None:
        if self.depth > 0:
            super().data(text)


def _is_hidden(attributes: dict[str, str]) -> bool:
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or _HIDDEN_STYLE.search(attributes.get("style", "")) is not None
    )
