"""One self-contained HTML file: a page makes no request, and no content can run in it.

A plain ``str`` is text and is escaped; only :class:`Html` is markup. So hostile queries, labels or
names can't become markup by accident.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from operators.errors import CrosscorpusError
from operators.foundation.escape import visible
from operators.foundation.extras import installing

try:
    import jinja2
    from markupsafe import Markup
except ImportError as error:
    raise CrosscorpusError(f"a page needs {error.name}: {installing('evaluate')}") from None

Html = Markup
"""Markup that is not escaped in a page."""


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading."""

    heading: str
    body: Html


def _shown(value: Any) -> Any:
    """A text with invisible characters shown; markup and everything else unchanged."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Html) else value


def join(parts: Iterable[str], between: str = "") -> Html:
    """The parts, concatenated; each escaped, with invisible characters shown, unless it is markup.

    >>> str(join(["a < b", Html("<b>a</b>")]))
    'a &lt; b<b>a</b>'
    """
    return Html.escape(_shown(between)).join(map(_shown, parts))


def element(name: str, *content: str, **attributes: str | int | bool | None) -> Html:
    """An element with its content.

    Args:
        name: the element's name, such as ``p``.
        content: text, which is escaped, and markup.
        attributes: a trailing ``_`` is dropped (``class_``), ``_`` inside becomes ``-``; None and
            False leave an attribute out, True writes it without a value.

    >>> str(element("p", "1 < 2", class_="note"))
    '<p class="note">1 &lt; 2</p>'
    """
    start = Html(name)
    for key, value in attributes.items():
        if value is not None and value is not False:
            start += " " + key.rstrip("_").replace("_", "-")
            start += Html("") if value is True else Html('="{}"').format(_shown(str(value)))
    return Html("<{}>{}</{}>").format(start, join(content), name)


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numeric: Iterable[int] = (),
) -> Html:
    """A table that scrolls inside itself if the page is too narrow.

    ``columns`` are the headings; a row's first cell is its heading. Screen readers read the caption
    first. The columns with indices ``numeric`` are right-aligned.
    """
    right = set(numeric)

    def cell(number: int, content: str, name: str, **attributes: str) -> Html:
        kind = "number" if number in right else None
        return element(name, content, class_=kind, **attributes)

    head = join(cell(i, c, "th", scope="col") for i, c in enumerate(columns))
    body = []
    for row in rows:
        first = cell(0, row[0], "th", scope="row")
        others = (cell(i, c, "td") for i, c in enumerate(row[1:], 1))
        body.append(element("tr", first, *others))
    inner = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", head)),
        element("tbody", *body),
    )
    return element("div", inner, class_="scroll", role="region", aria_label=caption, tabindex=0)


def page(title: str, sections: Sequence[Section], *, lead: str = "") -> str:
    """A whole HTML page.

    Args:
        title: its title and first heading.
        sections: its parts, in order.
        lead: the text or markup under the title.

    Returns:
        The text of a file in UTF-8.
    """
    return _template().render(
        title=title,
        sections=sections,
        lead=lead,
        style=Html(_file("page.css")),
    )


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True,
        finalize=_shown,
        loader=jinja2.FunctionLoader(_file),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html")


def _file(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")
