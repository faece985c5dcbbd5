"""Escapes a corpus's text, so that it is harmless for people and models.

No content can then forge a label, a link or a boundary, or hide an instruction in unseen
characters. A character that is invisible, changes the direction of text or controls a terminal is
shown as ``\\u{...}`` with its code in hexadecimal. The stored text does not change.

Labels are plain text. They are escaped once, where they become Markdown (:func:`markdown_text`),
the header of a passage (:func:`header_label`) or HTML (:mod:`operators.report.explanation`).
"""

import re
from urllib.parse import quote, urlsplit, urlunsplit

from operators.foundation.short_cache import cached_if_short

# Unicode's format characters but for the visible ones, fillers and blanks that show nothing,
# supplementary variation selectors, runs of the common ones, line and paragraph separators.
_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
# Joiners between two letters of a script that needs them, or between two emoji, are visible.
_JOINED = "[\u0600-\u1fff\u2190-\u2bff\u3040-\ud7ff\ufe0f\U0001f000-\U0001faff]"
_JOINERS = f"(?<!{_JOINED})[\u200c\u200d]|[\u200c\u200d](?!{_JOINED})"
_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_RUNS = "[\ufe00-\ufe0f]{2,}"
_IN_TEXT = re.compile(f"[{_CONTROL}{_UNSEEN}]|{_JOINERS}|{_RUNS}")
UNSEEN_IN_A_LINE = re.compile(f"[\t\n{_CONTROL}{_UNSEEN}]|{_JOINERS}|{_RUNS}")
_MARKUP = re.compile(r"[\\\[\]`<>*~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|/(?=/)|(?<=[wW]{3})\.")
_BRACKETS = re.compile(r"(?<!\\)[\[\]]")
_IN_URL = "/?#:@!$&*+,;=%~-._"
# What a browser takes for `.` or `..` and leaves the path by; also where a server decodes %2F, %5C.
_DOTS = re.compile(r"(?:^|/|%2f|%5c)(?:\.|%2e){1,2}(?=/|%2f|%5c|$)", re.IGNORECASE)


def visible(text: str) -> str:
    """``text`` for the context: lines and tabs stay, unseen characters are shown.

    >>> visible("a\\u200bb\\r\\nc")
    'a\\\\u{200b}b\\nc'
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _IN_TEXT.sub(_codes, text)


def label_text(text: str) -> str:
    """``text`` on one line, for a label: unseen characters and line ends are shown.

    >>> label_text("a[0]\\n<b>")
    'a[0]\\\\u{a}<b>'
    """
    if text.isascii() and text.isprintable():  # most labels are
        return text
    return UNSEEN_IN_A_LINE.sub(_codes, text)


def shown_characters(label: str) -> str:
    """The text of a ``label`` that :func:`label_text` gave, with its unseen characters.

    >>> shown_characters(label_text("a\\u200bb")) == "a\\u200bb"
    True
    """
    return re.sub(r"\\u\{(10[0-9a-f]{4}|[0-9a-f]{1,5})\}", lambda one: chr(int(one[1], 16)), label)


def markdown_text(text: str) -> str:
    """``text`` as Markdown shows it: what would be markup, an entity or an address is escaped.

    >>> markdown_text("x](https://evil) [a_b/__init__.py")
    'x\\\\](https:\\\\//evil) \\\\[a_b/\\\\_\\\\_init\\\\_\\\\_.py'
    """
    return _MARKUP.sub(r"\\\g<0>", text)


def header_label(label: str) -> str:
    """``[corpus: ...]`` for a header of a context: a bracket inside that could end it is escaped.

    >>> header_label("[docs: a[0]]"), header_label("[docs: x] [y]")
    ('[docs: a[0]]', '[docs: x\\\\] \\\\[y]')
    """
    inside = label[1:-1]
    alone: list[int] = []
    for match in _BRACKETS.finditer(inside):
        if match[0] == "]" and alone and inside[alone[-1]] == "[":
            alone.pop()
        else:
            alone.append(match.start())
    shown = (f"\\{one}" if index in alone else one for index, one in enumerate(inside))
    return f"[{''.join(shown)}]"


@cached_if_short(4096, 1_000)  # without the cache, an answer's links cost as much as its ranking
def safe_url(url: str) -> str | None:
    """``url`` for any link that leaves: of Markdown, HTML or JSON; None if it must not be one.

    Only http and https with a host, without user-info and without ``..`` in the path. Characters
    that could end a Markdown link, and all beyond ASCII, are percent-encoded.

    >>> safe_url("https://example.org/a b(c)")
    'https://example.org/a%20b%28c%29'
    >>> safe_url("http://good.com@evil.com/") is safe_url("javascript:alert(1)") is None
    True
    """
    if label_text(url) != url or "\\" in url:
        return None
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode()
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or "@" in parts.netloc or _DOTS.search(parts.path):
        return None
    if not re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", host):
        return None
    rest = urlunsplit(("", "", parts.path, parts.query, parts.fragment))
    rest = re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", rest)
    return f"{parts.scheme}://{host}{port}{quote(rest, safe=_IN_URL)}"


def _codes(match: re.Match[str]) -> str:
    return "".join(f"\\u{{{ord(character):x}}}" for character in match[0])
