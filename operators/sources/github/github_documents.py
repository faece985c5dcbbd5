"""GitHub's pull requests and issues as documents: the corpora ``review`` and ``issue``.

A document is the description and conversation of a pull request or issue; or a review thread (its
path, the last lines of its diff hunk, then every comment as a block ``@login: text``); or a
review's own text. :mod:`operators.sources.github.programs` says which texts of programs are left
out.

An export spreads the items of one number over pages and files. So they are sorted into a scratch
file first, and documents are built number by number: memory holds the items of one number.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import groupby, islice, starmap
from pathlib import Path
from typing import Any

from operators.foundation.closed_issues import closed_issues, said
from operators.foundation.disk_dict import DiskDict
from operators.frames import CLOSES
from operators.postgres.write.sync_state import SyncItem
from operators.sources.formats.json_stream import file_objects
from operators.sources.github.github_records import (
    COMMENT,
    ISSUE,
    ISSUE_COMMENT,
    PULL,
    READER,
    REVIEW,
    BadItem,
    comment_block,
    is_pull,
    repository_of,
    shown_body,
    sync_item,
    time_at,
)
from operators.sources.github.programs import check_bots, judged, program_issues
from operators.sources.jsonl import (
    FIRST_ITEMS,
    SourceError,
    given_file,
    readable,
    refuse_other_kind,
)
from operators.sources.protocol import Document, Item, ReadIssue, Source, metadata_json

CORPORA = REVIEWS, ISSUES = "review", "issue"
HUNK_LINES = 12
"""Lines of a diff hunk before the commented one that a thread's text begins with."""

_FORMS = {
    ISSUE: (ISSUES, "issues", "#", "issue_number", "an issue"),
    PULL: (REVIEWS, "pull", "PR #", "pr_number", "a pull request"),
}
"""The corpus, folder of the id, start of the title, metadata's key and words of each kind."""

_EXPORTS = {
    REVIEWS: ((COMMENT, REVIEW, PULL, ISSUE_COMMENT), "`crosscorpus ingest issues`"),
    ISSUES: ((ISSUE, ISSUE_COMMENT, PULL), "`crosscorpus ingest reviews`"),
}
"""The kinds of items that an export for a corpus may have, and the command that takes others."""

_FORM = "files of JSON as GitHub's API gives it, plain or gzipped"

_Build = Callable[[str, int, Sequence[SyncItem]], Iterable[Item]]
"""Takes the repository's name, a number, and the items of that number; returns its documents."""

_Data = dict[str, Any]
_MOMENTS = ("created_at", "changed_at", "closed_at")

_Taken = tuple[str, SyncItem]
"""The repository of an item, and the item."""


def reviews_source(
    paths: Sequence[Path | str],
    repo: str | None = None,
    *,
    whole: bool = False,
    bots: str | None = None,
) -> Source:
    """Exported pull requests, the comments on them, review comments and reviews.

    The files hold what ``GET /repos/{owner}/{repo}/pulls/comments``, ``/pulls/{number}/reviews``,
    ``/pulls`` or ``/issues``, and ``/issues/comments`` give, in any form that
    :mod:`operators.sources.formats.json_stream` reads. If they have an item twice, the later
    version counts.

    Args:
        paths: the files; a thread may be spread over them.
        repo: the name to store the documents under; else the one in the items' addresses.
        whole: the files contain the whole repository: a comment that they lack was deleted.
            Otherwise a thread whose first comment they lack stays as it is in the store; so does
            one that has more comments there, or its pull request's title.
        bots: which texts of programs are read, one of ``programs.BOTS``. None: as in the last run
            with the same ``repo``, at first all but those of routine programs.

    Raises:
        SourceError: a path is not a readable file; or, while scanning, ``repo`` is given for items
            of several repositories.
    """
    build = partial(review_documents, whole=whole)
    return _exported(paths, repo, REVIEWS, build, whole, bots)


def issues_source(
    paths: Sequence[Path | str],
    repo: str | None = None,
    *,
    whole: bool = False,
    bots: str | None = None,
) -> Source:
    """Exported issues and their comments; arguments and errors as in :func:`reviews_source`.

    The files hold what ``GET /repos/{owner}/{repo}/issues?state=all`` and ``/issues/comments``
    give. Both listings have pull requests too: each is a ReadIssue that is no failure. If the files
    are not ``whole``, a stored issue with more comments stays.
    """

    def documents(name: str, number: int, items: Sequence[SyncItem]) -> list[Item]:
        if is_pull(items):
            why = f"of a pull request: {_EXPORTS[ISSUES][1]} takes it"
            return [ReadIssue(f"#{number}", why, failed=False)]
        return conversation(ISSUE, name, number, items, whole=whole)

    return _exported(paths, repo, ISSUES, documents, whole, bots)


def review_documents(
    repo: str, number: int, items: Iterable[SyncItem], *, whole: bool = True
) -> Iterator[Item]:
    """One pull request's conversation, then threads and reviews by the ids of their first comments.

    Args:
        repo: the name to store them under.
        number: of the pull request.
        items: its comments and reviews, and itself if known; those of an issue give nothing.
        whole: see :func:`reviews_source`.
    """
    items = list(items)
    pull = next((item.data for item in items if item.kind == PULL), {})
    comments = {item.item_id: item.data for item in items if item.kind == COMMENT}
    reviews = [item for item in items if item.kind == REVIEW]
    title = f"PR #{number} {(pull.get('title') or '').strip()}".rstrip()
    shared = {"pr_number": number, CLOSES: _closed(repo, number, pull)}
    if is_pull(items):
        yield from conversation(PULL, repo, number, items, whole=whole)
    for root, ids in sorted(_threads(comments).items()):
        if root not in comments and not whole:
            why = (
                f"the first comment of a thread ({root}) is not in the files: give the whole "
                "export, or say that it is whole (--prune)"
            )
            yield ReadIssue(f"PR #{number}", why, failed=False)
        elif document := _thread(repo, shared, title, root, [comments[key] for key in ids]):
            yield replace(document, part=not whole)
    for review in sorted(reviews, key=lambda item: item.item_id):
        if not review.data.get("bot") and shown_body(review.data):
            yield replace(_review_document(repo, shared, title, review), part=not whole)


def _threads(comments: dict[int, _Data]) -> dict[int, list[int]]:
    """The comments of each thread in the order of their ids, by the id of its first one."""
    threads: dict[int, list[int]] = {}
    for key in sorted(comments):
        root, met = key, {key}
        while (parent := comments.get(root, {}).get("reply_to")) is not None and parent not in met:
            root = parent
            met.add(parent)
        threads.setdefault(root, []).append(key)
    return threads


def _thread(
    repo: str, shared: _Data, title: str, root: int, thread: list[_Data]
) -> Document | None:
    """None if all of it is left out."""
    posts = [data for data in thread if not data.get("bot")]
    if not posts:
        return None
    first = thread[0]  # has the thread's position, even if a program began it
    opening = [first["path"] or "", _hunk(first["hunk"])]
    blocks = ["\n".join(part for part in opening if part), *map(comment_block, posts)]
    metadata = {**shared, "line": first["line"], "outdated": first["outdated"] or None}
    return _document(
        posts[0],
        posts,
        {**metadata, "n_comments": len(posts)},
        document_id=f"pull/{shared['pr_number']}#discussion_r{root}",
        corpus=REVIEWS,
        repo=repo,
        title=title,
        text="\n\n".join(block for block in blocks if block),
        path=first["path"],
        uri=first["html_url"],
    )


def _review_document(repo: str, shared: _Data, title: str, review: SyncItem) -> Document:
    data = review.data
    return _document(
        data,
        [data],
        {**shared, "n_comments": 1, "review_state": data["state"].lower()},
        document_id=f"pull/{shared['pr_number']}#pullrequestreview-{review.item_id}",
        corpus=REVIEWS,
        repo=repo,
        title=title,
        text=comment_block(data, data["state"]),
        uri=data["html_url"],
    )


def _closed(repo: str, number: int, pull: _Data) -> list[int] | None:
    """The issues that pull request ``number`` says it closes; None if none."""
    text = said(f"{pull.get('title') or ''}\n{pull.get('body') or ''}")
    address = "/".join((pull.get("html_url") or "").split("/")[3:5])
    numbers, _ = closed_issues(text, [repo.lower(), address.lower()])
    return [one for one in numbers if one != number] or None


def _document(
    first: _Data, posts: Sequence[_Data], metadata: dict[str, object], **fields: Any
) -> Document:
    """The document of ``first`` and the ``posts``, dated by their last change."""
    each = ((data, at) for data in (first, *posts) for at in _MOMENTS)
    return Document(
        created_at=time_at(first, "created_at"),
        doc_date=max(filter(None, starmap(time_at, each))),
        date_source="explicit",
        metadata=metadata_json(metadata, authors=sorted({data["login"] for data in posts})),
        **fields,
    )


def _hunk(hunk: str) -> str:
    """The lines next to the commented one, which is the last."""
    lines = [line for line in hunk.split("\n") if not line.startswith("@@ ")]
    return "\n".join(lines[-HUNK_LINES:]).strip("\n")


def conversation(
    kind: str, repo: str, number: int, items: Iterable[SyncItem], *, whole: bool
) -> list[Item]:
    """The document of an issue or a pull request with its comments; none if all of it is left out.

    Args:
        kind: ``issue`` or ``pull``.
        repo: the name to store it under.
        number: of the issue or pull request.
        items: itself and its comments; other kinds are ignored.
        whole: see :func:`issues_source`.
    """
    corpus, folder, name, key, words = _FORMS[kind]
    items = sorted(items, key=lambda item: item.key)
    data = next((item.data for item in items if item.kind == kind), None)
    comments = [item.data for item in items if item.kind == ISSUE_COMMENT]
    if data is None:
        why = f"comments of {words} that is not in the files: give both together"
        return [ReadIssue(f"{name}{number}", why, failed=False)] if comments else []
    posts = [each for each in (data, *comments) if not each.get("bot")]
    if not posts:
        return []
    expected = data.get("comments")  # none in what an earlier release kept, and in a list of pulls
    metadata = {
        key: number,
        CLOSES: _closed(repo, number, data) if kind == PULL else None,
        "n_comments": sum(not each.get("bot") for each in comments),
        "labels": data.get("labels") or None,
        "state_reason": data.get("state_reason"),
    }
    return [
        _document(
            data,
            posts,
            metadata,
            document_id=f"{folder}/{number}",
            corpus=corpus,
            repo=repo,
            title=f"{name}{number} {(data['title'] or '').strip()}".rstrip(),
            text="\n\n".join(comment_block(each) for each in posts),
            uri=data["html_url"],
            state=data["state"],
            part=not whole and (expected is None or len(comments) < expected),
        )
    ]


def _exported(
    paths: Sequence[Path | str],
    repo: str | None,
    corpus: str,
    build: _Build,
    whole: bool,
    bots: str | None,
) -> Source:
    check_bots(bots)
    files = [given_file(path, _FORM) for path in paths]
    size = sum(file.stat().st_size for file in files) or 1
    progress = 0.0

    def scan() -> Iterator[Item]:
        nonlocal progress
        progress = before = 0.0
        with closing(DiskDict[_Taken]()) as taken:
            for file in files:
                with readable(file), file.open("rb") as raw:
                    for where, value in file_objects(file, raw):
                        progress = 0.5 * (before + raw.tell()) / size
                        if refusal := _take(where, value, repo, corpus, taken):
                            yield refusal
                before += file.stat().st_size
            if repo is not None:
                _check_one_repository(taken)
            done, of = 0, len(taken)
            every, left_out = (one for _, one in taken.starting(b"")), Counter[str]()
            for (name, number), group in groupby(every, key=lambda one: (one[0], one[1].number)):
                items = [item for _, item in group]
                done += len(items)
                progress = 0.5 + 0.5 * done / of
                items = list(judged(items, bots, left_out))
                yield from build(name if repo is None else repo, number, items)
            yield from program_issues(left_out)

    def beginnings() -> Iterator[ReadIssue | None]:
        """The errors of the first items of each file; None for a valid item."""
        for file in files:
            with readable(file), file.open("rb") as raw:
                for where, value in islice(file_objects(file, raw), FIRST_ITEMS):
                    yield _take(where, value, repo, corpus, {})

    def check() -> None:
        refuse_other_kind(beginnings(), _FORM, most=FIRST_ITEMS * len(files))

    scopes = None if repo is None else ((corpus, repo),)
    return Source(
        READER,
        scan,
        scopes,
        lambda: progress,
        whole=whole,
        check=check,
        choices={"bots": bots},
        choosing=lambda chosen: _exported(paths, repo, corpus, build, whole, chosen["bots"]),
    )


def _take(
    where: str, value: Any, repo: str | None, corpus: str, taken: MutableMapping[bytes, _Taken]
) -> ReadIssue | None:
    """Sort in one item, or return its error as an issue."""
    if isinstance(value, ReadIssue):
        return value
    try:
        item = sync_item(value)
    except BadItem as exc:
        return ReadIssue(where, str(exc))
    if item is None:
        return None
    name = repository_of(value) or repo
    kinds, elsewhere = _EXPORTS[corpus]
    if item.kind not in kinds:
        article = "an" if item.kind.startswith("i") else "a"
        reason = f"{article} {item.kind.replace('_', ' ')}: {elsewhere} takes it"
        # GitHub lists issues and pull requests together: that is no fault of the file.
        return ReadIssue(where, reason, failed=item.kind != ISSUE)
    if name is None:
        return ReadIssue(where, "it does not say its repository: name one (--repo)")
    # In the order of its bytes: by repository, then by number.
    key = f"{name}\0{item.number:020}\0{item.kind}\0{item.item_id:020}".encode()
    before = taken.get(key)
    if before is None or before[1].updated_at <= item.updated_at:
        taken[key] = (name, item)
    return None


def _check_one_repository(keys: Iterable[bytes]) -> None:
    names = sorted({key.partition(b"\0")[0].decode().lower() for key in keys})
    if len(names) > 1:
        raise SourceError(
            f"the files are of {' and '.join(names[:2])}: leave out --repo, or give one at a time"
        )
