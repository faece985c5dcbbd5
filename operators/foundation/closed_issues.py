"""The issues that a commit or a pull request says it closes, in the words that forges know."""

import re
from collections.abc import Collection

from operators.foundation.markdown_blocks import markdown_parts

REFERENCE = re.compile(
    r"(?<![\w-])(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?::\s*|\s+)"
    r"(?:(?P<repo>[\w.-]+/[\w.-]+)?#|GH-"
    r"|https?://github\.com/(?P<address>[\w.-]+/[\w.-]+)/issues/)"
    r"(?P<number>[1-9]\d{0,9})\b",
    re.IGNORECASE,
)


def closed_issues(message: str, names: Collection[str]) -> tuple[list[int], bool]:
    """The issues that ``message`` closes in its own repository, and whether it names another's.

    ``names``: what the repository is called, in lower case.

    >>> closed_issues("Fix the cache\\n\\nfixes #12, Closes: GH-3; resolves org/app#4", ["org/app"])
    ([12, 3, 4], False)
    >>> closed_issues("prefixes #12, see #3; fixes org/other#4", ["org/app"])
    ([], True)
    """
    numbers, elsewhere = dict[int, None](), False
    for match in REFERENCE.finditer(message):
        named = match["repo"] or match["address"]
        if named and named.lower() not in names:
            elsewhere = True
        else:
            numbers[int(match["number"])] = None
    return [*numbers], elsewhere


def said(markdown: str) -> str:
    """``markdown`` without comments, code and quotes: what its author says there.

    >>> said("Fixes #1 <!-- such as fixes #2 --> `fixes #3`").split()
    ['Fixes', '#1']
    """
    outside = "".join(part.text for part in markdown_parts(markdown) if part.kind == "text")
    return re.sub(r"^ {0,3}>[^\n]*", "", outside, flags=re.MULTILINE)
