"""A sort key that orders versions from oldest to newest."""

import re
from typing import TypeAlias

from operators.foundation.short_cache import cached_if_short

Number: TypeAlias = tuple[int, str]
"""A number of any size as (digits, their text): compares as the number does."""
VersionKey: TypeAlias = tuple[int, tuple[Number, ...], int, tuple[tuple[int, int, str], ...]]
_WORD = re.compile(r"[0-9]+|[a-z]+|\*")
_BEFORE_RELEASE = {
    "dev": 0, "nightly": 0, "canary": 0, "snapshot": 0, "alpha": 1, "a": 1, "beta": 2, "b": 2,
    "milestone": 3, "m": 3, "ea": 3, "pre": 5, "preview": 5, "rc": 5, "cr": 5, "c": 5,
}  # fmt: skip
_OTHER_WORD, _RELEASE, _AFTER_RELEASE = 4, 6, 7
_RELEASE_WORDS = frozenset({"final", "release", "ga", "stable", "lts", "jre", "android"})
_AFTER_WORDS = frozenset({"post", "patch", "pl", "p", "sp", "rev", "r", "hotfix", "update", "u"})
_ANY: Number = (1 << 60, "")


def version_key(version: str | None) -> VersionKey:
    """A key that sorts versions from oldest to newest; it never raises.

    Numbers compare as numbers; ``1.0`` equals ``1.0.0`` and ``v1.0``. Development builds, alphas,
    betas, milestones and release candidates come before their release, patches after it. ``1.x``
    follows every ``1.`` version. A text without a number comes before every version, and no text
    before that. Build metadata (``+...``) does not count.

    >>> sorted(["1.10", "1.9", "1.10rc1", "v1.2"], key=version_key)
    ['v1.2', '1.9', '1.10rc1', '1.10']
    """
    return _key(version or "")


@cached_if_short(20_000)
def _key(version: str) -> VersionKey:
    text = version.strip().lower().partition("+")[0]
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


def _number(digits: str) -> Number:
    digits = digits.lstrip("0")
    return (len(digits), digits)


def _stage(text: str) -> tuple[int, tuple[tuple[int, int, str], ...]]:
    """Whether ``text``, after the numbers, is before, at or after the release; and its parts."""
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
