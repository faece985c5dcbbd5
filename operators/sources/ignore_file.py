"""``.crosscorpusignore`` at the top of a source: files that its owner wants nobody to find here.

The syntax is gitignore's (by the library pathspec). A file that it names is not taken, and a
document that an earlier run took goes.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pathspec

from operators.sources.files import Skipped, decode_source, read_file
from operators.sources.jsonl import SourceError
from operators.sources.protocol import Item, Key, ReadIssue, Source

NAME = ".crosscorpusignore"
_LARGEST = 100_000  # bytes
_MOST_STARS = 3  # in one part of a path: each more makes a match of a long name 80 times as dear


def without_ignored(source: Source, root: str | os.PathLike[str]) -> Source:
    """``source`` without the documents whose path the file in the folder ``root`` names.

    One issue of a scan, which did not fail, says how many they were.

    Raises:
        SourceError: the file is too large, no text, or holds a pattern that gitignore has not.
    """
    ignored = _patterns(os.fsencode(root))
    if ignored is None:
        return source

    def scan() -> Iterator[Item]:
        left_out = set[str]()
        for item in source.scan():
            path = item.where if isinstance(item, ReadIssue) else item.key[2]
            if ignored(path) or path == NAME:
                left_out.add(path)
            else:
                yield item
        if count := len(left_out - {NAME}):
            yield ReadIssue(NAME, f"leaves out {count} files", failed=False)

    def is_left_out(key: Key) -> bool:
        return ignored(key[2]) or source.left_out(key)

    return replace(source, scan=scan, left_out=is_left_out)


def _patterns(root: bytes) -> Callable[[str], bool] | None:
    try:
        lines = decode_source(read_file(root, NAME.encode(), _LARGEST).data).splitlines()
        _check_stars(lines)
        return pathspec.GitIgnoreSpec.from_lines(lines).match_file
    except Skipped as reason:
        if os.path.lexists(os.path.join(root, NAME.encode())):
            raise SourceError(f"{NAME} cannot be used: {reason}") from None
        return None
    except (ValueError, re.error) as error:  # of pathspec
        raise SourceError(f"{NAME}: {error}") from None


def _check_stars(lines: Sequence[str]) -> None:
    for number, line in enumerate(lines, start=1):
        parts = line.split("/")
        stars = [part.count("*") for part in parts if part != "**"]
        if max([*stars, parts.count("**")]) > _MOST_STARS:
            raise SourceError(f"{NAME}: line {number} has too many '*'")
