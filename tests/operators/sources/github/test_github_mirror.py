"""Synchronising with a real local server that speaks the endpoints' documented shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import github_shapes as github
import pytest

from operators.errors import CrosscorpusError
from operators.postgres.store import Store
from operators.sources.github.github_api import GithubApi, GithubError, open_github
from operators.sources.github.github_mirror import Mirror, mirror_source, refresh
from operators.sources.protocol import Document, ReadIssue

DAY = 86_400.0


@pytest.fixture
def api(server: Any) -> Iterator[GithubApi]:
    def sleep(seconds: float) -> None:
        pass

    with open_github(server.url, sleep=sleep) as connection:
        yield connection


@pytest.fixture
def sync(store: Store, api: GithubApi) -> Callable[..., dict[str, str]]:
    """Refresh, and give what the documents say, by id; ``clock`` is one day after another."""
    days = iter(range(1, 1000))

    def run(repository: str = "org/app", *, day: float | None = None, **options: Any) -> Any:
        now = (next(days) * 0.01 if day is None else day) * DAY
        mirror = refresh(store, api, repository, clock=lambda: now, **options)
        return texts(store, mirror)

    return run


def texts(store: Store, mirror: Mirror) -> dict[str, str]:
    found = {}
    for item in mirror_source(store, mirror).scan():
        if isinstance(item, Document):
            assert item.document_id not in found
            found[item.document_id] = item.text.rpartition("c\n\n")[2]
        else:
            found[item.where] = item.reason
    return found


@pytest.fixture
def filled(server: Any) -> Any:
    """Two pull requests with a thread, a review and talk; two issues."""
    server.put("issues", github.issue(1, pull=True), github.issue(2), github.issue(3))
    server.put("issues", github.issue(4, pull=True))
    server.put("comments", github.comment(100), github.comment(101, reply_to=100))
    server.put("comments", github.comment(102, pull=4))
    server.put("reviews", github.review(200), github.review(201, pull=4, body=""))
    server.put("issue_comments", github.issue_comment(300, 2))
    server.put("issue_comments", github.issue_comment(301, 1, pull=True))
    return server


ALL = {
    "pull/1": "@octocat: Trouble 1.\n\n@octocat: Word 301.",
    "pull/4": "@octocat: Trouble 4.",
    "pull/1#discussion_r100": "@octocat: Remark 100.\n\n@octocat: Remark 101.",
    "pull/1#pullrequestreview-200": "@octocat (APPROVED): Verdict 200.",
    "pull/4#discussion_r102": "@octocat: Remark 102.",
    "issues/2": "@octocat: Trouble 2.\n\n@octocat: Word 300.",
    "issues/3": "@octocat: Trouble 3.",
}


def test_nothing_new_costs_answers_without_a_body(filled: Any, sync: Any) -> None:
    for _ in range(2):
        sync()
    filled.forget()
    assert sync() == ALL
    assert filled.statuses == [200, 304, 304, 304]
    assert all(query["since"] for _, query, _ in filled.requests[1:])


def test_an_edit_in_the_same_second_is_seen(filled: Any, sync: Any) -> None:
    first = github.comment(102, pull=4, body="one", updated_at=github.at(9000))
    filled.put("comments", first)
    assert sync()["pull/4#discussion_r102"] == "@octocat: one"
    filled.put("comments", {**first, "body": "two"})
    assert sync()["pull/4#discussion_r102"] == "@octocat: two"


def test_a_change_that_shows_late_is_seen(filled: Any, sync: Any) -> None:
    filled.put("comments", github.comment(110, pull=4, updated_at=github.at(9000)))
    sync()
    filled.put("comments", github.comment(109, pull=4, updated_at=github.at(8800)))
    assert "pull/4#discussion_r109" in sync()


def test_an_answer_that_is_behind_changes_nothing(filled: Any, sync: Any) -> None:
    filled.put("comments", github.comment(102, pull=4, body="new", updated_at=github.at(400)))
    sync()
    filled.put("comments", github.comment(102, pull=4, body="old", updated_at=github.at(350)))
    assert sync()["pull/4#discussion_r102"] == "@octocat: new"


@pytest.mark.parametrize("inclusive", [True, False], ids=["since takes in", "since leaves out"])
def test_pages_of_one_second_and_of_many_are_read_whole(
    filled: Any, sync: Any, inclusive: bool
) -> None:
    filled.since_is_inclusive = inclusive
    many = [github.comment(1000 + n, pull=4, updated_at=github.at(n // 7)) for n in range(450)]
    many += [github.comment(2000 + n, pull=4, updated_at=github.at(70)) for n in range(350)]
    filled.put("comments", *many)
    found = sync()
    assert len([key for key in found if key.startswith("pull/4#discussion")]) == 801


def test_more_than_the_server_gives_by_pages_is_read(filled: Any, sync: Any) -> None:
    filled.most_items = 200
    filled.put("issues", *(github.issue(n) for n in range(1000, 1650)))
    assert len([key for key in sync() if key.startswith("issues/")]) == 652


def test_a_second_with_more_changes_than_page_numbers_reach_is_read_by_its_links(
    server: Any, sync: Any
) -> None:
    # https://github.com/onyx-dot-app/onyx/pull/4642, https://github.com/wshm-dev/wshm/pull/133
    server.most_items, server.cursors = 1000, True
    server.put("issues", *(github.issue(n, updated_at=github.at(500)) for n in range(1, 1151)))
    assert len(sync()) == 1150


def test_items_that_move_while_pages_are_read_are_not_lost(filled: Any, sync: Any) -> None:
    filled.put("comments", *(github.comment(n, pull=4) for n in range(1000, 1500)))
    asked = 0

    def edit_and_delete(path: str) -> None:
        nonlocal asked
        if path.endswith("pulls/comments"):
            asked += 1
            late = github.at(50_000 + asked)
            for n in range(asked * 3):  # out of the pages read already, to the end
                filled.comments[1000 + n]["updated_at"] = late
            filled.comments.pop(1050 + asked, None)

    filled.before = edit_and_delete
    found = set(sync())
    assert asked > 5
    assert {f"pull/4#discussion_r{n}" for n in filled.comments if n >= 1000} <= found


def test_a_first_run_that_ends_early_goes_on_where_it_was(filled: Any, sync: Any) -> None:
    filled.put("comments", *(github.comment(n, pull=4) for n in range(1000, 1500)))
    done = 0

    def end(path: str) -> None:
        nonlocal done
        done += path.endswith("pulls/comments")
        if done == 4:
            filled.failing["/repos/org/app/pulls/comments"] = (401, {}, {"message": "revoked"})

    filled.before = end
    with pytest.raises(GithubError, match="wrong or has expired"):
        sync()
    filled.forget()
    filled.failing.clear()
    filled.before = lambda path: None
    assert len(sync()) == len(ALL) + 500
    asked = [query for path, query, _ in filled.requests if path.endswith("pulls/comments")]
    assert asked[0]["since"] > github.at(1050)


def test_what_was_deleted_is_found_by_asking_for_everything(filled: Any, sync: Any) -> None:
    sync(day=1)
    del filled.comments[101], filled.issues[3], filled.issue_comments[300], filled.issues[4]
    del filled.comments[102]
    assert sync(day=2) == ALL
    filled.forget()
    left = {
        "pull/1": ALL["pull/1"],
        "pull/1#discussion_r100": "@octocat: Remark 100.",
        "pull/1#pullrequestreview-200": ALL["pull/1#pullrequestreview-200"],
        "issues/2": "@octocat: Trouble 2.",
    }
    assert sync(day=9) == left
    confirmed = {
        "/repos/org/app/pulls/comments/101", "/repos/org/app/issues/3", "/repos/org/app/issues/4",
        "/repos/org/app/issues/comments/300", "/repos/org/app/pulls/comments/102",
    }  # fmt: skip
    assert confirmed <= set(filled.paths())
    filled.forget()
    assert sync(day=10) == left
    assert not confirmed & set(filled.paths())


def test_an_item_that_a_listing_left_out_by_mistake_stays(filled: Any, sync: Any) -> None:
    sync()
    hidden = filled.comments.pop(100)

    def back(path: str) -> None:
        if path.endswith("/issues/comments"):
            filled.comments[100] = hidden

    filled.before = back
    filled.failing["/repos/org/app/pulls/comments/100"] = (200, {}, hidden)
    assert sync(full=True) == ALL


def test_a_transferred_issue_leaves(filled: Any, sync: Any) -> None:
    sync()
    del filled.issues[3]
    filled.transferred[3] = "/repositories/7/issues/3"
    filled.failing["/repositories/7/issues/3"] = (200, {}, github.issue(3, repo="org/other"))
    assert "issues/3" not in sync(full=True)


def test_a_renamed_repository_stays_where_it_is_stored(filled: Any, sync: Any) -> None:
    sync()
    filled.name = "new/name"
    filled.renamed_from.add("org/app")
    found = sync("org/app")
    assert found.pop("org/app") == "is new/name now; its documents stay stored under 'org/app'"
    assert found == ALL
    assert "issues/2" in sync("new/name")


def test_a_review_that_is_edited_or_new_is_fetched_with_its_pull_request(
    filled: Any, sync: Any
) -> None:
    sync()
    filled.forget()
    filled.put("reviews", github.review(200, state="DISMISSED"), github.review(202))
    filled.put("issues", github.issue(1, pull=True, updated_at=github.at(9000)))
    found = sync()
    assert found["pull/1#pullrequestreview-200"] == "@octocat (DISMISSED): Verdict 200."
    assert "pull/1#pullrequestreview-202" in found
    assert [path for path in filled.paths() if "reviews" in path] == [
        "/repos/org/app/pulls/1/reviews"
    ]


def test_a_pull_request_whose_reviews_fail_does_not_stop_the_others(filled: Any, sync: Any) -> None:
    filled.failing["/repos/org/app/pulls/1/reviews"] = (502, {}, b"")
    found = sync()
    assert "HTTP 502" in found.pop("reviews of #1")
    assert found == {key: ALL[key] for key in ALL if "review-200" not in key}
    filled.failing.clear()
    assert sync() == ALL


def test_a_repository_without_issues_has_reviews(filled: Any, sync: Any) -> None:
    filled.issues_enabled = False
    found = sync()
    why = "disabled there, and so pull requests' words"
    assert found.pop("issues") == found.pop("issue comments") == why
    assert set(found) == {key for key in ALL if key.startswith("pull/") and "#" in key}


def test_a_broken_item_is_a_failure_and_the_others_are_kept(
    filled: Any, store: Store, api: GithubApi
) -> None:
    filled.put("comments", {**github.comment(102, pull=4), "body": 7})
    mirror = refresh(store, api, "org/app")
    (fault,) = [item for item in mirror_source(store, mirror).scan() if isinstance(item, ReadIssue)]
    assert fault.failed
    assert str(fault) == "review comments 102: body is no string"
    assert len(texts(store, mirror)) == len(ALL)


@pytest.mark.parametrize("name", ["app", "../x", "org/..", ""])
def test_what_is_no_repository_is_not_asked_for(
    server: Any, store: Store, api: GithubApi, name: str
) -> None:
    with pytest.raises(CrosscorpusError, match="is not a repository: write OWNER/NAME"):
        refresh(store, api, name)
    assert server.requests == []


def test_two_repositories_are_not_stored_under_one_name(
    filled: Any, store: Store, api: GithubApi
) -> None:
    refresh(store, api, "org/app", repo="mine")
    with pytest.raises(CrosscorpusError, match="is stored under 'mine' in this collection, not"):
        refresh(store, api, "org/app", repo="other")
    filled.number = 77
    with pytest.raises(CrosscorpusError, match="'Mine' is taken"):
        refresh(store, api, "org/app", repo="Mine")
    assert refresh(store, api, "org/app").repo == "org/app"
