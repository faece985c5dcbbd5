"""Documents of GitHub's items, in the shapes of its API."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import github_shapes as github
import pytest

from operators.sources.github.github_documents import issues_source, reviews_source
from operators.sources.github.issue_texts import issue_texts
from operators.sources.jsonl import SourceError
from operators.sources.protocol import Document, Item, ReadIssue

Export = Callable[..., Path]


def read(*paths: Path, **options: Any) -> list[Item]:
    return list(reviews_source(paths, **options).scan())


def read_issues(*paths: Path) -> list[Item]:
    return list(issues_source(paths).scan())


def only(items: list[Item]) -> Document:
    assert [str(item) for item in items if isinstance(item, ReadIssue)] == []
    (document,) = items
    assert isinstance(document, Document)
    return document


def test_a_thread_is_its_place_its_hunk_and_who_said_what(export: Export) -> None:
    file = export(
        github.comment(9, reply_to=5, user=github.user("hubot"), body="Done.\r\nThanks!"),
        github.comment(5, updated_at=github.at(70)),
        {**github.issue(1, pull=True), "title": "Close connections"},
    )
    whole, document = read(file)
    assert whole.title == document.title
    assert document.text == (
        "src/app.py\n     a\n-    b\n+    c\n\n@octocat: Remark 5.\n\n@hubot: Done.\nThanks!"
    )
    assert document.key == ("review", "org/app", "pull/1#discussion_r5")
    assert document.title == "PR #1 Close connections"
    assert (document.path, document.uri) == (
        "src/app.py", "https://github.com/org/app/pull/1#discussion_r5"
    )  # fmt: skip
    assert document.created_at == datetime(2024, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert document.doc_date == datetime(2024, 1, 1, 0, 1, 10, tzinfo=UTC)
    assert json.loads(document.metadata) == {
        "pr_number": 1, "authors": ["hubot", "octocat"], "n_comments": 2, "line": 18,
    }  # fmt: skip


@pytest.mark.parametrize("listing", ["issues", "pulls"])
def test_a_pull_requests_description_and_conversation_are_a_document(
    export: Export, listing: str
) -> None:
    pull = github.issue(7, pull=True, body="Closes #3.\r\n", comments=2, state="closed")
    pull |= {"closed_at": github.at(300), "updated_at": github.at(400)}
    if listing == "issues":
        pull["pull_request"]["merged_at"] = github.at(300)
    else:  # has no count of comments
        del pull["pull_request"], pull["comments"], pull["state_reason"], pull["repository_url"]
        pull |= {"url": f"{github.API}/repos/org/app/pulls/7", "merged_at": github.at(300)}
        pull |= {"head": {"ref": "fix"}, "issue_url": f"{github.API}/repos/org/app/issues/7"}
    talk = export(
        github.issue_comment(61, 7, pull=True, user=github.user("hubot"), body="Why not sooner?"),
        github.issue_comment(60, 7, pull=True, user=github.user("ci[bot]", "Bot")),
        github.issue_comment(62, 2), github.comment(90, 7), github.issue(2),
        name="talk.json",
    )  # fmt: skip
    document, thread, fault, left_out = sorted(
        read(export(pull), talk), key=lambda i: isinstance(i, ReadIssue)
    )
    assert "ci[bot] 1" in str(left_out)
    assert document.key == ("review", "org/app", "pull/7")
    assert (document.title, document.state) == ("PR #7 Title 7", "merged")
    assert document.text == "@octocat: Closes #3.\n\n@hubot: Why not sooner?"
    assert document.uri == "https://github.com/org/app/pull/7"
    assert document.created_at == datetime(2024, 1, 1, 0, 0, 7, tzinfo=UTC)
    assert document.doc_date == datetime(2024, 1, 1, 0, 5, tzinfo=UTC)
    assert document.part == (listing == "pulls")
    assert json.loads(document.metadata) == {
        "pr_number": 7, "authors": ["hubot", "octocat"], "n_comments": 1, "labels": ["bug"],
        "closes": [3],
    }  # fmt: skip
    assert json.loads(thread.metadata)["closes"] == [3]
    assert (thread.document_id, thread.title) == ("pull/7#discussion_r90", document.title)
    assert not fault.failed
    assert fault.reason == "an issue: `crosscorpus ingest issues` takes it"


def test_a_pull_request_says_which_issues_of_its_own_repository_it_closes(export: Export) -> None:
    body = "Fixes #3, resolves org/app#4, see #5.\nCloses other/app#6, closes: GH-8, fixes #3"
    pull = github.issue(7, pull=True, body=body) | {"title": "Fix #9"}
    review = github.review(70, 7, body="Good.")
    documents = read(export(pull, review), repo="ours")
    assert [json.loads(document.metadata)["closes"] for document in documents] == [[9, 3, 4, 8]] * 2
    (issue,) = read_issues(export(github.issue(2, body=body)))
    assert "closes" not in json.loads(issue.metadata)


def test_what_only_shows_how_to_close_an_issue_closes_none(export: Export) -> None:
    shown = [
        "<!-- Say which issue,\nsuch as fixes #2 -->",
        "```\ngit commit -m 'fixes #3'\n```",
        "`fixes #4`",
        "> fixes #5",
        "fixes #7",  # itself
        "<!-- fixes #8",
    ]
    documents = read(export(github.issue(7, pull=True, body="\n\n".join(shown))))
    assert "closes" not in json.loads(only(documents).metadata)


def test_a_request_that_closes_many_issues_is_read_at_once(export: Export) -> None:
    body = "".join(f"fixes #{number} " for number in range(1, 40_000))
    began = time.process_time()
    only(read(export(github.issue(7, pull=True, body=body))))
    assert time.process_time() - began < 2


def test_a_conversation_without_its_pull_request_is_told(export: Export) -> None:
    (fault,) = read(export(github.issue_comment(60, 7, pull=True), github.issue_comment(61, 8)))
    assert not fault.failed
    assert str(fault) == (
        "PR #7: comments of a pull request that is not in the files: give both together"
    )


def test_hostile_pull_requests_are_kept_or_refused(export: Export) -> None:
    nobody = github.issue(1, pull=True, body=None, user=None, title="", labels=None)
    program = github.issue(2, pull=True, user=github.user("renovate[bot]", "Bot"))
    broken = github.issue(3, pull=True, pull_request={"merged_at": 7})
    odd = github.issue(4, pull=True, pull_request="x", body="a\x00b\ud800" + "x" * 65_536)
    fault, ghost, long, left_out = read(export(nobody, program, broken, odd))
    assert "renovate[bot] 1" in str(left_out)
    assert (fault.failed, fault.reason) == (True, "merged_at is no string")
    assert (ghost.title, ghost.text) == ("PR #1", "@ghost:")
    assert long.text.startswith("@octocat: a\ufffdb\ufffdxxx")


def test_a_reply_to_a_reply_belongs_to_the_first_comment(export: Export) -> None:
    file = export(
        github.comment(3, reply_to=2), github.comment(2, reply_to=1), github.comment(1),
        github.comment(8, reply_to=9), github.comment(9, reply_to=8),
    )  # fmt: skip
    documents = read(file)
    assert [document.text.count("@octocat") for document in documents] == [3, 1, 1]  # type: ignore[union-attr]


def test_a_review_is_its_verdict_and_its_words(export: Export) -> None:
    file = export(
        github.review(80, state="CHANGES_REQUESTED", body="Too slow."),
        github.review(81, body=""),
        github.review(82, body=None),
        github.review(83, state="PENDING", submitted_at=None),
    )
    document = only(read(file))
    assert document.text == "@octocat (CHANGES_REQUESTED): Too slow."
    assert document.uri == "https://github.com/org/app/pull/1#pullrequestreview-80"
    assert json.loads(document.metadata)["review_state"] == "changes_requested"


AGENT = github.user("Copilot", "Bot")


@pytest.mark.parametrize(
    ("bots", "authors", "left_out"),
    [
        (None, {"octocat", "Copilot"}, "acme-dependabot[bot] 1"),
        ("routine", {"octocat", "Copilot"}, "acme-dependabot[bot] 1"),
        ("drop", {"octocat"}, "Copilot 1, acme-dependabot[bot] 1"),
        ("keep", {"octocat", "Copilot", "acme-dependabot[bot]"}, None),
    ],
)
def test_a_choice_says_which_texts_of_programs_are_read_and_the_rest_are_counted(
    export: Export, bots: str | None, authors: set[str], left_out: str | None
) -> None:
    file = export(
        github.issue(1), github.issue(2, user=AGENT),
        github.issue(3, user=github.user("acme-dependabot[bot]", "Bot")),
    )  # fmt: skip
    found = list(issues_source([file], bots=bots).scan())
    documents = [one for one in found if isinstance(one, Document)]
    assert {name for one in documents for name in json.loads(one.metadata)["authors"]} == authors
    said = [str(one) for one in found if isinstance(one, ReadIssue)]
    assert said == ([] if left_out is None else [
        f"texts of programs: {left_out.count('[bot]') + left_out.count('Copilot')} left out "
        f"({left_out}); `--bots keep` reads them"
    ])  # fmt: skip


def test_what_routine_programs_write_is_left_out(export: Export) -> None:
    bot = github.user("codecov[bot]", "Bot")
    app = github.user("stale[bot]")
    file = export(
        github.comment(1, user=bot),
        github.comment(2, user=bot), github.comment(3, reply_to=2, user=github.user("ann")),
        github.review(4, user=app),
    )  # fmt: skip
    document, left_out = read(file)
    assert "3 left out (codecov[bot] 2, stale[bot] 1)" in str(left_out)
    assert document.document_id == "pull/1#discussion_r2"
    assert document.text.endswith("c\n\n@ann: Remark 3.")
    assert json.loads(document.metadata)["authors"] == ["ann"]
    assert document.created_at == datetime(2024, 1, 1, 0, 0, 3, tzinfo=UTC)


def test_an_issue_is_what_everybody_said(export: Export) -> None:
    comments = export(
        github.issue_comment(60, 3, user=github.user("hubot"), body=" Me too.\n"),
        github.issue_comment(61, 3, user=github.user("stale[bot]", "Bot")),
        name="comments.json",
    )
    issues = export(
        github.issue(3, state="closed", state_reason="completed", closed_at=github.at(300)),
        github.issue(2, body=None, user=None, labels=["plain", {"name": None}]),
    )
    second, third, _ = read_issues(comments, issues)
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
    assert (second.text, second.state) == ("@ghost:", "open")
    assert json.loads(second.metadata)["labels"] == ["plain"]


def test_pull_requests_and_their_comments_go_elsewhere_and_are_told(export: Export) -> None:
    file = export(
        github.issue(1, pull=True), github.issue_comment(60, 1, pull=True),
        github.issue_comment(61, 8, pull=True), github.issue(2),
    )  # fmt: skip
    first, second, eighth = read_issues(file)
    assert second.document_id == "issues/2"
    for fault, number in ((first, 1), (eighth, 8)):
        assert not fault.failed
        assert str(fault) == f"#{number}: of a pull request: `crosscorpus ingest reviews` takes it"


def test_what_github_hides_or_shows_as_a_picture_is_no_text(export: Export) -> None:
    hidden = (
        "<!--\r\nrun `make lint`\r\n-->\r\n\r\nSort vans.\n\n![v](data:image/png;base64,AAAA)\n"
    )
    hidden += "<!-- open"
    file = export(
        github.issue(1, pull=True, body=hidden),
        github.review(80, body="<!-- only a template -->"),
        github.issue_comment(60, 1, pull=True, body="`<!-- shown -->` <!-- hidden -->"),
    )
    shown = "@octocat: Sort vans.\n\n![v]()"
    assert only(read(file)).text == f"{shown}\n\n@octocat: `<!-- shown -->`"
    issues = export(github.issue(3, body=hidden), name="issues.json")
    assert only(read_issues(issues)).text == shown
    assert issue_texts([issues])["org/app", 3] == "Title 3\n\nSort vans.\n\n![v]()"


def test_of_a_comment_that_is_there_twice_the_later_version_counts(export: Export) -> None:
    one = export(
        github.comment(1, body="new", updated_at=github.at(50)),
        github.comment(1, body="old", updated_at=github.at(40)),
        name="1.json",
    )
    assert only(read(one)).text.endswith("@octocat: new")
    two = export(github.comment(1, body="same second", updated_at=github.at(50)), name="2.json")
    assert only(read(one, two)).text.endswith("@octocat: same second")


def test_a_name_of_ones_own_holds_for_one_repository(export: Export) -> None:
    file = export(github.comment(1), github.comment(2, repo="org/other"))
    assert [item.repo for item in read(file)] == ["org/app", "org/other"]  # type: ignore[union-attr]
    with pytest.raises(SourceError, match="of org/app and org/other: leave out --repo"):
        read(file, repo="mine")
    source = reviews_source([export(github.comment(1))], "mine")
    assert source.scopes == (("review", "mine"),)
    assert only(list(source.scan())).repo == "mine"
    assert source.fraction() == 1.0


def test_what_is_no_review_is_told(export: Export) -> None:
    file = export({"message": "Bad\ncredentials", "status": "401"}, github.issue(3), {"x": 1})
    reasons = [item.reason for item in read(file) if isinstance(item, ReadIssue)]
    assert reasons == [
        "an error that GitHub gave: Bad\\ncredentials",
        "an issue: `crosscorpus ingest issues` takes it",
        "neither a review comment, a review, a pull request, an issue nor a comment",
    ]


def test_hostile_shapes_are_stored(export: Export) -> None:
    longest = "x" * 65_535 + "é"
    file = export(
        github.comment(1, body=longest),
        github.comment(2, body=None, user=None),
        github.comment(3, position=None, line=None, original_line=17, path="old/name.py"),
        github.comment(4, reply_to=3, path="new/name.py", body="a\x00b\ud800"),
        github.comment(5, subject_type="file", line=None, original_line=None, position=1),
        github.comment(6, diff_hunk="", html_url=None, position=None, line=None,
                       original_line=None),
    )  # fmt: skip
    long, ghost, outdated, on_file, bare = read(file)
    assert longest in long.text
    assert ghost.text.endswith("\n\n@ghost:")
    assert json.loads(outdated.metadata)["line"] == 17
    assert json.loads(outdated.metadata)["outdated"] is True
    assert outdated.path == "old/name.py"
    assert "a\ufffdb\ufffd" in outdated.text
    assert "outdated" not in json.loads(on_file.metadata)
    assert bare.text == "src/app.py\n\n@octocat: Remark 6."


def test_only_the_last_lines_of_a_long_hunk_are_kept(export: Export) -> None:
    hunk = "@@ -0,0 +1,900 @@\n" + "\n".join(f"+line {n}" for n in range(900))
    text = only(read(export(github.comment(1, diff_hunk=hunk)))).text
    assert text.startswith("src/app.py\n+line 888\n")
    assert "+line 899\n\n@octocat" in text


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"id": None}, "id is missing"),
        ({"id": True}, "id is no whole number"),
        ({"user": {"id": 1}}, "user has no login"),
        ({"created_at": None}, "created_at is missing"),
        ({"created_at": None, "createdAt": "2024-01-01T00:00:00Z"}, "give what `gh api` writes"),
        ({"created_at": "yesterday"}, "created_at 'yesterday' is no ISO 8601 moment"),
        ({"pull_request_url": f"https://x/pulls/{'9' * 400}"}, "does not end in a number"),
    ],
)
def test_a_broken_item_is_a_fault_and_the_others_are_read(
    export: Export, change: dict[str, Any], reason: str
) -> None:
    fault, document = read(export({**github.comment(1), **change}, github.comment(2)))
    assert fault.failed
    assert fault.where == "export.json: line 1"
    assert reason in fault.reason
    assert isinstance(document, Document)
