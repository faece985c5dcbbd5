"""The version that a document states: in front matter, in AsciiDoc's revision, in its path."""

import re
from posixpath import splitext

from operators.foundation.front_matter import block_fields, find_front_matter
from operators.sources.formats.asciidoc import ASCIIDOC, asciidoc_header
from operators.versions.named_version import bare_version, named_version

_KEYS = ("version", "revnumber", "doc_version", "product_version", "release")
_VALUE = re.compile(r"(?=.*[0-9])[\w.+-]{1,64}")


def document_version(path: str | None, text: str | None = None) -> str | None:
    """A document's version as written, without a leading ``v``; None if it has none.

    Front matter comes first, then AsciiDoc's header, then the path.

    Args:
        path: the document's path within its source.
        text: its text, or the start of it.

    >>> document_version("docs/v1.2/guide.md")
    '1.2'
    >>> document_version("guide.md", "---\\nversion: 1.10\\n---\\n")
    '1.10'
    """
    stated = None if text is None else _stated(text, splitext(path or "")[1].lower())
    return stated or named_version(path)


def _stated(text: str, suffix: str) -> str | None:
    block = find_front_matter(text)
    if block is not None:
        fields = reversed([*block_fields(block).items()])
        named = {key.lower().replace("-", "_"): value for key, value in fields}
        for key in _KEYS:
            value = named.get(key)
            if isinstance(value, str) and (version := _acceptable(value)):
                return version
        text = text[block.end :]
    if suffix in ASCIIDOC:
        header = asciidoc_header(text)
        attributes = header.attributes
        for value in (attributes.get("revnumber"), header.number, attributes.get("version")):
            if value and (version := _acceptable(value)):
                return version
    return None


def _acceptable(value: str) -> str | None:
    version = bare_version(value.strip().strip("\"'"))
    return version if _VALUE.fullmatch(version) else None
