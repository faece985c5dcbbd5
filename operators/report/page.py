"""One HTML file with everything inside: no request leaves a page, and no content can act in it.

Whatever is a plain ``str`` is text and is escaped; only :class:`Html` is markup. A page therefore
needs no care with hostile queries, labels or names: they can't become markup by being forgotten.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from operators.foundation.escape import visible

# A page loads nothing, whatever stands in it. Vega compiles its expressions, hence 'unsafe-eval'.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)


class Html(str):
    """Markup that is safe to stand in a page as it is."""

    __slots__ = ()


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading of its own; ``short`` is its name in the list of contents."""

    heading: str
    body: Html
    short: str = ""


def markup(value: str) -> Html:
    """``value`` as markup: escaped and with what is unseen shown, unless it is markup already.

    >>> markup("a < b"), markup(Html("<b>a</b>"))
    ('a &lt; b', '<b>a</b>')
    """
    return value if isinstance(value, Html) else Html(html.escape(visible(value)))


def join(parts: Iterable[str], between: str = "") -> Html:
    """The parts after one another, each escaped unless it is markup."""
    return Html(markup(between).join(markup(part) for part in parts))


def element(name: str, *content: str, **attributes: str | int | bool | None) -> Html:
    """An element with its content.

    Args:
        name: the element's name, such as ``p``.
        content: text, which is escaped, and markup.
        attributes: a trailing ``_`` is dropped (``class_``), ``_`` inside becomes ``-``; None and
            False leave an attribute out, True writes it without a value.

    >>> element("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    written = []
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is True:
            written.append(f" {key}")
        elif value is not None and value is not False:
            written.append(f' {key}="{html.escape(visible(str(value)))}"')
    return Html(f"<{name}{''.join(written)}>{join(content)}</{name}>")


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numeric: Iterable[int] = (),
    row_attributes: Sequence[dict[str, str]] = (),
) -> Html:
    """A table that scrolls inside itself where the page is too narrow.

    Args:
        caption: says what the table shows; read aloud before it.
        columns: the headings.
        rows: the cells, text or markup; a row's first cell is its heading.
        numeric: numbers of the columns that hold numbers; they are set flush right.
        row_attributes: attributes of each row, such as ``{"data_slice": "all"}``.
    """
    right = set(numeric)

    def cell(number: int, content: str, name: str, **attributes: str) -> Html:
        kind = "number" if number in right else None
        return element(name, content, class_=kind, **attributes)

    head = join(cell(i, c, "th", scope="col") for i, c in enumerate(columns))
    body = []
    for place, row in enumerate(rows):
        first = cell(0, row[0], "th", scope="row")
        others = (cell(i, c, "td") for i, c in enumerate(row[1:], 1))
        extra = row_attributes[place] if row_attributes else {}
        body.append(element("tr", first, *others, **extra))
    inner = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", head)),
        element("tbody", *body),
    )
    return element("div", inner, class_="scroll", role="region", aria_label=caption, tabindex=0)


def key(entries: Iterable[tuple[str, str]]) -> Html:
    """What colours mean: a list that wraps where the page is narrow.

    Args:
        entries: each a meaning and a CSS colour, such as ``var(--s1)``.
    """
    return element(
        "ul",
        *(element("li", meaning, style=f"--swatch: {colour}") for meaning, colour in entries),
        class_="key",
    )


def page(title: str, sections: Sequence[Section], *, lead: str = "", scripts: str = "") -> str:
    """A whole HTML page.

    Args:
        title: its title and first heading.
        sections: its parts, in order; from three on, a list of contents stands before them.
        lead: what a reader must know first, under the title; text or markup.
        scripts: ``operators.report.charts.scripts(...)`` where the page has charts.

    Returns:
        The text of a file in UTF-8.
    """
    names = _anchors(sections)
    parts = [
        element(
            "section",
            element("h2", part.heading, id=f"{name}-heading"),
            part.body,
            id=name,
            aria_labelledby=f"{name}-heading",
        )
        for name, part in zip(names, sections, strict=True)
    ]
    contents = Html()
    if len(sections) > 2:
        links = [
            element("li", element("a", part.short or part.heading, href=f"#{name}"))
            for name, part in zip(names, sections, strict=True)
        ]
        contents = element("nav", element("ul", *links), aria_label="Contents")
    header = element("header", element("h1", title), _paragraph(lead), contents)
    style = (files(__package__) / "page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<link rel="icon" href="data:,">\n'
        f"{element('title', title)}\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"{element('main', header, *parts)}\n{scripts}</body>\n</html>\n"
    )


def _paragraph(lead: str) -> Html:
    if not lead:
        return Html()
    return lead if isinstance(lead, Html) else element("p", lead, class_="lead")


def _anchors(sections: Sequence[Section]) -> list[str]:
    found: list[str] = []
    for part in sections:
        name = re.sub(r"[^a-z0-9]+", "-", (part.short or part.heading).lower()).strip("-") or "part"
        found.append(name if name not in found else f"{name}-{len(found)}")
    return found
