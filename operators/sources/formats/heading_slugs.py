"""The fragment that leads a link to a section, as each system makes it from the heading.

GitHub and GitLab: lower case, punctuation dropped, spaces to hyphens, a repeated one numbered
``-1``. MediaWiki: spaces to underscores, else as it is, a repeated one numbered ``_2``. AsciiDoc
(Asciidoctor): ``_`` in front, lower case, other characters to ``_``, numbered ``_2``.
"""

import re
from collections.abc import Sequence
from posixpath import splitext

from operators.sources.formats.headings import MARKDOWN_LINK, Heading
from operators.sources.formats.languages import MARKDOWN

_TAG = re.compile(r"<[^<>]*>")
_WIKI_LINK = re.compile(r"\[\[:?(?:[^\]\[|]*\|)?([^\]\[|]*)\]\]")
_EXPLICIT = re.compile(r"\s*\{:?\s*#([\w:.-]+)[^{}]*\}\s*$")
_DROPPED = re.compile(r"[^\w\- ]")


def section_slugs(sections: Sequence[Heading], path: str) -> list[str]:
    """A distinct fragment for each section; none for a format without fragments.

    >>> section_slugs([Heading(0, 1, "A b!"), Heading(2, 1, "a-b"), Heading(4, 1, "a-b")], "a.md")
    ['a-b', 'a-b-1', 'a-b-2']
    >>> section_slugs([Heading(0, 2, "A b"), Heading(1, 2, "A b")], "a.wiki")
    ['A_b', 'A_b_2']
    """
    suffix = splitext(path)[1].lower()
    if suffix not in _SLUGS:
        return []
    slug, joint, first = _SLUGS[suffix]
    slugs: list[str] = []
    taken: set[str] = set()
    repeats: dict[str, int] = {}
    for heading in sections:
        plain = made = slug(heading.text)
        # Two ids of MediaWiki differ by more than case; a made one can be taken too.
        while made.casefold() in taken:
            number = repeats.get(plain.casefold(), first)
            repeats[plain.casefold()] = number + 1
            made = f"{plain}{joint}{number}"
        taken.add(made.casefold())
        slugs.append(made)
    return slugs


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
    **dict.fromkeys((*MARKDOWN, ".ipynb", ".rst", ".docx"), (_github, "-", 1)),
    **dict.fromkeys((".mediawiki", ".wiki"), (_mediawiki, "_", 2)),
    **dict.fromkeys((".adoc", ".asciidoc", ".asc"), (_asciidoctor, "_", 2)),
}
"""By ending: the function that makes a fragment, and the number of a repeated one."""
