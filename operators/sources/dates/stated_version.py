"""Which version a document describes, which of two is the newer, and which documents are one topic.

A version is looked for where projects put it: front matter, AsciiDoc's revision, the path
(``docs/v1.2/``, ``version-1.10/``) and the file name (``Spark_Release_3.5.3_Apache_Spark.pdf``).
What is left of a path without its version names the topic: the lineage of all its versions.
"""

from __future__ import annotations

import re
import unicodedata
from posixpath import splitext
from typing import TypeAlias

from operators.foundation.filename_dates import filename_date
from operators.sources.formats.asciidoc_header import asciidoc_header
from operators.sources.formats.front_matter import (
    FrontMatterRefused,
    find_front_matter,
    parse_block,
    plain_lines,
)

Number: TypeAlias = tuple[int, str]
"""A number of any size as (digits, their text): compares as the number does."""
VersionKey: TypeAlias = tuple[int, tuple[Number, ...], int, tuple[tuple[int, int, str], ...]]

_KEYS = ("version", "revnumber", "doc_version", "product_version", "release")
_ASCIIDOC_SUFFIXES = frozenset({".adoc", ".asciidoc", ".asc", ".ad"})

_STAGE = r"dev|snapshot|nightly|canary|alpha|beta|milestone|m|preview|pre|rc|cr|a|b"
_TAIL = rf"(?:[-_.]?(?:{_STAGE})[-_.]?[0-9]+|[-_.]?(?:dev|snapshot|nightly|alpha|beta|rc))"
_AFTER = r"(?![0-9A-Za-z]|\.[0-9])"
_BEFORE = r"(?<![0-9A-Za-z.])"
_FLAGS = re.ASCII | re.IGNORECASE
_PARTS = r"(?:\.[0-9]{1,9})"
_VERSION = rf"(?P<v>[0-9]{{1,9}}{_PARTS}{{0,5}}(?:\.x)?{_TAIL}?)"
# v1, v1.2, V5.3.1-rc.2
_MARKED = re.compile(rf"{_BEFORE}v\.? ?{_VERSION}{_AFTER}", _FLAGS)
# release-1.2, version_3
_WORDED = re.compile(rf"{_BEFORE}(?:version|ver|release|rel)[-_. ]?{_VERSION}{_AFTER}", _FLAGS)
# 18.20.8
_LONG = re.compile(rf"{_BEFORE}(?P<v>[0-9]{{1,9}}{_PARTS}{{2,5}}{_TAIL}?){_AFTER}", _FLAGS)
# python-3.11: two numbers need a name before them, or to stand alone
_NAMED = re.compile(
    rf"(?<=[A-Za-z][-_ ])(?P<v>[0-9]{{1,9}}{_PARTS}{{1,5}}{_TAIL}?){_AFTER}", _FLAGS
)
_ALONE = re.compile(rf"(?P<v>[0-9]{{1,9}}{_PARTS}{{1,5}}(?:\.x)?{_TAIL}?|[0-9]{{1,9}}\.x)", _FLAGS)
_NUMBERED_PART = re.compile(
    r"(?<![A-Za-z])(?:chapter|chap|ch|section|subsection|sec|part|appendix|annex|figure|fig|table"
    r"|listing|equation|eq|step|lesson|lecture|tutorial|session|unit|module|topic|slide"
    r"|exercise|ex|lab|problem|task|question|quiz|assignment|homework|hw|worksheet|example"
    r"|experiment|scenario|theorem|lemma|adr|epic|story|ticket|sprint|iteration|phase"
    r"|vol|volume|episode|week|day|page|item|no|nr|number|rule|clause|article|requirement|req"
    r")[-_ ]\Z",
    re.IGNORECASE,
)
_MOVING = frozenset({"latest", "stable"})
_EXTENSION = re.compile(r"\.(?!(?:rc|beta|alpha|dev|x)[0-9]*\Z)[A-Za-z][A-Za-z0-9]{0,9}\Z")
_SAME_FORMAT = {".markdown": ".md", ".asciidoc": ".adoc", ".asc": ".adoc", ".htm": ".html"}

_VALUE = re.compile(r"[\w.+-]{1,64}")
_WORD = re.compile(r"[0-9]+|[a-z]+|\*")
_BEFORE_RELEASE = {
    "dev": 0, "nightly": 0, "canary": 0, "snapshot": 0, "alpha": 1, "a": 1, "beta": 2, "b": 2,
    "milestone": 3, "m": 3, "ea": 3, "pre": 5, "preview": 5, "rc": 5, "cr": 5, "c": 5,
}  # fmt: skip
_OTHER_WORD, _RELEASE, _AFTER_RELEASE = 4, 6, 7
_RELEASE_WORDS = frozenset({"final", "release", "ga", "stable", "lts", "jre", "android"})
_AFTER_WORDS = frozenset({"post", "patch", "pl", "p", "sp", "rev", "r", "hotfix", "update", "u"})
_ANY: Number = (1 << 60, "")


def document_version(path: str | None, text: str | None = None) -> tuple[str | None, str | None]:
    """A document's version as written, without a leading ``v``, and where it stands.

    Args:
        path: the document's path within its source; folders above the source are not its business.
        text: its text, or the start of it.

    Returns:
        (version, source) with source ``front_matter``, ``asciidoc``, ``name`` or ``path``, the
        first that has one; (None, None) where none has. The name is nearer than a folder, a nearer
        folder nearer than one further up.

    >>> document_version("docs/v1.2/guide.md")
    ('1.2', 'path')
    >>> document_version("guide.md", "---\\nversion: 1.10\\n---\\n")
    ('1.10', 'front_matter')
    """
    clean = _slashes(path or "")
    if text is not None:
        suffix = splitext(clean)[1].lower()
        if found := _stated(text, suffix):
            return found
    *folders, name = clean.split("/")
    if span := _version_in(_split_extension(name)[0]):
        return _bare(name[slice(*span)]), "name"
    for folder in reversed(folders):
        if span := _version_in(folder):
            return _bare(folder[slice(*span)]), "path"
    return None, None


def version_key(version: str | None) -> VersionKey:
    """A key that sorts versions from oldest to newest; it never raises.

    Numbers compare as numbers; ``1.0`` equals ``1.0.0`` and ``v1.0``. Development builds, alphas,
    betas, milestones and release candidates come before their release, patches after it. ``1.x``
    follows every ``1.`` version. A text without a number comes before every version, nothing first
    of all. Build metadata (``+...``) does not count.

    >>> sorted(["1.10", "1.9", "1.10rc1", "v1.2"], key=version_key)
    ['v1.2', '1.9', '1.10rc1', '1.10']
    """
    text = (version or "").strip().lower().partition("+")[0]
    text = re.sub(r"\A(?:version|ver|v|release|rel)[-_. ]*(?=[0-9])", "", text)
    if re.fullmatch(r"[0-9]{4}([-_])[0-9]{1,2}(?:\1[0-9]{1,2})?", text, re.ASCII):
        text = re.sub("[-_]", ".", text)
    head = re.match(r"[0-9]+(?:\.(?:[0-9]+|[x*](?![a-z0-9])))*", text, re.ASCII)
    if head is None:
        return (1 if text else 0, (), 0, ((0, 0, text),))
    numbers = [_ANY if part in "x*" else _number(part) for part in head[0].split(".")]
    while len(numbers) > 1 and numbers[-1] == (0, ""):
        numbers.pop()
    stage, rest = _stage(text[head.end() :])
    return (2, tuple(numbers), stage, rest)


def lineage_of(path: str | None, title: str | None = None) -> str | None:
    """The name that all versions of one document share: its path without the version.

    Letter case, ``_`` and spaces do not count. ``latest`` and ``stable`` count as versions here.
    A file that is named by its version alone goes by its folder, else by its title without the
    version. None where there is neither a path nor a title.

    >>> lineage_of("docs/v1.2/Guide.md") == lineage_of("docs/latest/guide.md")
    True
    >>> lineage_of("assert_nodejs_18.20.8.md")
    'assert-nodejs.md'
    """
    parts = [p for p in _slashes(path or "").split("/") if p not in ("", ".")]
    if not parts:
        return _plain(_without(title, _version_in(title))) or None if title else None
    *folders, name = parts
    kept = []
    for folder in folders:
        rest = "" if folder.lower() in _MOVING else _without(folder, _version_in(folder))
        if plain := _plain(rest):
            kept.append(plain)
    stem, extension = _split_extension(name)
    plain = _plain(_without(stem, _version_in(stem)))
    if not plain and not kept and title:
        plain = _plain(_without(title, _version_in(title)))
    extension = extension.lower()
    return "/".join([*kept, plain + _SAME_FORMAT.get(extension, extension)])


def _stated(text: str, suffix: str) -> tuple[str, str] | None:
    block = find_front_matter(text)
    if block is not None:
        try:
            fields = parse_block(block)
        except FrontMatterRefused:
            fields = dict(plain_lines(block))
        named = {key.lower().replace("-", "_"): value for key, value in reversed(fields.items())}
        for key in _KEYS:
            value = named.get(key)
            if isinstance(value, str) and (version := _acceptable(value)):
                return version, "front_matter"
        text = text[block.end :]
    if suffix in _ASCIIDOC_SUFFIXES:
        header = asciidoc_header(text)
        attributes = header.attributes
        for value in (attributes.get("revnumber"), header.number, attributes.get("version")):
            if value and (version := _acceptable(value)):
                return version, "asciidoc"
    return None


def _acceptable(value: str) -> str | None:
    version = _bare(value.strip().strip("\"'"))
    has_digit = re.search("[0-9]", version)
    return version if has_digit and _VALUE.fullmatch(version) else None


def _bare(version: str) -> str:
    return re.sub(r"\A[vV](?:ersion)?[. ]?(?=[0-9])", "", version)


def _version_in(text: str) -> tuple[int, int] | None:
    """Where in a name its version stands, the surest form first; a date is none."""
    text = text[:400]
    if match := _ALONE.fullmatch(text):
        return None if filename_date(text) else match.span("v")
    for form in (_MARKED, _WORDED, _LONG, _NAMED):
        for match in form.finditer(text):
            start = match.start("v")
            if filename_date(text[start : start + 10]):
                continue
            if form is _NAMED and _NUMBERED_PART.search(text[:start]):
                continue
            return match.span("v")
    return None


def _without(text: str, span: tuple[int, int] | None) -> str:
    if span is None:
        return text
    before = re.sub(r"(?i)(?<![a-z0-9])(?:v|version|ver)[-_. ]*\Z", "", text[: span[0]])
    return re.sub(r"\(\s*\)|\[\s*\]", " ", f"{before} {text[span[1] :]}")


def _split_extension(name: str) -> tuple[str, str]:
    match = _EXTENSION.search(name)
    return (name[: match.start()], match[0]) if match and match.start() else (name, "")


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[\s_-]+", "-", folded).strip("-., ")


def _slashes(path: str) -> str:
    return path.replace("\\", "/")


def _number(digits: str) -> Number:
    digits = digits.lstrip("0")
    return (len(digits), digits)


def _stage(text: str) -> tuple[int, tuple[tuple[int, int, str], ...]]:
    """What follows the numbers: before, at or after the release, and its own parts in order."""
    words = _WORD.findall(text)
    while words and words[0] in _RELEASE_WORDS:
        words.pop(0)
    if not words:
        return _RELEASE, ()
    rest = tuple((1, *_number(w)) if w.isdigit() else (0, 0, w) for w in words)
    first = words[0]
    # 1.1.1w: a letter alone, right after the number, is a patch.
    letter = len(first) == 1 and len(words) == 1 and text.startswith(first)
    if first.isdigit() or first in _AFTER_WORDS or letter:
        return _AFTER_RELEASE, rest
    if first in _BEFORE_RELEASE:
        return _BEFORE_RELEASE[first], rest[1:]
    return _OTHER_WORD, rest
