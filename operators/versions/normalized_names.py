"""A document's path, title and identifier without its own version.

Only a document's own version is removed: a page ``migrate-from-2.7.md`` of version 3.5 is another
topic than ``migrate-from-2.6.md`` beside it.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from operators.foundation.filename_dates import filename_date
from operators.versions.named_version import named_version

MOVING = frozenset({"latest", "stable", "current"})
"""Folders whose content moves on from version to version."""

CODE = "code"
"""A corpus whose files have no versions: its folders v1 and v2 are interfaces, both current."""

ABOUT_FILES = ("review", "memory")
"""Corpora whose documents have the path of a file without being the file."""

_HOLE = "\0"
_BETWEEN = re.compile(r"[._-]")
_NOISE = re.compile(rf"(?:(?<![^\W_])(?:version|ver|v)[-_. ]*)?{_HOLE}", re.IGNORECASE)
_SAID = re.compile(rf"(?<![^\W_])(?:version|ver|v|release|rel|r)[-_. ]*{_HOLE}", re.IGNORECASE)
_TWO_NUMBERS = re.compile(r"[0-9]+\.[0-9]+", re.ASCII)
_EMPTY = re.compile(r"\(\s*\)|\[\s*\]|\{\s*\}")
_SPACES = re.compile(r"[\s_-]+")
_DATE = re.compile(
    r"(?<![0-9])(?:19|20)[0-9]{2}(?:[-_.]?(?:0[1-9]|1[0-2])(?:[-_.]?[0-3][0-9])?)?(?![0-9])"
)


class NormalizedNames(NamedTuple):
    """A document's names without its version.

    It is ``numbered`` if the version is two numbers in the file name and no word marks them as a
    version: ``exercise-1.2.md`` may be the second page of the first part.
    """

    version: str | None
    dated: bool  # its file name has a date, which is removed instead
    path: str | None
    title: str | None
    identifier: str  # its document_id
    family: str  # the path before the version, common to all pages of its versions
    numbered: bool


def versionless_path(
    corpus: str, path: str | None, document_id: str, version: str | None
) -> tuple[str, bool] | None:
    """A document's path without its version or date ("": none), and whether it has one of them.

    None for code without a stated version, which is no version of anything.

    >>> versionless_path("docs", "docs/2.1/limits.md", "a", None)
    ('docs/limits.md', True)
    """
    if corpus == CODE and version is None:
        return None
    names = normalize_names(path, None, document_id, version)
    return names.path or "", names.version is not None or names.dated


def normalize_names(
    path: str | None, title: str | None, document_id: str, version: str | None = None
) -> NormalizedNames:
    """The names without the stated version, or without the version in the path.

    >>> normalize_names("raw/assert_nodejs_11.15.0.md", "Node.js 11.15.0 assert", "a").path
    'raw/assert-nodejs.md'
    """
    path = path.replace("\\", "/") if path else None
    if version is None and path:
        version = named_version(path)
    dated = version is None and path is not None and filename_date(path) is not None
    holed, numbered = None, False
    if path:
        *folders, name = [p for p in path.split("/") if p not in ("", ".")] or [""]
        name = _DATE.sub(_HOLE, name) if dated else name
        *folders, name = _without("/".join([*folders, name]), version, path=True).split("/")
        above = "/".join(_HOLE if p.lower() in MOVING else p for p in folders)
        holed = f"{above}/{name}" if folders else name
        alone = _HOLE in name and _HOLE not in above and not _SAID.search(name)
        numbered = alone and version is not None and bool(_TWO_NUMBERS.fullmatch(version))
    text = _DATE.sub(_HOLE, title) if dated and title else title
    return NormalizedNames(
        version,
        dated,
        _path(holed) if holed is not None else None,
        (_plain(_without(text, version)) or None) if text else None,
        _path(_without(document_id, version, path=True)),
        _path(holed.partition(_HOLE)[0] + _HOLE) if holed and _HOLE in holed else "",
        numbered,
    )


def _without(text: str, version: str | None, *, path: bool = False) -> str:
    if not version:
        return text
    without, found = _form(version, path).subn(_HOLE, text)
    if found or not path:
        return without
    parts = _BETWEEN.split(version)
    for end in range(len(parts) - 1, 1, -1):  # a folder 3.5 of version 3.5.3
        without, found = _form(".".join(parts[:end]), path).subn(_HOLE, text)
        if found:
            return without
    draft = _draft(version)
    return draft.sub(_HOLE, text) if draft else text


@lru_cache(maxsize=4096)
def _draft(version: str) -> re.Pattern[str] | None:
    """A draft's number in a path, the end of ``version``: ``tls-05.md``, ``draft-05/tls.md``.

    None for a version that may be a page's number: a digit without a word.
    """
    number = re.search(r"[0-9]+\Z", version)
    if number is None or not (number.start() or len(version) > 1):
        return None
    draft = rf"(?:draft|rev|r|v)?[-_.]?{number[0]}"
    return re.compile(
        rf"(?<=[^/\W_])[-_.]{draft}(?=\.[A-Za-z]\w*\Z|/|\Z)|(?<![^/]){draft}(?=/)", re.IGNORECASE
    )


@lru_cache(maxsize=4096)
def _form(version: str, path: bool) -> re.Pattern[str]:
    parts = [re.escape(part) for part in _BETWEEN.split(version) if part]
    number = "[._-]".join(parts)
    if len(parts) < 2:
        # One number is a version only if a word marks it as one, or if it is the whole folder name.
        mark = r"(?<![^\W_])(?:version|ver|v|release|rel|r)[-_. ]?"
        alone = rf"|(?<![^/]){number}(?=/)" if path else ""
        return re.compile(rf"{mark}{number}(?![0-9A-Za-z_]|\.[0-9]){alone}", re.IGNORECASE)
    return re.compile(rf"(?<![0-9])(?<![0-9][._]){number}(?![0-9A-Za-z]|[.][0-9])", re.IGNORECASE)


def _path(holed: str) -> str:
    parts = (_plain(part) for part in holed.split("/"))
    return "/".join(part for part in parts if part)


@lru_cache(maxsize=65_536)  # most folders, and an identifier's parts, are those of other documents
def _plain(holed: str) -> str:
    text = _EMPTY.sub(" ", _NOISE.sub(" ", unicodedata.normalize("NFKC", holed).casefold()))
    text = _SPACES.sub("-", text)
    return re.sub(r"-*\.-*(?=[a-z]+\Z)", ".", text).strip("-., ")
