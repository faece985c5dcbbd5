from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from operators.sources.github.review_threads import reviews_source
from operators.sources.jsonl import SourceError
from operators.sources.protocol import Document, Item, ReadIssue

Export = Callable[..., Path]


def read(*paths: Path, **options: Any) -> list[Item]:
    return list(reviews_source(paths, **options).scan())


def only(items: list[Item]) -> Document:
    assert [str(item) for item in items if isinstance(item, ReadIssue)] == []
    (document,) = items
    assert isinstance(document, Document)
    return document


def test_a_thread_is_its_place_its_hunk_and_who_said_what(
    github: ModuleType, export: Export
) -> None:
    file = export(
        github.comment(9, reply_to=5, user=github.user("hubot"), body="Done.\r\nThanks!"),
        github.comment(5, updated_at=github.at(70)),
        {**github.issue(1, pull=True), "title": "Close connections"},
    )
    document = only(read(file))
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


def test_threads_and_reviews_of_several_pull_requests_come_in_order(
    github: ModuleType, export: Export
) -> None:
    first = export(github.comment(30, 2), github.comment(12, 10), name="1.json")
    second = export(
        github.comment(31, 2, reply_to=30), github.comment(29, 2), github.review(77, 2),
        name="2.json",
    )  # fmt: skip
    assert [item.document_id for item in read(first, second)] == [  # type: ignore[union-attr]
        "pull/2#discussion_r29",
        "pull/2#discussion_r30",
        "pull/2#pullrequestreview-77",
        "pull/10#discussion_r12",
    ]


def test_a_reply_to_a_reply_belongs_to_the_first_comment(
    github: ModuleType, export: Export
) -> None:
    file = export(
        github.comment(3, reply_to=2), github.comment(2, reply_to=1), github.comment(1),
        github.comment(8, reply_to=9), github.comment(9, reply_to=8),
    )  # fmt: skip
    documents = read(file)
    assert [document.text.count("@octocat") for document in documents] == [3, 1, 1]  # type: ignore[union-attr]


def test_a_review_is_its_verdict_and_its_words(github: ModuleType, export: Export) -> None:
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


def test_what_programs_write_is_left_out(github: ModuleType, export: Export) -> None:
    bot = github.user("codecov[bot]", "Bot")
    app = github.user("lint-app[bot]")
    file = export(
        github.comment(1, user=bot),
        github.comment(2, user=bot), github.comment(3, reply_to=2, user=github.user("ann")),
        github.review(4, user=app),
    )  # fmt: skip
    document = only(read(file))
    assert document.document_id == "pull/1#discussion_r2"
    assert document.text.endswith("c\n\n@ann: Remark 3.")
    assert json.loads(document.metadata)["authors"] == ["ann"]
    assert document.created_at == datetime(2024, 1, 1, 0, 0, 3, tzinfo=UTC)


def test_hostile_shapes_are_stored(github: ModuleType, export: Export) -> None:
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
    assert isinstance(long, Document)
    assert longest in long.text
    assert isinstance(ghost, Document)
    assert ghost.text.endswith("\n\n@ghost:")
    assert isinstance(outdated, Document)
    assert json.loads(outdated.metadata)["line"] == 17
    assert json.loads(outdated.metadata)["outdated"] is True
    assert outdated.path == "old/name.py"
    assert "a\ufffdb\ufffd" in outdated.text
    assert isinstance(on_file, Document)
    assert "outdated" not in json.loads(on_file.metadata)
    assert isinstance(bare, Document)
    assert bare.text == "src/app.py\n\n@octocat: Remark 6."


def test_only_the_last_lines_of_a_long_hunk_are_kept(github: ModuleType, export: Export) -> None:
    hunk = "@@ -0,0 +1,900 @@\n" + "\n".join(f"+line {n}" for n in range(900))
    text = only(read(export(github.comment(1, diff_hunk=hunk)))).text
    assert text.startswith("src/app.py\n+line 888\n")
    assert "+line 899\n\n@octocat" in text


def test_of_a_comment_that_is_there_twice_the_later_version_counts(
    github: ModuleType, export: Export
) -> None:
    one = export(
        github.comment(1, body="new", updated_at=github.at(50)),
        github.comment(1, body="old", updated_at=github.at(40)),
        name="1.json",
    )
    assert only(read(one)).text.endswith("@octocat: new")
    two = export(github.comment(1, body="same second", updated_at=github.at(50)), name="2.json")
    assert only(read(one, two)).text.endswith("@octocat: same second")


def test_a_part_of_a_thread_does_not_take_its_place(github: ModuleType, export: Export) -> None:
    file = export(github.comment(2, reply_to=1), github.comment(7))
    fault, document = read(file)
    assert isinstance(fault, ReadIssue)
    assert not fault.failed
    assert "give the whole export" in fault.reason
    assert isinstance(document, Document)
    whole = read(file, whole=True)
    assert [item.document_id for item in whole] == [  # type: ignore[union-attr]
        "pull/1#discussion_r1", "pull/1#discussion_r7"
    ]  # fmt: skip


def test_a_name_of_ones_own_holds_for_one_repository(github: ModuleType, export: Export) -> None:
    file = export(github.comment(1), github.comment(2, repo="org/other"))
    assert [item.repo for item in read(file)] == ["org/app", "org/other"]  # type: ignore[union-attr]
    with pytest.raises(SourceError, match="of org/app and org/other: leave out --repo"):
        read(file, repo="mine")
    source = reviews_source([export(github.comment(1))], "mine")
    assert source.scopes == (("review", "mine"),)
    assert only(list(source.scan())).repo == "mine"
    assert source.fraction() == 1.0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"id": None}, "id is missing"),
        ({"id": True}, "id is no whole number"),
        ({"body": 7}, "body is no string"),
        ({"user": {"id": 1}}, "user has no login"),
        ({"created_at": None}, "created_at is missing"),
        ({"created_at": "yesterday"}, "created_at 'yesterday' is no ISO 8601 moment"),
        ({"pull_request_url": "https://x/pulls/"}, "pull_request_url does not end in a number"),
        ({"pull_request_url": f"https://x/pulls/{'9' * 400}"}, "does not end in a number"),
    ],
)
def test_a_broken_item_is_a_fault_and_the_others_are_read(
    github: ModuleType, export: Export, change: dict[str, Any], reason: str
) -> None:
    fault, document = read(export({**github.comment(1), **change}, github.comment(2)))
    assert isinstance(fault, ReadIssue)
    assert fault.failed
    assert fault.where == "export.json: line 1"
    assert reason in fault.reason
    assert isinstance(document, Document)


def test_what_is_no_review_is_told(github: ModuleType, export: Export) -> None:
    file = export({"message": "Bad\ncredentials", "status": "401"}, github.issue(3), {"x": 1})
    reasons = [item.reason for item in read(file) if isinstance(item, ReadIssue)]
    assert reasons == [
        "an error that GitHub gave: Bad\\ncredentials",
        "an issue: `crosscorpus ingest issues` takes it",
        "neither a review comment, a review, a pull request, an issue nor a comment",
    ]


def test_a_missing_file_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        reviews_source([tmp_path / "none.json"])
