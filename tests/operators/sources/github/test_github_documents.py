"""Documents of GitHub's items, in the shapes of its API."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import github_shapes as github
import pytest

from operators.sources.github.github_documents import conversation, review_documents
from operators.sources.github.github_records import ISSUE, BadItem, is_pull, sync_item
from operators.sources.github.issue_texts import issue_texts
from operators.sources.github.programs import judged, program_issues
from operators.sources.protocol import Document, Item, ReadIssue


def read(*values: dict[str, Any], repo: str = "org/app") -> list[Item]:
    """The documents of what the API gives, number by number as the mirror makes them."""
    stored = sorted(filter(None, map(sync_item, values)), key=lambda item: item.number)
    left_out, found = Counter[str](), list[Item]()
    for number, group in groupby(stored, key=lambda item: item.number):
        items = list(judged(group, left_out))
        found += review_documents(repo, number, items)
        found += [] if is_pull(items) else conversation(ISSUE, repo, number, items)
    return [*found, *program_issues(left_out)]


def only(items: list[Item]) -> Document:
    assert [str(item) for item in items if isinstance(item, ReadIssue)] == []
    (document,) = items
    assert isinstance(document, Document)
    return document


def test_a_thread_is_its_place_its_hunk_and_who_said_what() -> None:
    items = (
        github.comment(9, reply_to=5, user=github.user("hubot"), body="Done.\r\nThanks!"),
        github.comment(5, updated_at=github.at(70)),
        {**github.issue(1, pull=True), "title": "Close connections"},
    )
    whole, document = read(*items)
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
def test_a_pull_requests_description_and_conversation_are_a_document(listing: str) -> None:
    pull = github.issue(7, pull=True, body="Closes #3.\r\n", comments=2, state="closed")
    pull |= {"closed_at": github.at(300), "updated_at": github.at(400)}
    if listing == "issues":
        pull["pull_request"]["merged_at"] = github.at(300)
    else:  # has no count of comments
        del pull["pull_request"], pull["comments"], pull["state_reason"], pull["repository_url"]
        pull |= {"url": f"{github.API}/repos/org/app/pulls/7", "merged_at": github.at(300)}
        pull |= {"head": {"ref": "fix"}, "issue_url": f"{github.API}/repos/org/app/issues/7"}
    talk = (
        github.issue_comment(61, 7, pull=True, user=github.user("hubot"), body="Why not sooner?"),
        github.issue_comment(60, 7, pull=True, user=github.user("ci[bot]", "Bot")),
        github.comment(90, 7),
    )  # fmt: skip
    document, thread, left_out = read(pull, *talk)
    assert "ci[bot] 1" in str(left_out)
    assert document.key == ("review", "org/app", "pull/7")
    assert (document.title, document.state) == ("PR #7 Title 7", "merged")
    assert document.text == "@octocat: Closes #3.\n\n@hubot: Why not sooner?"
    assert document.uri == "https://github.com/org/app/pull/7"
    assert document.created_at == datetime(2024, 1, 1, 0, 0, 7, tzinfo=UTC)
    assert document.doc_date == datetime(2024, 1, 1, 0, 5, tzinfo=UTC)
    assert json.loads(document.metadata) == {
        "pr_number": 7, "authors": ["hubot", "octocat"], "n_comments": 1, "labels": ["bug"],
        "closes": [3],
    }  # fmt: skip
    assert json.loads(thread.metadata)["closes"] == [3]
    assert (thread.document_id, thread.title) == ("pull/7#discussion_r90", document.title)


def test_a_pull_request_says_which_issues_of_its_own_repository_it_closes() -> None:
    body = "Fixes #3, resolves org/app#4, see #5.\nCloses other/app#6, closes: GH-8, fixes #3"
    pull = github.issue(7, pull=True, body=body) | {"title": "Fix #9"}
    review = github.review(70, 7, body="Good.")
    documents = read(pull, review, repo="ours")
    assert [json.loads(document.metadata)["closes"] for document in documents] == [[9, 3, 4, 8]] * 2
    (issue,) = read(github.issue(2, body=body))
    assert "closes" not in json.loads(issue.metadata)


def test_what_only_shows_how_to_close_an_issue_closes_none() -> None:
    shown = [
        "<!-- Say which issue,\nsuch as fixes #2 -->",
        "```\ngit commit -m 'fixes #3'\n```",
        "`fixes #4`",
        "> fixes #5",
        "fixes #7",  # itself
        "<!-- fixes #8",
    ]
    documents = read(github.issue(7, pull=True, body="\n\n".join(shown)))
    assert "closes" not in json.loads(only(documents).metadata)


def test_a_request_that_closes_many_issues_is_read_at_once() -> None:
    body = "".join(f"fixes #{number} " for number in range(1, 40_000))
    began = time.process_time()
    only(read(github.issue(7, pull=True, body=body)))
    assert time.process_time() - began < 2


def test_hostile_pull_requests_are_kept_or_refused() -> None:
    nobody = github.issue(1, pull=True, body=None, user=None, title="", labels=None)
    program = github.issue(2, pull=True, user=github.user("renovate[bot]", "Bot"))
    broken = github.issue(3, pull=True, pull_request={"merged_at": 7})
    odd = github.issue(4, pull=True, pull_request="x", body="a\x00b\ud800" + "x" * 65_536)
    ghost, long, left_out = read(nobody, program, odd)
    assert "renovate[bot] 1" in str(left_out)
    with pytest.raises(BadItem, match="merged_at is no string"):
        read(broken)
    assert (ghost.title, ghost.text) == ("PR #1", "@ghost:")
    assert long.text.startswith("@octocat: a\ufffdb\ufffdxxx")


def test_a_reply_to_a_reply_belongs_to_the_first_comment() -> None:
    items = (
        github.comment(3, reply_to=2), github.comment(2, reply_to=1), github.comment(1),
        github.comment(8, reply_to=9), github.comment(9, reply_to=8),
    )  # fmt: skip
    documents = read(*items)
    assert [document.text.count("@octocat") for document in documents] == [3, 1, 1]  # type: ignore[union-attr]


def test_a_review_is_its_verdict_and_its_words() -> None:
    items = (
        github.review(80, state="CHANGES_REQUESTED", body="Too slow."),
        github.review(81, body=""),
        github.review(82, body=None),
        github.review(83, state="PENDING", submitted_at=None),
    )
    document = only(read(*items))
    assert document.text == "@octocat (CHANGES_REQUESTED): Too slow."
    assert document.uri == "https://github.com/org/app/pull/1#pullrequestreview-80"
    assert json.loads(document.metadata)["review_state"] == "changes_requested"


def test_what_coding_agents_write_is_read() -> None:
    document = only(read(github.issue(2, user=github.user("Copilot", "Bot"))))
    assert json.loads(document.metadata)["authors"] == ["Copilot"]


def test_what_routine_programs_write_is_left_out() -> None:
    bot = github.user("codecov[bot]", "Bot")
    app = github.user("stale[bot]")
    items = (
        github.comment(1, user=bot),
        github.comment(2, user=bot), github.comment(3, reply_to=2, user=github.user("ann")),
        github.review(4, user=app),
    )  # fmt: skip
    document, left_out = read(*items)
    assert "3 left out (codecov[bot] 2, stale[bot] 1)" in str(left_out)
    assert document.document_id == "pull/1#discussion_r2"
    assert document.text.endswith("c\n\n@ann: Remark 3.")
    assert json.loads(document.metadata)["authors"] == ["ann"]
    assert document.created_at == datetime(2024, 1, 1, 0, 0, 3, tzinfo=UTC)


def test_an_issue_is_what_everybody_said() -> None:
    comments = (
        github.issue_comment(60, 3, user=github.user("hubot"), body=" Me too.\n"),
        github.issue_comment(61, 3, user=github.user("stale[bot]", "Bot")),
    )
    issues = (
        github.issue(3, state="closed", state_reason="completed", closed_at=github.at(300)),
        github.issue(2, body=None, user=None, labels=["plain", {"name": None}]),
    )
    second, third, _ = read(*comments, *issues)
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


def test_what_github_hides_or_shows_as_a_picture_is_no_text(tmp_path: Path) -> None:
    hidden = (
        "<!--\r\nrun `make lint`\r\n-->\r\n\r\nSort vans.\n\n![v](data:image/png;base64,AAAA)\n"
    )
    hidden += "<!-- open"
    items = (
        github.issue(1, pull=True, body=hidden),
        github.review(80, body="<!-- only a template -->"),
        github.issue_comment(60, 1, pull=True, body="`<!-- shown -->` <!-- hidden -->"),
    )
    shown = "@octocat: Sort vans.\n\n![v]()"
    assert only(read(*items)).text == f"{shown}\n\n@octocat: `<!-- shown -->`"
    issues = tmp_path / "issues.json"
    issues.write_text(json.dumps([github.issue(3, body=hidden)]))
    assert only(read(github.issue(3, body=hidden))).text == shown
    assert issue_texts([issues])["org/app", 3] == "Title 3\n\nSort vans.\n\n![v]()"


def test_hostile_shapes_are_stored() -> None:
    longest = "x" * 65_535 + "é"
    items = (
        github.comment(1, body=longest),
        github.comment(2, body=None, user=None),
        github.comment(3, position=None, line=None, original_line=17, path="old/name.py"),
        github.comment(4, reply_to=3, path="new/name.py", body="a\x00b\ud800"),
        github.comment(5, subject_type="file", line=None, original_line=None, position=1),
        github.comment(6, diff_hunk="", html_url=None, position=None, line=None,
                       original_line=None),
    )  # fmt: skip
    long, ghost, outdated, on_file, bare = read(*items)
    assert longest in long.text
    assert ghost.text.endswith("\n\n@ghost:")
    assert json.loads(outdated.metadata)["line"] == 17
    assert json.loads(outdated.metadata)["outdated"] is True
    assert outdated.path == "old/name.py"
    assert "a\ufffdb\ufffd" in outdated.text
    assert "outdated" not in json.loads(on_file.metadata)
    assert bare.text == "src/app.py\n\n@octocat: Remark 6."


def test_only_the_last_lines_of_a_long_hunk_are_kept() -> None:
    hunk = "@@ -0,0 +1,900 @@\n" + "\n".join(f"+line {n}" for n in range(900))
    text = only(read(github.comment(1, diff_hunk=hunk))).text
    assert text.startswith("src/app.py\n+line 888\n")
    assert "+line 899\n\n@octocat" in text


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"id": None}, "id is missing"),
        ({"id": True}, "id is no whole number"),
        ({"user": {"id": 1}}, "user has no login"),
        ({"created_at": None}, "created_at is missing"),
        ({"created_at": "yesterday"}, "created_at 'yesterday' is no ISO 8601 moment"),
        ({"pull_request_url": f"https://x/pulls/{'9' * 400}"}, "does not end in a number"),
    ],
)
def test_a_broken_item_is_a_fault_that_says_why(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadItem, match=re.escape(reason)):
        read({**github.comment(1), **change})
