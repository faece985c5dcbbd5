"""Small PDFs, written by hand."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence

_PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


def _rc4(key: bytes, data: bytes) -> bytes:
    box = list(range(256))
    j = 0
    for i in range(256):
        j = (j + box[i] + key[i % len(key)]) % 256
        box[i], box[j] = box[j], box[i]
    made, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + box[i]) % 256
        box[i], box[j] = box[j], box[i]
        made.append(byte ^ box[(box[i] + box[j]) % 256])
    return bytes(made)


def _encryption(password: bytes, identity: bytes) -> bytes:
    """The encryption dictionary of PDF 1.1 (40 bits) that asks for ``password``."""
    padded = (password + _PADDING)[:32]
    owner = _rc4(hashlib.md5(padded).digest()[:5], padded)
    permissions = b"\xff\xff\xff\xff"
    key = hashlib.md5(padded + owner + permissions + identity).digest()[:5]
    user = _rc4(key, _PADDING)
    return b"<</Filter/Standard/V 1/R 2/P -1/O<%s>/U<%s>>>" % (
        owner.hex().encode(),
        user.hex().encode(),
    )


def make_pdf(
    pages: Sequence[str],
    *,
    info: Mapping[str, str] | None = None,
    outline: Sequence[tuple[str, int]] = (),
    password: bytes | None = None,
) -> bytes:
    """A PDF with one line of text a line, bookmarks (title, page from 0) and an information
    dictionary."""
    first = 4
    kids = b" ".join(b"%d 0 R" % (first + 2 * n) for n in range(len(pages)))
    marks = first + 2 * len(pages)
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R%s>>" % (b"/Outlines %d 0 R" % marks if outline else b""),
        2: b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(pages), kids),
        3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    }
    for n, page in enumerate(pages):
        lines = b" T* ".join(b"(%s) Tj" % line.encode("latin-1") for line in page.split("\n"))
        content = b"BT /F 12 Tf 14 TL 50 700 Td %s ET" % lines
        objects[first + 2 * n] = (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 5000 800]/Resources<</Font<</F 3 0 R>>>>"
            b"/Contents %d 0 R>>" % (first + 2 * n + 1)
        )
        objects[first + 2 * n + 1] = b"<</Length %d>>stream\n%s\nendstream" % (
            len(content),
            content,
        )
    if outline:
        last = marks + len(outline)
        objects[marks] = b"<</First %d 0 R/Last %d 0 R/Count %d>>" % (
            marks + 1,
            last,
            len(outline),
        )
        for n, (title, page_number) in enumerate(outline, start=marks + 1):
            following = b"/Next %d 0 R" % (n + 1) if n < last else b""
            before = b"/Prev %d 0 R" % (n - 1) if n > marks + 1 else b""
            objects[n] = b"<</Title(%s)/Parent %d 0 R/Dest[%d 0 R/Fit]%s%s>>" % (
                title.encode("latin-1"),
                marks,
                first + 2 * page_number,
                following,
                before,
            )
    trailer = b""
    if info:
        number = max(objects) + 1
        entries = b"".join(b"/%s(%s)" % (k.encode(), v.encode("latin-1")) for k, v in info.items())
        objects[number] = b"<<%s>>" % entries
        trailer += b"/Info %d 0 R" % number
    if password is not None:
        number = max(objects) + 1
        objects[number] = _encryption(password, b"0123456789abcdef")
        trailer += b"/Encrypt %d 0 R/ID[(0123456789abcdef)(0123456789abcdef)]" % number
    made = b"%PDF-1.4\n"
    places = []
    for number, content in sorted(objects.items()):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    return (
        made
        + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R%s>>\n"
        % (
            size,
            table,
            size,
            trailer,
        )
        + b"startxref\n%d\n%%%%EOF\n" % len(made)
    )


def make_bomb(part: bytes, times: int) -> bytes:
    """A PDF of one page whose content unfolds to ``times`` times ``part``."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH)  # may follow itself
    check = 1
    for _ in range(times):
        check = zlib.adler32(part, check)
    stream = b"\x78\x9c" + block * times + b"\x03\x00" + check.to_bytes(4, "big")
    plain = make_pdf(["?"])
    content = b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(stream), stream)
    before, _, rest = plain.partition(b"5 0 obj\n")
    return before + b"5 0 obj\n" + content + b"\nendobj\n" + rest.partition(b"endobj\n")[2]


def make_loop() -> bytes:
    """A PDF whose tree of pages is its own child, and has no other."""
    return make_pdf(["?"]).replace(b"/Kids[4", b"/Kids[2").replace(b"/Type/Page/", b"/Type/None/")
