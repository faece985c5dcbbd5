"""Decodes a file's bytes: by a byte-order mark, as UTF-8, as declared, or as detected.

UTF-8 comes first: text in another encoding is almost never valid UTF-8, and converted files often
keep their old declarations. Then a declaration in the file counts, then one beside it
(:mod:`operators.sources.declared_encodings`). A detected encoding is reported in a note. A file
that neither fits its declaration nor is detected with confidence is left out.

Detectors compared on 2,486 texts of 1 to 8 lines in 17 languages and 18 encodings, from the
translations of a program (correct, and milliseconds a text):

=====================================================  =====  ====
charset-normalizer 3.5                                  58 %   2.7
faust-cchardet 3.2                                      78 %   0.1
chardet 7.7                                             94 %   3.0
chardet, lines that are not ASCII, :data:`_GUESSED`
and without implausible readings                        97 %   2.7
=====================================================  =====  ====

With the thresholds below, 97 % are decoded, 1.4 % of these wrongly: a third in another encoding of
Central Europe, others are a line of two characters.
"""

import codecs
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from operators.foundation.sanitize import REPLACEMENT, clean_text
from operators.sources.files import Skipped
from operators.sources.formats.languages import code_language

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16's, with which it begins
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BARE_XML = ((b"<\0?\0", "utf-16-le"), (b"\0<\0?", "utf-16-be"))  # without a mark
_SNIFFED = 8192  # bytes in which a NUL means that a file is binary
_HEAD = 2048  # bytes in which a file declares its encoding
_SAMPLE = 16_384  # bytes for detection

_CODING_LINE = re.compile(rb"coding[:=][ \t]*[\"']?([\w.:-]{1,40})")
_PROLOG = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})")
_CSS = re.compile(rb"@charset [\"']([\w.:-]{1,40})")
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.I)
_PAGES = frozenset(("html", "php", "vue", "svelte"))
_SHIFTS = ((b"\x1b$)C", "iso2022_kr"), (b"\x1b$", "iso2022_jp_2"))  # ASCII bytes, so valid UTF-8

_CHARSETS = re.compile(
    r"utf-(?:8|16|32)[\w-]*|(?:cp|iso|koi8|mac|big5|gb|euc|shift_jis)[\w-]*|johab|tis-620|kz1048"
    r"|ptcp154|hp-roman8"
)  # of Python's codecs: no others that compress, escape or take long
_SUPERSETS = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
}  # what programs write under the smaller one's name
_EAST_ASIAN = ("cp932", "euc_jis_2004", "gb18030", "big5hkscs", "cp949")
_LATIN = (
    "cp1250", "cp1252", "cp1254", "cp1257", "iso8859-1", "iso8859-2", "iso8859-9", "iso8859-15",
    "cp437", "cp850", "cp852",
)  # fmt: skip
_OTHERS = (
    "koi8-r", "koi8-u", "cp1251", "cp866", "iso8859-5", "cp1253", "iso8859-7", "cp1255",
    "iso8859-8", "cp1256", "cp874",
)  # fmt: skip
_GUESSED = (*_EAST_ASIAN, *_LATIN, *_OTHERS)
_SURE = 0.04
"""The least confidence of the detector, which gives a line of eight letters about 0.1."""

_AHEAD = 2.0
"""The minimum ratio of confidences between two East Asian encodings, which share most bytes."""

_TIED = 0.8
"""The share of the best confidence above which a very short text is read as Windows-1252."""

_MIXED = 0.1
"""The share of valid UTF-8 among the non-ASCII lines above which it is no coincidence."""

_SHORT = 10
"""Non-ASCII characters; a shorter text is UTF-8 only if its damage is apart from them."""

_IMPLAUSIBLE = 0.05
"""The maximum share of implausible places among the non-ASCII words."""

_WORD = re.compile(r"[^\W\d_]+")
_SCRIPTS = frozenset(("LATIN", "CYRILLIC", "GREEK", "HEBREW", "ARABIC", "THAI"))
_CONTROL = re.compile(r"[\0-\x06\x0e-\x19\x1c-\x1f\x7f-\x9f]")
_SIGN_IN_A_WORD = re.compile(
    r"(?<=[^\W\d_])[\xa1-\xa9\xab-\xb4\xb6\xb8\xb9\xbb-\xbf\xd7\xf7‘‚-•‰-\u2bff]+(?=[^\W\d_])"
)
_RARE = re.compile("[¢¤¥¦¨¬\xad¯¸¹¶†‡ˆ‰˜ƒ]|[¡¿‚„](?!\\w)")  # letters of other encodings
_BESIDE_DAMAGE = re.compile(r"\ufffd[^\0-\x7f]|[^\0-\x7f]\ufffd")
_SIGNS = frozenset("\xa0§©«®°±²³µ·»½×÷‘’“”•–—…€™£")  # most code pages have many of these there
_SIDE_BY_SIDE = re.compile(rb"[\x80-\xff]{2}")


class Decoded(NamedTuple):
    """A file's text; its encoding unless that is UTF-8; and a note if the text may be wrong."""

    text: str
    encoding: str | None = None
    note: str | None = None

    @property
    def how(self) -> tuple[str, ...]:
        """The inputs of the text other than the bytes; empty for UTF-8."""
        return (self.encoding,) if self.encoding else ()


class _Reading(NamedTuple):
    """A possible decoding of the start of a file's non-ASCII lines."""

    encoding: str
    confidence: float
    text: str


def decode_file(
    data: bytes, path: str = "", declared: Callable[[], str | None] = lambda: None
) -> Decoded:
    """The text of a file, its line ends as they are.

    Args:
        data: the whole file.
        path: its name, which shows whether it is a page with a ``meta`` element.
        declared: returns the encoding that another file declares for this one; called only if it
            is not UTF-8.

    Raises:
        Skipped: the bytes are no text, or their encoding is uncertain; says which and why.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            if encoding == "utf-8":
                return _utf_8(data[len(mark) :], path, declared)
            text = _strictly(data[len(mark) :], encoding, "its byte-order mark says")
            return Decoded(clean_text(text), encoding)
    if b"\0" in data[:_SNIFFED]:
        named = next((name for start, name in _BARE_XML if data.startswith(start)), None)
        named = named or _known(declared() or "")
        if named is None or not named.startswith(("utf-16", "utf-32")):
            raise Skipped("binary")
        return Decoded(clean_text(_strictly(data, named, "the declared encoding is")), named)
    if b"\x1b$" in data:
        encoding = next(name for shift, name in _SHIFTS if shift in data)
        if (shifted := _or_none(data, encoding)) is not None:
            return Decoded(clean_text(shifted), encoding)
    return _utf_8(data, path, declared)


def with_plain_line_ends(text: str) -> str:
    r"""``text`` with ``\n`` between lines."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _utf_8(data: bytes, path: str, declared: Callable[[], str | None]) -> Decoded:
    try:
        return Decoded(clean_text(data.decode()))
    except UnicodeDecodeError:
        pass
    if named := _known(_declared_inside(data, path)) or _known(declared() or ""):
        text = _strictly(data, named, "the declared encoding is")
        return Decoded(clean_text(text), named)
    if (nearly := _nearly_utf_8(data)) is not None:
        return Decoded(clean_text(nearly), None, "damaged: what is no UTF-8 in it became U+FFFD")
    guessed = None if _is_mixed(data) else _guess(data)
    if guessed is None:
        raise Skipped(
            "not UTF-8, and no other encoding is certain: convert it or declare its encoding"
        )
    return guessed


def _nearly_utf_8(data: bytes) -> str | None:
    """The text with U+FFFD at its few damaged places; None if there are many."""
    text = data.decode("utf-8", "replace")
    valid, damaged = _utf_8_counts(data, text)
    if not valid or damaged > max(1, valid // 20) or REPLACEMENT * 3 in text:
        return None
    # A short text in another encoding may have a pair of bytes that is valid by coincidence.
    return text if valid >= _SHORT or not _BESIDE_DAMAGE.search(text) else None


def _utf_8_counts(data: bytes, text: str) -> tuple[int, int]:
    """The valid non-ASCII characters and the damaged places of ``data``, read as ``text``."""
    replaced = text.count(REPLACEMENT)
    valid = len(text) - len(text.encode("ascii", "ignore")) - replaced
    return valid, replaced - data.count(REPLACEMENT.encode())


def _is_mixed(data: bytes) -> bool:
    """Whether enough lines are UTF-8 with two or more characters to exclude coincidence."""
    lines = [line for line in data.splitlines() if not line.isascii()]
    texts = (_or_none(line, "utf-8") or "" for line in lines)
    valid = sum(len(text) - len(text.encode("ascii", "ignore")) > 1 for text in texts)
    return valid > _MIXED * len(lines)


def _guess(data: bytes) -> Decoded | None:
    """The text in the most likely encoding; None if another is about as likely."""
    readings = _readings(data)
    if not readings:
        return None
    best = readings[0]
    if best.confidence < _SURE:  # a name with an accent, or signs as in 20 °C, are too short
        western = next((one for one in readings if one.encoding == "cp1252"), None)
        if western is None or _SIDE_BY_SIDE.search(data):
            return None
        plain = {c for c in western.text if not c.isascii()} <= _SIGNS
        if not plain and western.confidence < _TIED * best.confidence:
            return None
        best = western
    other = next((one for one in readings if one.text != best.text), best)
    if other is not best and {best.encoding, other.encoding} <= set(_EAST_ASIAN):
        if best.confidence < _AHEAD * other.confidence:
            return None
    elif best.encoding in _LATIN:
        valid, damaged = _utf_8_counts(data, data.decode("utf-8", "replace"))
        if valid > damaged / 3:  # Ã¼ and â€™
            return None
    note = f"read as {best.encoding} by a guess: declare its encoding if that is wrong"
    return Decoded(clean_text(data.decode(best.encoding)), best.encoding, note)


def _readings(data: bytes) -> list[_Reading]:
    """The plausible decodings of ``data``, the most likely first."""
    import chardet  # 50 ms, for the files that need it

    lines = (line for line in data.splitlines(keepends=True) if not line.isascii())
    sample = b"".join(lines)[:_SAMPLE]
    guesses = chardet.detect_all(
        sample,
        ignore_threshold=True,
        include_encodings=_GUESSED,
        compat_names=False,
    )
    readings = []
    for one in guesses:
        encoding = one["encoding"]
        if encoding in _GUESSED and _or_none(data, encoding) is not None:
            text = codecs.getincrementaldecoder(encoding)().decode(sample)  # its end may be cut
            if _is_plausible(text):
                readings.append(_Reading(encoding, one["confidence"], text))
    return readings


def _declared_inside(data: bytes, path: str) -> str:
    """The encoding that a file declares in its own text; empty if none."""
    head = data[:_HEAD]
    match = _PROLOG.match(head) or _CSS.match(head)
    match = match or _CODING_LINE.search(b"\n".join(head.splitlines()[:2]))
    if match is None and code_language(path) in _PAGES:
        match = _META.search(head)
    return match[1].decode("ascii", "replace") if match else ""


@lru_cache(1000)
def _known(name: str) -> str | None:
    """Python's codec for a declared encoding; None if it has none, or it is UTF-8."""
    label = name.strip().lower().removeprefix("x-")
    for spelled in (label, label.replace("windows-", "cp")):
        try:
            codec = codecs.lookup(spelled).name
        except (LookupError, ValueError):
            continue
        if _CHARSETS.fullmatch(codec) and not codec.startswith("utf-8"):
            return _SUPERSETS.get(codec, codec)
    return None


def _strictly(data: bytes, encoding: str, why: str) -> str:
    text = _or_none(data, encoding)
    if text is None:
        raise Skipped(f"{why} {encoding}, but it has other bytes: mend it or convert it to UTF-8")
    return text


def _or_none(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeError, LookupError):
        return None


def _is_plausible(text: str) -> bool:
    """Whether no word mixes scripts or contains signs, and few signs are rare or controls."""
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    odd = sum(len({_script(character) for character in word} & _SCRIPTS) > 1 for word in words)
    odd += len(_SIGN_IN_A_WORD.findall(text))
    odd += len(_CONTROL.findall(text)) + len(_RARE.findall(text))
    odd += sum(unicodedata.category(c) in ("Cn", "Co") for c in set(text) if not c.isascii())
    return odd <= _IMPLAUSIBLE * (len(words) + 1)


@lru_cache(10_000)
def _script(character: str) -> str:
    return unicodedata.name(character, "").partition(" ")[0]
