"""Issues with their comments: the corpus ``issue``. Pull requests are left out."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from operators.postgres.write.sync_state import SyncItem
from operators.sources.github.github_exports import exported
from operators.sources.github.github_records import (
    ISSUE,
    ISSUE_COMMENT,
    PULL,
    READER,
    by_bot,
    comment_block,
    moment,
)
from operators.sources.protocol import Document, Item, ReadIssue, Source, metadata_json

CORPUS = "issue"


def issues_source(
    paths: Sequence[Path | str], repo: str | None = None, *, whole: bool = False
) -> Source:
    """Exported issues and their comments.

    The files hold what ``GET /repos/{owner}/{repo}/issues?state=all`` and ``/issues/comments``
    give, in any form that :mod:`operators.sources.formats.json_stream` reads. Both listings have
    those of pull requests too, which are left out.

    Args:
        paths: the files; of an issue or comment that is in them twice the later version counts.
        repo: the name to store the documents under; else what the issues' addresses say.
        whole: the files are all there is of the repository, so that comments which an issue says
            it has and they lack were deleted. Otherwise the files have only a part of the issue,
            and a stored one with more comments stays.

    Raises:
        SourceError: a path is not a readable file.
    """

    def documents(name: str, number: int, items: Sequence[SyncItem]) -> Iterable[Item]:
        return issue_documents(name, number, items, whole=whole)

    scopes = None if repo is None else ((CORPUS, repo),)
    kinds = (ISSUE, ISSUE_COMMENT, PULL)
    scan, fraction = exported(paths, repo, kinds, documents, "`crosscorpus ingest reviews`")
    return Source(READER, scan, scopes, fraction)


def issue_documents(
    repo: str, number: int, items: Iterable[SyncItem], *, whole: bool = True
) -> list[Item]:
    """The document of one issue; none for a pull request or where only programs wrote.

    Args:
        repo: the name to store it under.
        number: of the issue.
        items: the issue and its comments; other kinds are ignored.
        whole: see :func:`issues_source`.
    """
    held = sorted(items, key=lambda item: item.key)
    if any(item.kind == PULL for item in held):
        return []
    issue = next((item for item in held if item.kind == ISSUE), None)
    comments = [item.data for item in held if item.kind == ISSUE_COMMENT]
    if issue is None:
        if not comments or all("/pull/" in (data["html_url"] or "") for data in comments):
            return []
        why = "comments of an issue that is not in the files: give both together"
        return [ReadIssue(f"#{number}", why, failed=False)]
    data = issue.data
    said = [each for each in (data, *comments) if not by_bot(each)]
    if not said:
        return []
    created = moment(data, "created_at")
    expected = data.get("comments")  # none in what an earlier release kept
    dates = [moment(each, key) for each in said for key in ("created_at", "changed_at")]
    return [
        Document(
            document_id=f"issues/{number}",
            corpus=CORPUS,
            repo=repo,
            title=f"#{number} {(data['title'] or '').strip()}".rstrip(),
            text="\n\n".join(comment_block(each) for each in said),
            uri=data["html_url"],
            state=data["state"],
            created_at=created,
            doc_date=max(filter(None, [*dates, moment(data, "closed_at")]), default=created),
            date_source="explicit",
            metadata=metadata_json(
                {
                    "issue_number": number,
                    "authors": sorted({each["login"] for each in said}),
                    "n_comments": sum(not by_bot(each) for each in comments),
                    "labels": data["labels"] or None,
                    "state_reason": data["state_reason"],
                }
            ),
            part=not whole and (expected is None or len(comments) < expected),
        )
    ]
