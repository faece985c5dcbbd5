"""The mails around patches in the format of ``git format-patch``: title, description, encoding."""

import base64
import binascii
import quopri
import re
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from typing import NamedTuple

from operators.foundation.sanitize import clean_text

MAIL = rb"From [^\s]+ [A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\r?\n"
"""The first line of a mail in a mailbox."""

LONGEST = 20_000
"""Bytes of a mail's text that are read; a longer one is not a handwritten description."""

_MAIL = re.compile(rb"\n(?=" + MAIL + rb")")
_HEAD = re.compile(
    rb"\n?(?:" + MAIL + rb")?((?:[A-Za-z][\w-]*:[^\n]*\n(?:[ \t]+[^\s][^\n]*\n)*)+)\r?\n"
)
_SUBJECT = re.compile(rb"^Subject:((?:[^\n]*\n[ \t])*[^\n]*)", re.MULTILINE | re.IGNORECASE)
_ENCODING = re.compile(
    rb"^Content-Transfer-Encoding:[ \t]*(base64|quoted-printable)\s*$", re.MULTILINE | re.IGNORECASE
)
_PATCH_MARK = re.compile(r"(?:\s|(?:re|fwd?):|\[[^\]]*\b(?:PATCH|RFC)\b[^\]]*\])*", re.IGNORECASE)
_OWN_HEADERS = re.compile(r"\A\s*(?:(?:From|Date): [^\n]*\n)+(?=\n)")
_END = re.compile(r"^(?:---|-- ?)\s*$", re.MULTILINE)  # the statistics, the signature


class Mail(NamedTuple):
    """The title and description in a mail."""

    title: str
    description: str


def read_mail(data: bytes, start: int, end: int) -> Mail | None:
    """The mail whose head begins at ``start`` and whose patch begins at ``end``; None: it is none.

    Marks such as ``[PATCH v2 1/3]`` are removed from a subject.
    """
    head = _HEAD.match(data, start, min(end, start + LONGEST))
    subject = _SUBJECT.search(head[1]) if head else None
    if head is None or subject is None:
        return None
    title = _PATCH_MARK.sub("", _subject(subject[1]), count=1)
    body = _text(data[head.end() : min(end, head.end() + LONGEST)])
    body = _OWN_HEADERS.sub("", body, count=1)
    if ends := _END.search(body):
        body = body[: ends.start()]
    return Mail(title.strip(), body.strip())


def with_plain_bodies(data: bytes) -> bytes:
    """``data`` with base64 and quoted-printable mails decoded."""
    if b"base64" not in data and b"quoted-printable" not in data:
        return data
    return b"\n".join(map(_with_plain_body, _MAIL.split(data)))


def _with_plain_body(mail: bytes) -> bytes:
    head = _HEAD.match(mail, 0, LONGEST)
    encoding = _ENCODING.search(head[1]) if head else None
    if head is None or encoding is None:
        return mail
    body = mail[head.end() :]
    if encoding[1].lower() == b"quoted-printable":
        return mail[: head.end()] + quopri.decodestring(body)
    try:
        return mail[: head.end()] + base64.b64decode(body)
    except binascii.Error:
        return mail


def _subject(raw: bytes) -> str:
    """A subject on one line, its encoded words as text."""
    line = " ".join(_text(raw[:1000]).split())
    try:
        return clean_text(str(make_header(decode_header(line))))
    except (HeaderParseError, LookupError, ValueError):
        return line


def _text(data: bytes) -> str:
    return clean_text(data.decode("utf-8", "replace")).replace("\r\n", "\n")
