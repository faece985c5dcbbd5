"""The kind of text in a file, by its name: code of a language, prose, or neither.

A file with an unknown name is left out with a reason, because data files outnumber sources in many
repositories and hide relevant hits.

``languages.json`` has each kind's endings and names of files, the common ones first. Those of the
less frequent languages are taken from ``lib/linguist/languages.yml`` of github-linguist/linguist,
release 9.6.0 (MIT licence): its languages of the types programming, markup and prose, and a few
schemas of its type data, without endings with a second dot and those that name binary or generated
files more often than sources.
"""

import json
import re
from pathlib import Path
from posixpath import splitext

TABLES = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
"""Kind -> its words, separated by spaces: endings, names of files, interpreters."""


def _by_word(table: str) -> dict[str, str]:
    return {word: kind for kind, words in TABLES[table].items() for word in words.split()}


_CODE, _CODE_NAMES = _by_word("code"), _by_word("code_names")
_PROSE, _PROSE_NAMES = _by_word("prose"), _by_word("prose_names")
_INTERPRETERS = _by_word("interpreters")
_REQUIREMENTS = re.compile(r"requirements[\w.-]*\.txt")
MARKDOWN = tuple(f".{ending}" for ending, kind in _PROSE.items() if kind == "markdown")
"""The endings of Markdown, with their dots."""

CONVERTED = ("docx", "epub", "odt", "pptx", "rtf", "tex", "xlsx")
"""The formats that become Markdown by a converter; ``tex`` in a folder of documents only."""

PACKED = (*CONVERTED, "ipynb")
"""The formats of prose that are no text."""

_LOCKS = frozenset(TABLES["locks"].split())
_GENERATED = re.compile(r"\.(lock|min\.(js|css|mjs)|(js|css|mjs)\.map|bundle\.js)$")
_SHEBANG = re.compile(rb"#![ \t]*(?:\S*/)?env[ \t]+(?:-\S+[ \t]+)*([\w.]+)|#![ \t]*\S*/([\w.]+)")


def code_language(path: str) -> str | None:
    """The language of the source, script or configuration file at ``path``, or None.

    >>> code_language("src/app.py"), code_language("Makefile"), code_language("photo.png")
    ('python', 'make', None)
    """
    name, extension = _name(path)
    if name in _CODE_NAMES:
        return _CODE_NAMES[name]
    if _REQUIREMENTS.fullmatch(name):
        return "ini"
    if name.startswith(("dockerfile.", "makefile.")):
        return name.partition(".")[0].replace("makefile", "make")
    return _CODE.get(extension)


def prose_format(path: str) -> str | None:
    """markdown, rst, asciidoc, docx, ipynb, org, text, ... for a file people read, or None.

    >>> prose_format("README"), prose_format("a/guide.rst"), prose_format("requirements-dev.txt")
    ('text', 'rst', None)
    """
    name, extension = _name(path)
    if code_language(path) is not None:
        return None
    return _PROSE_NAMES.get(name) or _PROSE.get(extension)


def known_kinds() -> frozenset[str]:
    """The names of all languages and formats that a text may have."""
    kinds = {*_CODE.values(), *_CODE_NAMES.values(), *_PROSE.values()}
    return frozenset(kinds.difference(PACKED))


def is_prose(kind: str) -> bool:
    """Whether ``kind`` is a format of a text that people read."""
    return kind in _PROSE.values()


def script_language(first_bytes: bytes) -> str | None:
    """The language that a file's ``#!`` line names, or None.

    >>> script_language(b"#!/usr/bin/env python3\\n")
    'python'
    """
    match = _SHEBANG.match(first_bytes)
    if match is None:
        return None
    program = (match[1] or match[2]).decode().lower()
    return _INTERPRETERS.get(program) or _INTERPRETERS.get(program.rstrip("0123456789."))


def is_generated(path: str) -> bool:
    """Whether ``path`` names a dependency lock or minified output.

    >>> is_generated("web/package-lock.json"), is_generated("package.json")
    (True, False)
    """
    name, _ = _name(path)
    return name in _LOCKS or _GENERATED.search(name) is not None


def _name(path: str) -> tuple[str, str]:
    name = path.rpartition("/")[2].lower()
    return name, splitext(name)[1].removeprefix(".")
