"""GitHub's pull requests and issues as documents: the corpora ``review`` and ``issue``.

A document is the description and conversation of a pull request or issue; or a review thread (its
path, the last lines of its diff hunk, then every comment as a block ``@login: text``); or a
review's own text. :mod:`operators.sources.github.programs` says which texts of programs are left
out.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from typing import Any

from operators.foundation.closed_issues import closed_issues, said
from operators.frames import CLOSES
from operators.postgres.write.sync_state import SyncItem
from operators.sources.github.github_records import (
    COMMENT,
    ISSUE,
    ISSUE_COMMENT,
    PULL,
    REVIEW,
    comment_block,
    is_pull,
    shown_body,
    time_at,
)
from operators.sources.protocol import Document, Item, metadata_json

CORPORA = REVIEWS, ISSUES = "review", "issue"
HUNK_LINES = 12
"""Lines of a diff hunk before the commented one that a thread's text begins with."""

_FORMS = {
    ISSUE: (ISSUES, "issues", "#", "issue_number"),
    PULL: (REVIEWS, "pull", "PR #", "pr_number"),
}
"""The corpus, folder of the id, start of the title and metadata's key of each kind."""

_Data = dict[str, Any]
_MOMENTS = ("created_at", "changed_at", "closed_at")


def review_documents(repo: str, number: int, items: Iterable[SyncItem]) -> Iterator[Item]:
    """One pull request's conversation, then threads and reviews by the ids of their first comments.

    Args:
        repo: the name to store them under.
        number: of the pull request.
        items: its comments and reviews, and itself if known; those of an issue give nothing.
    """
    items = list(items)
    pull = next((item.data for item in items if item.kind == PULL), {})
    comments = {item.item_id: item.data for item in items if item.kind == COMMENT}
    reviews = [item for item in items if item.kind == REVIEW]
    title = f"PR #{number} {(pull.get('title') or '').strip()}".rstrip()
    shared = {"pr_number": number, CLOSES: _closed(repo, number, pull)}
    if is_pull(items):
        yield from conversation(PULL, repo, number, items)
    for root, ids in sorted(_threads(comments).items()):
        if document := _thread(repo, shared, title, root, [comments[key] for key in ids]):
            yield document
    for review in sorted(reviews, key=lambda item: item.item_id):
        if not review.data.get("bot") and shown_body(review.data):
            yield _review_document(repo, shared, title, review)


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


def conversation(kind: str, repo: str, number: int, items: Iterable[SyncItem]) -> list[Document]:
    """The document of an issue or a pull request with its comments; none if all of it is left out.

    Args:
        kind: ``issue`` or ``pull``.
        repo: the name to store it under.
        number: of the issue or pull request.
        items: itself and its comments; other kinds are ignored.
    """
    corpus, folder, name, key = _FORMS[kind]
    items = sorted(items, key=lambda item: item.key)
    data = next((item.data for item in items if item.kind == kind), None)
    comments = [item.data for item in items if item.kind == ISSUE_COMMENT]
    posts = [each for each in (data, *comments) if each and not each.get("bot")]
    if data is None or not posts:
        return []
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
        )
    ]
