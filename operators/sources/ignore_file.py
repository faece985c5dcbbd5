"""``.crosscorpusignore`` at the top of a source: files that its owner excludes from ingestion.

The syntax is gitignore's. A matching file is left out; if an earlier run ingested it, its document
is deleted.
"""

import codecs
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from urllib.parse import unquote_to_bytes

from operators.errors import counted
from operators.foundation.sanitize import shown_path
from operators.sources.encodings import decode_file
from operators.sources.files import Skipped, read_file
from operators.sources.ignore_patterns import ignore_patterns
from operators.sources.jsonl import SourceError
from operators.sources.protocol import Item, Key, ReadIssue, Source

NAME = ".crosscorpusignore"
_LARGEST = 100_000  # bytes


def without_ignored(
    source: Source,
    root: str | os.PathLike[str],
    *,
    exclude: Sequence[str] = (),
    no_files: str | None = None,
) -> Source:
    """``source`` without the documents whose path matches the file in the folder ``root``.

    One issue of a scan, which is no failure, has their number.

    Args:
        source: its documents' ids are their paths.
        root: the folder.
        exclude: patterns of this run, as further lines of the file.
        no_files: the corpus whose documents are not files; all of them stay.

    Raises:
        SourceError: the file is too large, no text, or has an invalid gitignore pattern.
    """
    ignored = _ignored(os.fsencode(root), exclude)
    named = f"--exclude and {NAME}" if exclude else NAME
    if ignored is None:
        return source

    def scan() -> Iterator[Item]:
        left_out = set[str]()
        for item in source.scan():
            path = item.where if isinstance(item, ReadIssue) else item.key[2]
            is_file = not item.key or item.key[0] != no_files
            if is_file and (ignored(path) or path == NAME):
                left_out.add(path)
            else:
                yield item
        if (count := len(left_out - {NAME})) or exclude:
            yield ReadIssue(named, f"leaves out {counted(count, 'file')}", failed=False)

    def is_left_out(key: Key) -> bool:
        return (key[0] != no_files and ignored(key[2])) or source.left_out(key)

    return replace(source, scan=scan, left_out=is_left_out)


def _ignored(root: bytes, exclude: Sequence[str]) -> Callable[[str], bool] | None:
    """What says whether the file in ``root`` or ``exclude`` matches a shown path; None: neither."""
    try:
        data = read_file(root, NAME.encode(), _LARGEST).data.removeprefix(codecs.BOM_UTF8)
        data = decode_file(data).text.encode() if b"\0" in data else data
    except Skipped as reason:
        if os.path.lexists(os.path.join(root, NAME.encode())):
            raise SourceError(f"{NAME} cannot be used: {reason}") from None
        data = b""
    if not (data or exclude):
        return None
    try:
        ignored = ignore_patterns(b"\n".join([data, *map(os.fsencode, exclude)]))
    except ValueError as error:
        raise SourceError(f"{'--exclude or ' * bool(exclude)}{NAME}: {error}") from None

    def is_ignored(shown: str) -> bool:
        path, raw = shown.encode(), unquote_to_bytes(shown)
        shows = raw != path and shown_path(raw) == shown
        return ignored(raw if shows and not os.path.lexists(os.path.join(root, path)) else path)

    return is_ignored
