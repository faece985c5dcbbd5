"""Word documents that tests make."""

import io
import zipfile
from collections.abc import Mapping

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
BODY = f"""<?xml version="1.0"?><w:document xmlns:w="{W}"><w:body>{{}}</w:body></w:document>"""

_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_STYLES = {"Title": "Title", "berschrift1": "heading 1", "Heading1": "heading 1"}


def paragraph(text: str, style: str | None = None) -> str:
    marked = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{marked}<w:r><w:t>{text}</w:t></w:r></w:p>"


def word(body: str, **parts: str) -> bytes:
    """A Word document whose main part is ``body``; ``parts`` are more parts by their names."""
    names = [name.removeprefix("word/") for name in parts if name.startswith("word/")]
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{style}"><w:name w:val="{name}"/></w:style>'
        for style, name in _STYLES.items()
    )
    return archive(
        {
            "_rels/.rels": relations("word/document.xml", kind="officeDocument"),
            "word/_rels/document.xml.rels": relations("styles.xml", *names),
            "word/styles.xml": part("styles", styles),
            "word/document.xml": body,
            **parts,
        }
    )


def archive(parts: Mapping[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in parts.items():
            opened.writestr(name, content)
    return file.getvalue()


def part(root: str, content: str) -> str:
    """A part whose outermost element is ``root``."""
    return f'<w:{root} xmlns:w="{W}">{content}</w:{root}>'


def relations(*targets: str, kind: str | None = None) -> str:
    """Relationships to ``targets``, each of the kind that its name says, or of ``kind``."""
    listed = "".join(
        f'<Relationship Id="r{n}" Type="{_KINDS}{kind or target.split(".")[0]}" Target="{target}"/>'
        for n, target in enumerate(targets)
    )
    return f'<Relationships xmlns="{_RELATIONS}">{listed}</Relationships>'
