"""The texts of exported issues: title and description, without comments."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from operators.sources.formats.json_stream import file_objects
from operators.sources.github.github_records import (
    ISSUE,
    BadItem,
    repository_of,
    shown_body,
    sync_item,
)
from operators.sources.jsonl import SourceError, given_file, readable
from operators.sources.protocol import ReadIssue

IssueTexts = Mapping[tuple[str, int], str]
"""The text of each issue, by its repository's name in lower case ("": unknown) and its number."""

_FORM = "files of JSON as GitHub's API gives it, plain or gzipped"


def issue_texts(paths: Sequence[Path]) -> IssueTexts:
    """The issues of exports (``repos/ORG/APP/issues``); pull requests and comments are left out.

    Raises:
        SourceError: a path is no readable file, an item is not GitHub's, or there is no issue.
    """
    texts: dict[tuple[str, int], str] = {}
    for file in (given_file(path, _FORM) for path in paths):
        with readable(file), file.open("rb") as raw:
            for where, value in file_objects(file, raw):
                if isinstance(value, ReadIssue):
                    raise SourceError(f"{file}: {value}")
                try:
                    item = sync_item(value)
                except BadItem as error:
                    raise SourceError(f"{where}: {error}") from None
                if item and item.kind == ISSUE:
                    parts = (item.data["title"], shown_body(item.data))
                    name = (repository_of(value) or "").lower()
                    text = "\n\n".join(part.strip() for part in parts if part and part.strip())
                    texts[name, item.number] = text
    if not texts:
        named = ", ".join(map(str, paths))
        raise SourceError(
            f"{named}: no issue in it; give what GitHub's API gives, repos/ORG/APP/issues"
        )
    return texts
