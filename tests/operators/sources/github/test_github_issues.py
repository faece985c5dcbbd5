from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

from operators.sources.github.github_issues import issues_source
from operators.sources.protocol import Document, Item, ReadIssue

Export = Callable[..., Path]


def read(*paths: Path) -> list[Item]:
    return list(issues_source(paths).scan())


def test_an_issue_is_what_everybody_said(github: ModuleType, export: Export) -> None:
    comments = export(
        github.issue_comment(60, 3, user=github.user("hubot"), body=" Me too.\n"),
        github.issue_comment(61, 3, user=github.user("stale[bot]", "Bot")),
        name="comments.json",
    )
    issues = export(
        github.issue(3, state="closed", state_reason="completed", closed_at=github.at(300)),
        github.issue(2, body=None, user=None, labels=["plain", {"name": None}]),
    )
    second, third = read(comments, issues)
    assert isinstance(third, Document)
    assert third.key == ("issue", "org/app", "issues/3")
    assert (third.title, third.state) == ("#3 Title 3", "closed")
    assert third.text == "@octocat: Trouble 3.\n\n@hubot: Me too."
    assert third.uri == "https://github.com/org/app/issues/3"
    assert third.created_at == datetime(2024, 1, 1, 0, 0, 3, tzinfo=UTC)
    assert third.doc_date == datetime(2024, 1, 1, 0, 5, tzinfo=UTC)
    assert json.loads(third.metadata) == {
        "issue_number": 3, "authors": ["hubot", "octocat"], "n_comments": 1, "labels": ["bug"],
        "state_reason": "completed",
    }  # fmt: skip
    assert isinstance(second, Document)
    assert (second.text, second.state) == ("@ghost:", "open")
    assert json.loads(second.metadata)["labels"] == ["plain"]


def test_pull_requests_and_their_comments_go_elsewhere_and_are_told(
    github: ModuleType, export: Export
) -> None:
    file = export(
        github.issue(1, pull=True), github.issue_comment(60, 1, pull=True),
        github.issue_comment(61, 8, pull=True), github.issue(2),
    )  # fmt: skip
    first, second, eighth = read(file)
    assert isinstance(second, Document)
    assert second.document_id == "issues/2"
    for fault, number in ((first, 1), (eighth, 8)):
        assert isinstance(fault, ReadIssue)
        assert not fault.failed
        assert str(fault) == f"#{number}: of a pull request: `crosscorpus ingest reviews` takes it"


def test_comments_without_their_issue_are_told(github: ModuleType, export: Export) -> None:
    (fault,) = read(export(github.issue_comment(60, 7)))
    assert isinstance(fault, ReadIssue)
    assert not fault.failed
    assert str(fault) == "#7: comments of an issue that is not in the files: give both together"


def test_issues_that_only_programs_wrote_are_left_out(github: ModuleType, export: Export) -> None:
    bot = github.user("dependabot[bot]", "Bot")
    file = export(github.issue(1, user=bot), github.issue(2, user=bot), github.issue_comment(60, 2))
    (document,) = read(file)
    assert isinstance(document, Document)
    assert document.text == "@octocat: Word 60."


def test_review_comments_go_elsewhere(github: ModuleType, export: Export) -> None:
    (fault,) = read(export(github.comment(1)))
    assert isinstance(fault, ReadIssue)
    assert fault.reason == "a comment: `crosscorpus ingest reviews` takes it"


def test_an_issue_with_more_comments_than_the_files_have_is_a_part(
    github: ModuleType, export: Export
) -> None:
    file = export(
        github.issue(1), github.issue(2, comments=2), github.issue_comment(60, 2),
        github.issue(3, comments=1), github.issue_comment(61, 3), github.issue(4, comments=None),
    )  # fmt: skip
    assert [item.part for item in read(file)] == [False, True, False, True]  # type: ignore[union-attr]
    whole = issues_source([file], whole=True).scan()
    assert not any(item.part for item in whole)  # type: ignore[union-attr]
