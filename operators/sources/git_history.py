"""One pass over a repository's log: every commit as a document, and every file's last commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import IO

from operators.postgres.text_border import clean_text
from operators.sources.git_repository import Repository, git_stream
from operators.sources.items import Document, metadata_json, utc_from_timestamp

MAX_FILES = 100
"""Paths named in a commit's text; a commit that touches more says how many more."""

_FIELDS = ("%H", "%P", "%at", "%ct", "%an", "%s", "%B")
_LOG = (
    "log",
    "-z",
    "--raw",
    "-c",  # a merge names the files that differ from all its parents: what it decided itself
    "--date-order",  # a child always before its parents, whatever the clocks said
    "--no-abbrev",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-notes",
    "--no-decorate",
    "--encoding=UTF-8",
    "--format=" + "%x00".join(_FIELDS),
)
_READ_SIZE = 1 << 16


@dataclass(frozen=True, slots=True)
class LastCommit:
    """The commit that a file's content comes from.

    ``exact``: the commit left the very content that is tracked now, so that a link at that commit
    shows it; else it is only the newest commit that touched the path.
    """

    commit: str
    moment: datetime | None
    exact: bool


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: its message, its dates (UTC), and the paths and contents it left."""

    commit: str
    parents: tuple[str, ...]
    authored_at: datetime | None
    committed_at: datetime | None
    author: str
    subject: str
    message: str
    files: tuple[tuple[bytes, str], ...]  # path, id of the new content


def read_commits(repository: Repository) -> Iterator[Commit]:
    """The commits that the checked-out one descends from, newest first, merges included."""
    with git_stream(repository.root, *_LOG, repository.head, "--") as stream:
        yield from parse_log(stream)


def parse_log(stream: IO[bytes]) -> Iterator[Commit]:
    """Commits of the NUL-separated log format that :func:`read_commits` asks for.

    After the fields of a commit come pairs of change and path, each change with a leading colon;
    a commit's first field is its id, which has none. So nothing in a message or in a path can be
    taken for structure.
    """
    tokens = _tokens(stream)
    token = next(tokens, None)
    while token is not None:
        fields = [token, *(next(tokens) for _ in _FIELDS[1:])]
        files = []
        for token in tokens:
            change = token.lstrip(b"\n")
            if change.startswith(b":"):
                parents = len(change) - len(change.lstrip(b":"))
                content = change.split(b" ")[2 * parents + 1]
                files.append((next(tokens), content.decode()))
            elif change:
                break
        else:
            token = None
        yield _commit(fields, tuple(files))


def history_document(repository: Repository, commit: Commit) -> Document:
    """A commit as a document: its message and the paths it touched."""
    paths = [shown_path(path) for path, _ in commit.files]
    listed = paths[:MAX_FILES]
    if len(paths) > MAX_FILES:
        listed.append(f"and {len(paths) - MAX_FILES} more")
    message = commit.message.strip("\n")
    text = f"{message}\n\nFiles:\n" + "\n".join(listed) + "\n" if listed else message + "\n"
    subject = commit.subject or "(no message)"
    committed = commit.committed_at
    return Document(
        document_id=commit.commit,
        corpus="history",
        repo=repository.name,
        title=subject,
        text=text,
        uri=repository.commit_link(commit.commit),
        created_at=commit.authored_at,
        doc_date=commit.authored_at,
        date_source="git" if commit.authored_at else None,
        metadata=metadata_json(
            {
                "commit": commit.commit,
                "short_commit": commit.commit[:7],
                "subject": subject[:200],
                "author": commit.author[:200],
                "committed_at": committed.isoformat() if committed else None,
                "files": len(paths),
                "merge": True if len(commit.parents) > 1 else None,
            }
        ),
    )


def remember_last_commits(
    commit: Commit, contents: Mapping[bytes, str], last: dict[bytes, LastCommit]
) -> None:
    """Note ``commit`` in ``last`` for the files whose last commit it is.

    Args:
        commit: commits come newest first.
        contents: path -> id of the content that is tracked now.
        last: path -> last commit; filled.
    """
    for path, content in commit.files:
        tracked = contents.get(path)
        if tracked is None:
            continue
        known = last.get(path)
        exact = content == tracked
        if known is None or (exact and not known.exact):
            last[path] = LastCommit(commit.commit, commit.committed_at, exact)


def shown_path(path: bytes) -> str:
    """``path`` as text; a name that is not UTF-8 is percent-encoded where it is not.

    >>> shown_path(b"caf\\xe9 100%.md")
    'caf%E9 100%25.md'
    >>> shown_path("café 100%.md".encode())
    'café 100%.md'
    """
    try:
        return path.decode()
    except UnicodeDecodeError:
        text = path.replace(b"%", b"%25").decode("utf-8", "surrogateescape")
        return "".join(f"%{ord(c) - 0xDC00:02X}" if "\udc80" <= c <= "\udcff" else c for c in text)


def _commit(fields: list[bytes], files: tuple[tuple[bytes, str], ...]) -> Commit:
    sha, parents, authored, committed, author, subject, message = (
        clean_text(field.decode("utf-8", "replace")) for field in fields
    )
    return Commit(
        sha,
        tuple(parents.split()),
        _moment(authored),
        _moment(committed),
        author,
        subject,
        message,
        files,
    )


def _moment(seconds: str) -> datetime | None:
    return utc_from_timestamp(int(seconds)) if seconds.lstrip("-").isdigit() else None


def _tokens(stream: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while block := stream.read(_READ_SIZE):
        *whole, rest = (rest + block).split(b"\0")
        yield from whole
    if rest:
        yield rest
