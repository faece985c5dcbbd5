"""Word documents that tests make."""

import io
import zipfile
from collections.abc import Mapping

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
BODY = f"""<?xml version="1.0"?><w:document xmlns:w="{W}"><w:body>{{}}</w:body></w:document>"""

_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"


def paragraph(text: str, style: str | None = None) -> str:
    marked = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{marked}<w:r><w:t>{text}</w:t></w:r></w:p>"


def word(body: str, **parts: str) -> bytes:
    return archive({"word/document.xml": body, **parts})


def archive(parts: Mapping[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in parts.items():
            opened.writestr(name, content)
    return file.getvalue()


def part(root: str, content: str) -> str:
    """A part whose outermost element is ``root``."""
    return f'<w:{root} xmlns:w="{W}" xmlns:m="{MATH}">{content}</w:{root}>'


def relations(kinds: str = _KINDS, **targets: str) -> str:
    """The relationships of a part: the kind of each, and where it leads."""
    listed = "".join(
        f'<Relationship Id="{kind}" Type="{kinds}{kind}" Target="{target}"/>'
        for kind, target in targets.items()
    )
    return f'<Relationships xmlns="{_RELATIONS}">{listed}</Relationships>'
