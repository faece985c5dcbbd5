"""GitHub's pull requests and issues as documents: the corpora ``review`` and ``issue``.

The description and conversation of a pull request or issue are a document. A review thread is one:
the path, the last lines of the diff hunk it is about, then every comment as a block
``@login: text``. A review's own words are one too. Programs' comments are left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from operators.postgres.write.sync_state import SyncItem
from operators.sources.github.github_exports import exported
from operators.sources.github.github_records import (
    COMMENT,
    ISSUE,
    ISSUE_COMMENT,
    PULL,
    REVIEW,
    comment_block,
    moment,
    of_pull,
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


def reviews_source(
    paths: Sequence[Path | str], repo: str | None = None, *, whole: bool = False
) -> Source:
    """Exported pull requests, the comments on them, review comments and reviews.

    The files hold what ``GET /repos/{owner}/{repo}/pulls/comments``, ``/pulls/{number}/reviews``,
    ``/pulls`` or ``/issues``, and ``/issues/comments`` give, in any form that
    :mod:`operators.sources.formats.json_stream` reads. Of an item that is in them twice the later
    version counts.

    Args:
        paths: the files; a thread may be spread over them.
        repo: the name to store the documents under; else what the comments' addresses say.
        whole: the files are all there is of the repository, so that a reply to a comment that is
            not in them is a reply to one that was deleted. Otherwise the thread is left as it is
            in the store, since the files have only a part of it; and so is one that has more
            comments there, or its pull request's title.

    Raises:
        SourceError: a path is not a readable file.
    """
    documents = partial(review_documents, whole=whole)
    kinds, elsewhere = (COMMENT, REVIEW, PULL, ISSUE_COMMENT), "`crosscorpus ingest issues`"
    return exported(paths, repo, REVIEWS, kinds, documents, elsewhere, whole=whole)


def issues_source(
    paths: Sequence[Path | str], repo: str | None = None, *, whole: bool = False
) -> Source:
    """Exported issues and their comments.

    The files hold what ``GET /repos/{owner}/{repo}/issues?state=all`` and ``/issues/comments``
    give, in any form that :mod:`operators.sources.formats.json_stream` reads. Both listings have
    those of pull requests too: each is a ReadIssue that is no failure.

    Args:
        paths: the files; of an issue or comment that is in them twice the later version counts.
        repo: the name to store the documents under; else what the issues' addresses say.
        whole: the files are all there is of the repository, so that comments which an issue says
            it has and they lack were deleted. Otherwise the files have only a part of the issue,
            and a stored one with more comments stays.

    Raises:
        SourceError: a path is not a readable file.
    """

    def documents(name: str, number: int, items: Sequence[SyncItem]) -> list[Item]:
        if of_pull(items):
            why = "of a pull request: `crosscorpus ingest reviews` takes it"
            return [ReadIssue(f"#{number}", why, failed=False)]
        return conversation(ISSUE, name, number, items, whole=whole)

    kinds, elsewhere = (ISSUE, ISSUE_COMMENT, PULL), "`crosscorpus ingest reviews`"
    return exported(paths, repo, ISSUES, kinds, documents, elsewhere, whole=whole)


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
    held = list(items)
    pull = next((item.data for item in held if item.kind == PULL), {})
    comments = {item.item_id: item.data for item in held if item.kind == COMMENT}
    reviews = [item for item in held if item.kind == REVIEW]
    title = f"PR #{number} {(pull.get('title') or '').strip()}".rstrip()
    if of_pull(held):
        yield from conversation(PULL, repo, number, held, whole=whole)
    for root, ids in sorted(_threads(comments).items()):
        if root not in comments and not whole:
            why = (
                f"the first comment of a thread ({root}) is not in the files: give the whole "
                "export, or say that it is whole (--prune)"
            )
            yield ReadIssue(f"PR #{number}", why, failed=False)
        elif document := _thread(repo, number, title, root, [comments[key] for key in ids]):
            yield replace(document, part=not whole)
    for review in sorted(reviews, key=lambda item: item.item_id):
        if not review.data.get("bot") and (review.data["body"] or "").strip():
            yield replace(_review_document(repo, number, title, review), part=not whole)


def _threads(comments: dict[int, dict[str, Any]]) -> dict[int, list[int]]:
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
    repo: str, number: int, title: str, root: int, thread: list[dict[str, Any]]
) -> Document | None:
    """None where only programs wrote."""
    said = [data for data in thread if not data.get("bot")]
    if not said:
        return None
    place = thread[0]  # where the thread stands, even if a program began it
    opening = [place["path"] or "", _hunk(place["hunk"])]
    blocks = ["\n".join(part for part in opening if part), *map(comment_block, said)]
    created = moment(said[0], "created_at")
    return Document(
        document_id=f"pull/{number}#discussion_r{root}",
        corpus=REVIEWS,
        repo=repo,
        title=title,
        text="\n\n".join(block for block in blocks if block),
        path=place["path"],
        uri=place["html_url"],
        created_at=created,
        doc_date=max(filter(None, (moment(data, "changed_at") for data in said)), default=created),
        date_source="explicit",
        metadata=metadata_json(
            {
                "pr_number": number,
                "authors": sorted({data["login"] for data in said}),
                "n_comments": len(said),
                "line": place["line"],
                "outdated": True if place["outdated"] else None,
            }
        ),
    )


def _review_document(repo: str, number: int, title: str, review: SyncItem) -> Document:
    data = review.data
    created = moment(data, "created_at")
    return Document(
        document_id=f"pull/{number}#pullrequestreview-{review.item_id}",
        corpus=REVIEWS,
        repo=repo,
        title=title,
        text=comment_block(data, data["state"]),
        uri=data["html_url"],
        created_at=created,
        doc_date=moment(data, "changed_at"),
        date_source="explicit",
        metadata=metadata_json(
            {
                "pr_number": number,
                "authors": [data["login"]],
                "n_comments": 1,
                "review_state": data["state"].lower(),
            }
        ),
    )


def _hunk(hunk: str) -> str:
    """The lines next to the commented one, which is the last."""
    lines = [line for line in hunk.split("\n") if not line.startswith("@@ ")]
    return "\n".join(lines[-HUNK_LINES:]).strip("\n")


def conversation(
    kind: str, repo: str, number: int, items: Iterable[SyncItem], *, whole: bool
) -> list[Item]:
    """The document of an issue or a pull request with its comments; none if only programs wrote.

    Args:
        kind: ``issue`` or ``pull``.
        repo: the name to store it under.
        number: of the issue or pull request.
        items: itself and its comments; other kinds are ignored.
        whole: see :func:`issues_source`.
    """
    corpus, folder, name, key, words = _FORMS[kind]
    held = sorted(items, key=lambda item: item.key)
    data = next((item.data for item in held if item.kind == kind), None)
    comments = [item.data for item in held if item.kind == ISSUE_COMMENT]
    if data is None:
        why = f"comments of {words} that is not in the files: give both together"
        return [ReadIssue(f"{name}{number}", why, failed=False)] if comments else []
    said = [each for each in (data, *comments) if not each.get("bot")]
    if not said:
        return []
    created = moment(data, "created_at")
    expected = data.get("comments")  # none in what an earlier release kept, and in a list of pulls
    dates = [moment(each, at) for each in said for at in ("created_at", "changed_at")]
    return [
        Document(
            document_id=f"{folder}/{number}",
            corpus=corpus,
            repo=repo,
            title=f"{name}{number} {(data['title'] or '').strip()}".rstrip(),
            text="\n\n".join(comment_block(each) for each in said),
            uri=data["html_url"],
            state=data["state"],
            created_at=created,
            doc_date=max(filter(None, [*dates, moment(data, "closed_at")]), default=created),
            date_source="explicit",
            metadata=metadata_json(
                {
                    key: number,
                    "authors": sorted({each["login"] for each in said}),
                    "n_comments": sum(not each.get("bot") for each in comments),
                    "labels": data.get("labels") or None,
                    "state_reason": data.get("state_reason"),
                }
            ),
            part=not whole and (expected is None or len(comments) < expected),
        )
    ]
