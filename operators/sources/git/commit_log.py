"""One pass over a repository's log: every commit as a document, and every file's last commit."""

import re
from collections import defaultdict
from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
)
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple

from operators.foundation.sanitize import clean_text, shown_path
from operators.frames import CHANGED_PATHS, FILES
from operators.sources.git.git_process import git_stream, split
from operators.sources.git.repository import Repository, TrackedFile
from operators.sources.protocol import APART_FROM, Document, metadata_json

MAX_FILES = 100
"""Paths named in a commit's text; a commit that touches more says how many more."""

MOST_MOVED = 20_000
"""A commit that adds or deletes more files moves none."""

MOST_CHANGED = 20
"""A commit that changes more files links to none of them: it is about no single one. Nor does one
whose paths are too long together for a value of metadata."""

_GIVEN_NAME = re.compile(r"'[^']*'|`[^`]*`|\S+ into \S+|\b(?:of|in|into|from) \S+|#\d+")
_BARE_MERGE = re.compile(
    r"Merged?\b(?:\W|(?:and|branch(?:es)?|commits?|pull request|remote-tracking|tags?|the)\b)*"
)
_OF_TICKET = re.compile(  # a merged branch whose name has the key of a tracker's issue
    r"Merged?\b[^']*?(?:'|\bfrom )(?:[^' ]*[^' a-zA-Z0-9])?"
    r"[A-Za-z][A-Za-z0-9]+-[1-9]\d*(?![^\W_]|\.)"
)
_PULL_REQUEST = re.compile(r"\s*\(#\d+\)$")
_NOT_OWN = re.compile(r"#|\t|(?:conflicts|[a-z-]+-by):|see merge request ", re.IGNORECASE)

_FIELDS = ("%H", "%P", "%at", "%ct", "%an", "%s", "%B")
_LOG = (
    "log", "-z", "--raw",
    "-c",  # a merge names the files that differ from all its parents: what it decided itself
    "--date-order",  # a child always before its parents, whatever the clocks said
    "--no-abbrev", "--no-renames", "--no-notes", "--no-decorate", "--encoding=UTF-8",
)  # fmt: skip


class LastCommit(NamedTuple):
    """The commit that a file's content comes from.

    ``exact``: the commit left the very content that is tracked now, so that a link at that commit
    shows it; else it is only the newest commit that touched the path.
    """

    commit: str
    moment: datetime | None
    exact: bool


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: its message, its dates (UTC), and the paths that it touched."""

    commit: str
    parents: tuple[str, ...]
    authored_at: datetime | None
    committed_at: datetime | None
    author: str
    subject: str
    message: str
    paths: tuple[bytes, ...]  # the first ``MAX_FILES`` of them
    files: int  # how many they are
    today: tuple[bytes, ...] = ()  # the first ones, as the checked-out commit calls them
    diff: str = ""  # of :mod:`operators.sources.git.commit_diffs`, if requested


OnFile = Callable[[Commit, bytes, str], None]
"""Takes a commit, each path that it touched, and the id of the content that it left there."""


def read_commits(
    repository: Repository, on_file: OnFile, tracked: Container[bytes] = ()
) -> Iterator[Commit]:
    """The commits that the checked-out one descends from, newest first, merges included.

    A file has moved to one of ``tracked``, or else it keeps its name. The log has no branches: a
    commit of a branch from before a move that was made after the move keeps the old name.

    In the log, pairs of change and path follow the fields of a commit. A change begins with a
    colon; a commit's first field is its id, which has none. So nothing in a message or in a path
    can be taken for structure.
    """
    today: dict[bytes, bytes] = {}  # a path before the last commit that was read -> its name now
    with git_stream(repository.root, *_LOG, _format(repository), repository.head, "--") as stream:
        tokens = split(stream)
        token = next(tokens, None)
        while token is not None:
            commit = _commit([token, *(next(tokens) for _ in _FIELDS[1:])])
            paths, files = [], 0
            gone, new = dict[bytes, bytes](), dict[bytes, bytes]()
            for token in tokens:
                change = token.lstrip(b"\n")
                if change.startswith(b":"):
                    parents = len(change) - len(change.lstrip(b":"))
                    fields = change.split(b" ")
                    content, status = fields[2 * parents + 1 :]
                    path = next(tokens)
                    if status == b"D" and len(gone) <= MOST_MOVED:
                        gone[path] = fields[2]
                    elif status == b"A" and len(new) <= MOST_MOVED:
                        new[path] = content
                    files += 1
                    if files <= MAX_FILES:
                        paths.append(path)
                    on_file(commit, path, content.decode())
                elif change:
                    break
            else:
                token = None
            moved = moves(gone, new) if max(len(gone), len(new)) <= MOST_MOVED else {}
            # before a commit without parents there is nothing: it takes no other file's name
            names = {path: today.pop(path, path) for path in new if commit.parents}
            lasting = {path: names.get(to, to) for path, to in moved.items()}
            today |= {path: name for path, name in lasting.items() if name in tracked}
            known = dict.fromkeys(names.get(path) or today.get(path, path) for path in paths)
            yield replace(commit, paths=tuple(paths), files=files, today=tuple(known))


def moves(gone: Mapping[bytes, bytes], new: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Where files went in a commit: each path of ``gone`` that has one of ``new`` in its place.

    The content's id is the same, or else the last part of the path, and no other file's is. Git
    would compare the contents too, which a clone without them lacks.

    Args:
        gone, new: the paths that the commit deleted and added, each with its content's id.

    >>> moves({b"a.py": b"1", b"b.py": b"2"}, {b"src/c.py": b"1", b"src/b.py": b"3"})
    {b'a.py': b'src/c.py', b'b.py': b'src/b.py'}
    """
    moved: dict[bytes, bytes] = {}
    for part in (1, 0):  # of a path's last part and its content
        left, right = defaultdict[bytes, list[bytes]](list), defaultdict[bytes, list[bytes]](list)
        taken = set(moved.values())
        for paths, side, done in ((gone, left, moved), (new, right, taken)):
            for path, content in paths.items():
                if path not in done:
                    side[(path.rpartition(b"/")[2], content)[part]].append(path)
        pairs = ((olds, right.get(key, [])) for key, olds in left.items())
        moved |= {olds[0]: news[0] for olds, news in pairs if len(olds) == len(news) == 1}
    return moved


def own_text(message: str) -> str:
    """The message of a merge without the line that git or a forge writes for it.

    >>> own_text("Merge branch 'main' into cache"), own_text("Take both fixes")
    ('', 'Take both fixes')
    >>> own_text("Merge pull request #12 from ann/cache\\n\\nFix the cache")
    'Fix the cache'
    """
    subject, _, body = message.strip().partition("\n")
    lines = body.split("\n") if _BARE_MERGE.fullmatch(_GIVEN_NAME.sub("", subject)) else [message]
    return "\n".join(line for line in lines if not _NOT_OWN.match(line)).strip()


def each_once(commits: Iterable[Commit], merges: MutableMapping[bytes, Commit]) -> Iterator[Commit]:
    """The commits, then the merges whose message no earlier commit has.

    A forge gives a merge the title of its pull request, often the subject of a commit in it. That
    commit then gets the merge's line too, with the request's number. Of a merge without a text of
    its own the last commit of the branch gets the line, if the branch's name has a key such as
    ``OPS-41``; others are left out. ``merges`` holds those that wait for a later commit.
    """
    for commit in commits:
        is_merge = len(commit.parents) > 1
        own = own_text(commit.message) if is_merge else commit.subject
        key = " ".join(_PULL_REQUEST.sub("", own).casefold().split()).encode()
        if not is_merge:
            merge = merges.pop(key, None) or merges.pop(commit.commit.encode(), None)
            line = f"\n\n{merge.message.strip().splitlines()[0]}" if merge else ""
            yield replace(commit, message=commit.message.rstrip("\n") + line)
        elif key:
            merges[key] = replace(commit, subject=own.partition("\n")[0])
        elif _OF_TICKET.match(commit.subject[:300]):
            merges[commit.parents[1].encode()] = commit
    yield from merges.values()


def history_document(repository: Repository, commit: Commit, *, cut: bool = False) -> Document:
    """A commit as a document: its message and the paths it touched; then, apart, its diff.

    ``cut``: its parents are not in this clone. It then seems to add every file, so it names none.
    """
    if cut:
        commit = replace(commit, paths=(), files=0, diff="")
    listed = [shown_path(path) for path in commit.paths]
    today = [shown_path(path) for path in commit.today]
    if commit.files > MAX_FILES:
        listed.append(f"and {commit.files - MAX_FILES} more")
    message = commit.message.strip("\n")
    text = f"{message}\n\n{FILES}\n" + "\n".join(listed) + "\n" if listed else message + "\n"
    subject = commit.subject or "(no message)"
    committed = commit.committed_at and commit.committed_at.isoformat()
    return Document(
        document_id=commit.commit,
        corpus="history",
        repo=repository.name,
        title=subject,
        text=text + commit.diff,
        uri=repository.commit_link(commit.commit),
        created_at=commit.authored_at,
        doc_date=commit.authored_at,
        date_source="git" if commit.authored_at else None,
        metadata=metadata_json(
            {APART_FROM: text.count("\n") if commit.diff else None},
            commit=commit.commit,
            short_commit=commit.commit[:7],
            subject=subject[:200],
            author=commit.author[:200],
            committed_at=committed,
            files=None if cut else commit.files,
            **{CHANGED_PATHS: today if 0 < commit.files <= MOST_CHANGED else None},
            merge=len(commit.parents) > 1 or None,
        ),
        note="without its files: this shallow clone has no commit before it" if cut else None,
    )


def remember_last_commit(
    tracked: Mapping[bytes, TrackedFile],
    last: MutableMapping[bytes, LastCommit],
    commit: Commit,
    path: bytes,
    content: str,
    *,
    cuts: Collection[str] = (),
) -> None:
    """Record in ``last`` that ``commit`` is the last of the file at ``path``, if it is.

    Commits come newest first; ``content`` is the id of the content after this one. One of ``cuts``,
    whose parents a shallow clone lacks, seems to add every file, so it dates none.
    """
    known, now = last.get(path), tracked.get(path)
    if now is None or (known is not None and known.exact):
        return
    exact = content == now.content
    if known is None or exact:
        moment = None if commit.commit in cuts else commit.committed_at
        last[path] = LastCommit(commit.commit, moment, exact)


def _format(repository: Repository) -> str:
    """The fields that git writes; authors by the names that ``.mailmap`` gives them now.

    Git would wait for a pipe of that name, and an old one would follow a link.
    """
    names = repository.root / ".mailmap"
    mapped = names.is_file() and not names.is_symlink()
    return "--format=" + "%x00".join(_FIELDS).replace("%an", "%aN" if mapped else "%an")


def _commit(fields: list[bytes]) -> Commit:
    sha, parents, authored, committed, author, subject, message = (
        clean_text(field.decode("utf-8", "replace")) for field in fields
    )
    dates = _moment(authored), _moment(committed)
    return Commit(sha, tuple(parents.split()), *dates, author, subject, message, (), 0)


def _moment(seconds: str) -> datetime | None:
    """The datetime of a Unix time; None if it is invalid or out of range."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return None
