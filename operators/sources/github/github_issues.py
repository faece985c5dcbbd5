"""Issues with their comments: the corpus ``issue``. Pull requests are of the corpus ``review``."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from operators.postgres.write.sync_state import SyncItem
from operators.sources.github.github_exports import exported
from operators.sources.github.github_records import (
    ISSUE,
    ISSUE_COMMENT,
    PULL,
    comment_block,
    moment,
    of_pull,
)
from operators.sources.protocol import Document, Item, ReadIssue, Source, metadata_json

CORPUS = "issue"

_FORMS = {
    ISSUE: (CORPUS, "issues", "#", "issue_number", "an issue"),
    PULL: ("review", "pull", "PR #", "pr_number", "a pull request"),
}
"""The corpus, folder of the id, start of the title, metadata's key and words of each kind."""


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
    return exported(paths, repo, CORPUS, kinds, documents, elsewhere, whole=whole)


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
