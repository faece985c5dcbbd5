"""The fragment that leads a link to a section, as each system makes it from the heading.

GitHub and GitLab: lower case, punctuation dropped, spaces to hyphens, a repeated one numbered
``-1``. MediaWiki: spaces to underscores, else as it is, a repeated one numbered ``_2``. AsciiDoc
(Asciidoctor): ``_`` in front, lower case, other characters to ``_``, numbered ``_2``.
"""

import re
from posixpath import splitext
from typing import NamedTuple

from operators.sources.formats.headings import MARKDOWN_LINK, headings

_TAG = re.compile(r"<[^<>]*>")
_WIKI_LINK = re.compile(r"\[\[:?(?:[^\]\[|]*\|)?([^\]\[|]*)\]\]")
_EXPLICIT = re.compile(r"\s*\{:?\s*#([\w:.-]+)[^{}]*\}\s*$")
_WITHOUT = frozenset((".pdf", ".html", ".htm", ".xhtml"))
_DROPPED = re.compile(r"[^\w\- ]")


class Section(NamedTuple):
    """The 0-based line of a heading, and its fragment."""

    line: int
    slug: str


def section_slugs(text: str, path: str) -> list[Section]:
    r"""The sections of ``text``, each with a fragment of its own; the format as in ``headings``.

    >>> [s.slug for s in section_slugs("# Über uns\n\n# A b!\n\n# a-b\n\n# a-b\n", "a.md")]
    ['über-uns', 'a-b', 'a-b-1', 'a-b-2']
    >>> [s.slug for s in section_slugs("== A b ==\n== A b ==\n", "a.wiki")]
    ['A_b', 'A_b_2']
    """
    suffix = splitext(path)[1].lower()
    slug, joint, first = _SLUGS.get(suffix, (_github, "-", 1))
    found: list[Section] = []
    taken: set[str] = set()
    repeats: dict[str, int] = {}
    for heading in [] if suffix in _WITHOUT else headings(text, path):
        plain = made = slug(heading.text)
        # Two ids of MediaWiki differ by more than case; a made one can be taken too.
        while made.casefold() in taken:
            number = repeats.get(plain.casefold(), first)
            repeats[plain.casefold()] = number + 1
            made = f"{plain}{joint}{number}"
        taken.add(made.casefold())
        found.append(Section(heading.line, made))
    return found


def _github(heading: str) -> str:
    if explicit := _EXPLICIT.search(heading):
        return explicit[1]
    text = _TAG.sub("", MARKDOWN_LINK.sub(r"\1", heading))
    return _DROPPED.sub("", text.strip().lower()).replace(" ", "-")


def _mediawiki(heading: str) -> str:
    text = _TAG.sub("", _WIKI_LINK.sub(r"\1", heading)).replace("'''", "").replace("''", "")
    return "_".join(text.split())


def _asciidoctor(heading: str) -> str:
    text = _TAG.sub("", heading).lower()
    return "_" + re.sub(r"[ .-]+", "_", re.sub(r"[^\w .-]", "", text)).strip("_")


_SLUGS = {
    **dict.fromkeys((".mediawiki", ".wiki"), (_mediawiki, "_", 2)),
    **dict.fromkeys((".adoc", ".asciidoc", ".asc"), (_asciidoctor, "_", 2)),
}
"""What makes a fragment, and how a repeated one is numbered."""
