"""Learned findings about files of the code: the corpus ``memory``, one JSON object a line.

=============================  =====================================================================
repo                           the repository, ``owner/name``; optional, else ``--repo``
file_path, path or file        required: the file that the finding is about
finding, finding_text or text  required: the text of the finding
severity category              optional strings, kept as metadata; the severity is in the label
outcome                        optional: its result (``fixed``, ``rejected``); the item's state,
                               which a search can filter by
id                             optional name of the finding, else made from path, category and text
line created_at url            optional; without ``url`` the link is that of the file, at ``line``
=============================  =====================================================================

Any other key becomes metadata. A log grows at its end: the last of two findings with one name wins.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from operators.foundation.disk_dict import DiskDict
from operators.foundation.sanitize import clean_text
from operators.sources.formats.json_stream import file_objects
from operators.sources.jsonl import BadLine, OnRead, created_at_of, file_source, string_of
from operators.sources.protocol import Document, Item, ReadIssue, Source, metadata_json

READER = "memory/1"
CORPUS = "memory"

_PATH = ("file_path", "path", "file")
_TEXT = ("finding", "finding_text", "text")
_TAKEN = frozenset((*_PATH, *_TEXT, "repo", "outcome", "id", "created_at", "url"))


def memory_source(path: Path | str, repo: str | None = None) -> Source:
    """The findings in a file, gzipped or not; ``repo`` is for findings without one.

    Raises:
        SourceError: ``path`` is not a readable file.
    """

    def items(file: Path) -> Iterator[tuple[int, Item]]:
        with file.open("rb") as raw:
            for where, value in file_objects(file, raw):
                try:
                    item = value if isinstance(value, ReadIssue) else finding_document(value, repo)
                except BadLine as exc:
                    item = ReadIssue(where, str(exc))
                yield raw.tell(), item

    def read(file: Path, on_read: OnRead) -> Iterator[Item]:
        size = file.stat().st_size
        with closing(DiskDict[int]()) as last:
            last.update((_name(item), at) for at, (_, item) in enumerate(items(file)))
            for at, (done, item) in enumerate(items(file)):
                on_read(done / size)
                if isinstance(item, ReadIssue) or last.get(_name(item)) == at:
                    yield item

    return file_source(path, READER, "a JSONL file, plain or gzipped", read)


def finding_document(finding: Mapping[str, Any], repo: str | None = None) -> Document:
    """The document of one finding; ``repo`` is used if it has none.

    Raises:
        BadLine: it has no file or no text, or a value has an impossible type.
    """
    path, text = _first(finding, _PATH), _first(finding, _TEXT)
    outcome = string_of(finding, "outcome")
    category = string_of(finding, "category")
    name = finding.get("id")
    if name is None:
        parts = "\0".join((path, category or "", text)).encode()
        name = f"{path}#{hashlib.blake2b(parts, digest_size=8).hexdigest()}"
    elif isinstance(name, bool) or not isinstance(name, (str, int)) or name == "":
        raise BadLine("id is neither a string nor a whole number")
    created_at = created_at_of(finding)
    return Document(
        document_id=clean_text(str(name)),
        corpus=CORPUS,
        repo=string_of(finding, "repo") or repo or "",
        title=path,
        text=text,
        path=path,
        uri=string_of(finding, "url"),
        state=None if outcome is None else outcome.strip().lower(),
        created_at=created_at,
        doc_date=created_at,
        date_source=None if created_at is None else "explicit",
        metadata=metadata_json(
            {key: value for key, value in finding.items() if key not in _TAKEN}, outcome=outcome
        ),
    )


def _name(item: Item) -> bytes:
    return b"" if isinstance(item, ReadIssue) else "\0".join(item.key).encode()


def _first(finding: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        if (text := string_of(finding, name)) and text.strip():
            return text
    raise BadLine(f"{names[0]} is missing")
