"""The tracked files of a working tree: sources into ``code``, prose into ``docs``.

A file is read once, from the disk, by the path that git tracks; symbolic links are never followed,
neither as a file nor as a folder on the way to it.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import replace
from itertools import chain
from posixpath import normpath

from operators.foundation.disk_dict import DiskDict
from operators.foundation.front_matter import stated_title
from operators.foundation.sanitize import clean_text, shown_path
from operators.sources.dates.document_date import document_date
from operators.sources.dates.stated_version import document_version
from operators.sources.files import Gone, Skipped, decode_source, ending, read_file
from operators.sources.formats.docx import read_docx
from operators.sources.formats.headings import headings
from operators.sources.formats.languages import (
    code_language,
    is_generated,
    prose_format,
    script_language,
)
from operators.sources.formats.notebook import notebook_text
from operators.sources.git.commit_log import LastCommit
from operators.sources.git.repository import Repository, TrackedFile, git_stream, split
from operators.sources.ignore_patterns import glob
from operators.sources.protocol import Document, Item, ReadIssue, metadata_json
from operators.versions.named_version import lineage_of

MAX_FILE = 1_000_000
"""Bytes; a larger tracked file is data or generated, and is left out."""

MAX_PACKED = 20_000_000
"""Bytes of a notebook or Word document: most of it may be pictures."""

_PACKED: Mapping[str | None, Callable[[bytes], str]] = {
    "ipynb": notebook_text,
    "docx": lambda data: read_docx(data).text,
}

_SYMLINK, _SUBMODULE = "120000", "160000"
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_SNIFFED = 8192
_TITLE_LINES = 100
_FENCE = re.compile(r" {0,3}(```|~~~)")
_ATX_TITLE = re.compile(r" {0,3}#{1,2}[ \t]+(.*?)[ \t]*#*[ \t]*")


def tracked_files(
    repository: Repository, excluded: MutableMapping[str, int]
) -> DiskDict[TrackedFile]:
    """Every path that git tracks, a path in conflict once, but what is excluded; to be closed.

    Args:
        repository: where they are.
        excluded: pattern -> how many files it matches; counted up.
    """
    found = DiskDict[TrackedFile]()
    with git_stream(repository.root, "ls-files", "--stage", "-z") as stream:
        for entry in split(stream):
            head, _, path = entry.partition(b"\t")
            mode, content, _ = head.decode().split(" ")
            if path in found:
                continue
            matching = [one for one in excluded if is_excluded(shown_path(path), one)]
            for pattern in matching:
                excluded[pattern] += 1
            if not matching:
                found[path] = TrackedFile(path, mode, content)
    return found


def is_excluded(path: str, pattern: str) -> bool:
    """Whether ``pattern`` leaves out the file at ``path``, also one that is tracked no more.

    >>> [is_excluded("a/b.min.js", pattern) for pattern in ("a/", "*.min.js", "./a/b.min.js", "b")]
    [True, True, True, False]
    """
    plain = normpath(pattern)
    return plain == "." or f"{path}/".startswith(f"{plain}/") or bool(glob(plain).fullmatch(path))


def read_tree(
    repository: Repository, tracked: DiskDict[TrackedFile], last: Mapping[bytes, LastCommit]
) -> Iterator[Item]:
    """Documents of the tracked files, and a ReadIssue for each that is left out or cannot be read.

    Prose comes first: there is little of it, and it says what the rest is about.
    """
    for file in chain(_files(tracked, prose=True), _files(tracked, prose=False)):
        path = shown_path(file.path)
        plain = path.encode()
        if plain != file.path and plain in tracked:
            yield ReadIssue(path, "another file has this very name", failed=False)
            continue
        key = ("code" if prose_format(path) is None else "docs", repository.name, path)
        try:
            yield _document(repository, file, path, last.get(file.path))
        except Gone:
            yield ReadIssue(path, "not in the working tree", failed=False)
        except Skipped as reason:
            yield ReadIssue(path, str(reason), failed=False, key=key, state="left_out")
        except (OSError, ValueError) as exc:
            yield ReadIssue(
                path, f"cannot be read: {getattr(exc, 'strerror', None) or exc}", key=key
            )


def _files(tracked: DiskDict[TrackedFile], *, prose: bool) -> Iterator[TrackedFile]:
    for _, file in tracked.starting(b""):
        if (prose_format(shown_path(file.path)) is not None) is prose:
            yield file


def prose_title(text: str, path: str) -> str | None:
    """The first heading near the start of a prose file, if there is one.

    >>> prose_title("<p>logo</p>\\n# The *guide* #\\n", "a.md")
    'The *guide*'
    """
    lines = text.split("\n", _TITLE_LINES)[:_TITLE_LINES]
    if prose_format(path) not in ("markdown", "ipynb"):
        found = headings("\n".join(lines), path)
        return found[0].text if found else None
    lines = lines[_front_matter(lines) :]
    fence = ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1] == fence else fence
        elif mark:
            fence = mark[1]
        elif title := _ATX_TITLE.fullmatch(line.rstrip("\r")):
            if title[1]:
                return title[1]
        elif number and re.fullmatch(r" {0,3}=+\s*", line) and lines[number - 1].strip():
            return lines[number - 1].strip()
    return None


def _front_matter(lines: list[str]) -> int:
    """How many lines the front matter takes."""
    if lines and lines[0].rstrip() in ("---", "+++"):
        for number, line in enumerate(lines[1:], start=1):
            if line.rstrip() == lines[0].rstrip():
                return number + 1
    return 0


def _document(
    repository: Repository, file: TrackedFile, path: str, last: LastCommit | None
) -> Document:
    if file.mode == _SYMLINK:
        raise Skipped("symbolic link")
    if file.mode == _SUBMODULE:
        raise Skipped("submodule")
    if is_generated(path):
        raise Skipped("dependency lock or generated file")
    prose, language = prose_format(path), code_language(path)
    extension = ending(path)
    if prose is None and language is None and extension:
        raise Skipped(f"no known text type: {extension}")
    unpack = _PACKED.get(prose)
    largest = MAX_PACKED if unpack else MAX_FILE
    data = read_file(os.fsencode(repository.root), file.path, largest).data
    if data.startswith(_LFS_POINTER):
        raise Skipped("stands for a file that git lfs pull fetches")
    if prose is None and language is None:
        language = script_language(data[:_SNIFFED])
        if language is None:
            raise Skipped("no known text type")
    text = clean_text(unpack(data)) if unpack else decode_source(data)
    committed = _content_id(data, file.content) == file.content
    linked = last is not None and last.exact and committed
    moment = last.moment if last else None
    source = Document(
        document_id=clean_text(path),
        corpus="docs" if prose else "code",
        repo=repository.name,
        title=clean_text(path),
        text=text,
        path=clean_text(path),
        uri=repository.file_link(last.commit, file.path) if last and linked else None,
        language=prose or language,
        created_at=moment,
        doc_date=moment,
        date_source="git" if moment else None,
    )
    commit = {
        "commit": last.commit if last else None,
        "short_commit": last.commit[:7] if last else None,
        "uncommitted": None if linked else True,
    }
    if prose is None:
        return replace(source, metadata=metadata_json(commit))
    title = stated_title(text) or prose_title(text, path)
    full = os.path.join(repository.root, os.fsdecode(file.path))
    dated = document_date(full, within=path, text=text, git_date=moment)
    version, version_source = document_version(path, text)
    return replace(
        source,
        title=clean_text(title or path),
        doc_date=dated.value,
        date_source=dated.source if dated.value else None,
        version=version,
        lineage_id=lineage_of(path, title),
        metadata=metadata_json(
            {**commit, "date_trust": dated.trust, "version_source": version_source}
        ),
    )


def _content_id(data: bytes, tracked: str) -> str:
    """The id that git gives to ``data``; to its LF form where that is what is tracked."""
    algorithm = hashlib.sha1 if len(tracked) == 40 else hashlib.sha256
    found = algorithm(b"blob %d\0" % len(data) + data).hexdigest()
    if found != tracked and b"\r\n" in data:
        folded = data.replace(b"\r\n", b"\n")
        folded_id = algorithm(b"blob %d\0" % len(folded) + folded).hexdigest()
        return folded_id if folded_id == tracked else found
    return found
