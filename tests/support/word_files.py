"""Word documents that tests make."""

import io
import zipfile

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
BODY = f"""<?xml version="1.0"?><w:document xmlns:w="{W}"><w:body>{{}}</w:body></w:document>"""


def paragraph(text: str, style: str | None = None) -> str:
    marked = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{marked}<w:r><w:t>{text}</w:t></w:r></w:p>"


def word(body: str, **parts: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", body)
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()
