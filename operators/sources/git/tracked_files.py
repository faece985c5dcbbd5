"""The tracked files of a working tree: sources into ``code``, prose into ``docs``.

A file is read once, from the disk, by the path that git tracks; symbolic links are never followed,
neither as a file nor as a folder on the way to it.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from operators.foundation.disk_dict import DiskDict
from operators.foundation.front_matter import stated_title
from operators.foundation.sanitize import clean_text, shown_path
from operators.sources import files
from operators.sources.also import Also, kind_of, reads_as_prose
from operators.sources.dates.document_date import document_date
from operators.sources.dates.stated_version import document_version
from operators.sources.encodings import Decoded, decode_file
from operators.sources.formats.headings import prose_title
from operators.sources.formats.languages import PACKED, is_generated, is_prose, script_language
from operators.sources.formats.notebook import notebook_text
from operators.sources.formats.pandoc import converted, why_missing
from operators.sources.formats.shown_text import shown_text
from operators.sources.generated import why_generated
from operators.sources.git.commit_log import LastCommit
from operators.sources.git.git_process import GitError, git_output, git_stream, split
from operators.sources.git.repository import Repository, TrackedFile
from operators.sources.git.stored_content import Attributes, attributes, is_stored
from operators.sources.protocol import Document, Item, Key, metadata_json

MAX_FILE = 1_000_000
"""Bytes; a larger tracked file is data or generated, and is left out."""

MAX_PACKED = 20_000_000
"""Bytes of a notebook or Office document: most of it may be pictures."""

LONGEST_SEARCH_S = 5.0
"""Seconds that git may read files that the tree names, such as ``.gitattributes``."""

_NO_FILES = {"120000": "symbolic link", "160000": "submodule"}  # by git's mode
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_SNIFFED = 8192


def tracked_files(repository: Repository) -> DiskDict[TrackedFile]:
    """Every path that git tracks; the caller closes it."""
    tracked = DiskDict[TrackedFile]()
    with git_stream(repository.root, "ls-files", "--stage", "-z") as stream:
        for entry in split(stream):
            head, _, path = entry.partition(b"\t")
            mode, content, _ = head.decode().split(" ")
            tracked.add(path, TrackedFile(path, mode, content))
    return tracked


def tracked_names(root: Path) -> frozenset[str] | None:
    """The paths in git's index, as documents are named after them.

    None: there is no index, as in a clone that was not checked out. An index that is there and
    empty is the answer of somebody who removed every file.

    Raises:
        GitError: git is missing or refuses.
    """
    if not Path(root, git_output(root, "rev-parse", "--git-path", "index")).exists():
        return None
    with git_stream(root, "ls-files", "-z") as stream:
        return frozenset(map(shown_path, split(stream)))


class _Tree(NamedTuple):
    """What all files of a working tree share."""

    repository: Repository
    also: Also
    attributes: Attributes


def read_tree(
    repository: Repository,
    tracked: DiskDict[TrackedFile],
    last: Mapping[bytes, LastCommit],
    also: Also = MappingProxyType({}),
) -> Iterator[Item]:
    """Documents of the tracked files, and a ReadIssue for each that is left out or cannot be read.

    Prose comes first: there is little of it, and it says what the rest is about. ``also`` has the
    endings that are read besides the known ones.
    """
    known = Attributes()
    with suppress(GitError):  # what it reads stands in files that the tree names: one may be a pipe
        paths = (path for path, _ in tracked.starting(b""))
        known = attributes(repository.root, paths, LONGEST_SEARCH_S)
    tree = _Tree(repository, also, known)
    for corpus in ("docs", "code"):
        for path, file in tracked.starting(b""):
            if (corpus == "docs") is reads_as_prose(shown_path(path), also):
                read = partial(_document, tree, file, last.get(path))
                yield files.file_item(path, tracked, (corpus, repository.name), read)


def _read(tree: _Tree, file: TrackedFile, path: str) -> tuple[bytes, Decoded, str]:
    """The bytes of a file, its text, and the language or format of that."""
    if file.mode in _NO_FILES:
        raise files.Skipped(_NO_FILES[file.mode])
    generated = tree.attributes.generated.get(file.path)
    if generated:
        raise files.Generated(".gitattributes says so")
    if generated is None and is_generated(path):
        raise files.Skipped("dependency lock or generated file")
    root, language = os.fsencode(tree.repository.root), kind_of(path, tree.also)
    if language is None and (extension := files.ending(path)):
        raise files.UnknownEnding(extension)
    packed = language if language in PACKED else None
    if packed not in (None, "ipynb") and (why := why_missing(packed)):
        raise files.NotInstalled(why)
    largest = MAX_PACKED if packed else MAX_FILE
    try:
        data = files.read_file(root, file.path, largest).data
    except files.Gone:
        raise files.NoDocument("not in the working tree") from None
    if data.startswith(_LFS_POINTER):
        raise files.Skipped("stands for a file that git lfs pull fetches")
    language = language or script_language(data[:_SNIFFED])
    if language is None:
        raise files.Skipped("no known text type")
    if packed == "ipynb":
        return data, Decoded(clean_text(notebook_text(data))), packed
    if packed:
        document = converted(data, packed)
        return data, Decoded(clean_text(document.text), note=document.note), packed
    decoded = decode_file(data, path)
    shown = decoded._replace(text=shown_text(decoded.text, language, path))
    judged = shown if is_prose(language) else decoded  # a picture in code is the code's own
    if generated is None and (
        why := why_generated(judged.text, language, prose=is_prose(language))
    ):
        raise files.Generated(why)
    return data, shown, language


def _document(
    tree: _Tree, file: TrackedFile, last: LastCommit | None, _: bytes, key: Key
) -> Document:
    path = key[2]
    repository = tree.repository
    data, decoded, language = _read(tree, file, path)
    text = decoded.text
    as_stored = file.path in tree.attributes.converted or is_stored(data, file.content)
    linked = last is not None and last.exact and as_stored
    moment = last.moment if last else None
    commit = {
        "commit": last.commit if last else None,
        "short_commit": last.commit[:7] if last else None,
        "uncommitted": None if linked else True,
    }
    source = Document(
        document_id=path,
        corpus=key[0],
        repo=repository.name,
        title=path,
        text=text,
        path=path,
        uri=repository.file_link(last.commit, file.path) if last and linked else None,
        language=language,
        created_at=moment,
        doc_date=moment,
        date_source="git" if moment else None,
        metadata=metadata_json(commit),
        note=decoded.note,
    )
    if not is_prose(language):
        return source
    title = stated_title(text) or prose_title(text, path)
    full = os.path.join(repository.root, os.fsdecode(file.path))
    dated = document_date(full, within=path, text=text, git_date=moment)
    version = document_version(path, text)
    return replace(
        source,
        title=clean_text(title or path),
        doc_date=dated.value,
        date_source=dated.source if dated.value else None,
        version=version,
        lineage_id=path,
        metadata=metadata_json(commit, date_trust=dated.trust),
    )
