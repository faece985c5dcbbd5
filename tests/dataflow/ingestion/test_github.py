from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dataflow.ingestion.sources import ingest_issues, ingest_memory, ingest_reviews, sync_github
from operators.postgres.store import Store, collection_info
from operators.postgres.write.sync_state import stored_items
from operators.sources.github.github_api import GithubApi, GithubError, open_github

SHAPES = Path(__file__).parents[2] / "operators" / "sources"
Read = Callable[[Store], dict[str, Any]]


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"crosscorpus_{name}", SHAPES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


github = _load("github_shapes")
served = _load("github_server")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A GitHub on this machine: two pull requests with a thread each, a review, two issues."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with served.serving(served.GitHub()) as state:
        monkeypatch.setenv("GITHUB_API_URL", state.url)
        fill(state)
        yield state


def fill(state: Any) -> None:
    state.put("issues", github.issue(1, pull=True), github.issue(2), github.issue(3))
    state.put("issues", github.issue(4, pull=True))
    state.put("comments", github.comment(100), github.comment(101, reply_to=100))
    state.put("comments", github.comment(102, pull=4))
    state.put("reviews", github.review(200))
    state.put("issue_comments", github.issue_comment(300, 2))


def change(state: Any) -> None:
    """Edit, add and delete something of each kind."""
    later = github.at(90_000)
    state.put("comments", github.comment(101, reply_to=100, body="Better.", updated_at=later))
    state.put("comments", github.comment(103, reply_to=102, pull=4, updated_at=later))
    state.put("issues", github.issue(3, state="closed", updated_at=later))
    state.put("issues", github.issue(4, pull=True, title="Renamed", updated_at=later))
    state.put("reviews", github.review(200, body="Edited."), github.review(201, pull=4))
    state.put("issues", github.issue(5, updated_at=later))
    del state.issue_comments[300], state.comments[100]


@pytest.fixture
def api(server: Any) -> Iterator[GithubApi]:
    with open_github(sleep=lambda seconds: None) as connection:
        yield connection


def texts(store: Store) -> dict[str, str]:
    with store.transaction() as conn:
        rows = conn.execute("SELECT document_id, text FROM chunks ORDER BY document_id, ordinal")
        found: dict[str, str] = {}
        for name, text in rows:
            found[name] = found.get(name, "") + text
    return found


def test_a_repository_is_searchable_and_twice_changes_nothing(
    store: Store, embedder: Any, server: Any, row_versions: Read
) -> None:
    report = sync_github(store, embedder, "org/app")
    assert report.ok
    assert (report.documents_new, report.documents_deleted) == (5, 0)
    assert set(collection_info(store).repos) == {"review", "issue"}
    assert set(texts(store)) == {
        "pull/1#discussion_r100", "pull/1#pullrequestreview-200", "pull/4#discussion_r102",
        "issues/2", "issues/3",
    }  # fmt: skip
    before = row_versions(store)
    embedder.counted = 0
    report = sync_github(store, embedder, "org/app")
    assert (report.documents_unchanged, report.chunks, embedder.counted) == (5, 0, 0)
    assert row_versions(store) == before


def test_after_changes_the_collection_equals_a_fresh_one(
    new_store: Callable[[], Store], embedder: Any, server: Any, api: GithubApi, contents: Read
) -> None:
    store = new_store()
    sync_github(store, embedder, "org/app", api=api)
    change(server)
    report = sync_github(store, embedder, "org/app", api=api, full=True)
    assert report.ok
    fresh = new_store()
    sync_github(fresh, embedder, "org/app", api=api)
    here, there = contents(store), contents(fresh)
    assert set(here.pop("embedding_cache")) >= set(there.pop("embedding_cache"))
    assert here == there
    assert [*stored_items(store, source(store))] == [*stored_items(fresh, source(fresh))]


def source(store: Store) -> str:
    with store.transaction() as conn:
        row = conn.execute("SELECT DISTINCT source FROM sync_state").fetchone()
    assert row is not None
    return str(row[0])


class Killed(BaseException):
    pass


def test_a_run_that_dies_after_any_commit_ends_like_an_undisturbed_one(
    new_store: Callable[[], Store], embedder: Any, server: Any, api: GithubApi, contents: Read,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    undisturbed = new_store()
    sync_github(undisturbed, embedder, "org/app", api=api)
    change(server)
    sync_github(undisturbed, embedder, "org/app", api=api, full=True)
    expected = contents(undisturbed)
    expected.pop("embedding_cache")
    items = [*stored_items(undisturbed, source(undisturbed))]
    proper = Store.transaction
    left = 0

    @contextmanager
    def transaction(self: Store, *args: Any, **kwargs: Any) -> Iterator[Any]:
        nonlocal left
        with proper(self, *args, **kwargs) as conn:
            yield conn
            writes = conn.execute("SELECT pg_current_xact_id_if_assigned()").fetchone() != (None,)
        left -= writes
        if writes and left == 0:
            raise Killed

    died = 0
    for point in range(1, 1000):
        for state in (server.comments, server.reviews, server.issues, server.issue_comments):
            state.clear()
        fill(server)
        store = new_store()
        sync_github(store, embedder, "org/app", api=api)
        change(server)
        left = point
        with monkeypatch.context() as patched:
            patched.setattr(Store, "transaction", transaction)
            try:
                sync_github(store, embedder, "org/app", api=api, full=True)
            except Killed:
                died += 1
        whole = left > 0
        report = sync_github(store, embedder, "org/app", api=api, full=True)
        assert report.ok
        found = contents(store)
        found.pop("embedding_cache")
        assert found == expected, point
        assert [*stored_items(store, source(store))] == items, point
        if whole:
            break
    assert died > 10


def test_most_of_a_repository_gone_deletes_nothing_until_allowed(
    store: Store, embedder: Any, server: Any, api: GithubApi
) -> None:
    sync_github(store, embedder, "org/app", api=api)
    server.comments.clear()
    server.reviews.clear()
    for options in ({"full": True}, {}):
        report = sync_github(store, embedder, "org/app", api=api, **options)
        assert "3 of 3 documents are gone" in str(report.failed[0])
        assert len(texts(store)) == 5
    report = sync_github(store, embedder, "org/app", api=api, allow_mass_delete=True)
    assert report.ok
    assert set(texts(store)) == {"issues/2", "issues/3"}


def test_a_refusal_writes_no_document_and_keeps_what_was_fetched(
    store: Store, embedder: Any, server: Any, api: GithubApi
) -> None:
    server.failing["/repos/org/app/issues/comments"] = (403, {"Retry-After": "99999"}, b"")
    with pytest.raises(GithubError, match="what was fetched is kept"):
        sync_github(store, embedder, "org/app", api=api)
    assert texts(store) == {}
    assert len([*stored_items(store, source(store))]) == 7
    server.failing.clear()
    assert sync_github(store, embedder, "org/app", api=api).documents_new == 5


def test_a_failed_embedding_is_tried_again_by_the_next_run(
    store: Store, embedder: Any, server: Any, api: GithubApi
) -> None:
    embedder.fails_on = "Trouble 2"
    report = sync_github(store, embedder, "org/app", api=api)
    assert [fault.where for fault in report.failed] == ["issues/2"]
    embedder.fails_on = "\0never"
    report = sync_github(store, embedder, "org/app", api=api)
    assert report.ok
    assert (report.documents_new + report.documents_changed, report.documents_unchanged) == (1, 4)


def test_exports_give_the_same_documents_as_the_api(
    new_store: Callable[[], Store], embedder: Any, server: Any, api: GithubApi, contents: Read,
    tmp_path: Path,
) -> None:  # fmt: skip
    live, filed = new_store(), new_store()
    sync_github(live, embedder, "org/app", api=api)
    files = {}
    for kind in ("comments", "reviews", "issues", "issue_comments"):
        files[kind] = tmp_path / f"{kind}.json"
        files[kind].write_text(
            "".join(json.dumps([item]) for item in getattr(server, kind).values())
        )
    pulls = tmp_path / "pulls.json"
    pulls.write_text(json.dumps([i for i in server.issues.values() if "pull_request" in i]))
    reviews = [files["comments"], files["reviews"], pulls]
    assert ingest_reviews(filed, embedder, reviews, repo="org/app").ok
    assert ingest_issues(filed, embedder, [files["issues"], files["issue_comments"]]).ok
    assert contents(filed) == contents(live)
    assert sync_github(filed, embedder, "org/app", api=api).documents_unchanged == 5


def test_a_whole_export_takes_out_what_was_deleted(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    file = tmp_path / "comments.json"
    file.write_text(json.dumps([github.comment(n) for n in range(1, 11)]))
    ingest_reviews(store, embedder, [file], repo="org/app")
    file.write_text(json.dumps([github.comment(n) for n in range(1, 10)]))
    assert ingest_reviews(store, embedder, [file], repo="org/app").documents_deleted == 0
    report = ingest_reviews(store, embedder, [file], repo="org/app", prune=True)
    assert (report.documents_deleted, len(texts(store))) == (1, 9)


def written(folder: Path, name: str, *items: dict[str, Any]) -> Path:
    file = folder / name
    file.write_text(json.dumps(items))
    return file


def test_an_export_without_the_comments_leaves_an_issue_that_has_them(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    issues = written(
        tmp_path, "issues.json", github.issue(2, comments=1), github.issue(3, comments=1)
    )
    comments = written(tmp_path, "comments.json", github.issue_comment(300, 2))
    ingest_issues(store, embedder, [issues, comments])
    before = texts(store)
    assert "Word 300." in before["issues/2"]
    report = ingest_issues(store, embedder, [issues])
    assert (report.ok, report.documents_changed, report.documents_unchanged) == (True, 0, 2)
    assert [str(fault) for fault in report.skipped] == [
        "issues/2: the files have 0 of its 1 stored comments, so that version stays: give all "
        "files together, or say they are whole (--prune)"
    ]
    assert ingest_issues(store, embedder, [issues]).known_failures == 1  # told by the ledger
    assert texts(store) == before
    assert ingest_issues(store, embedder, [issues, comments]).known_failures == 0
    # what came without comments is not held back by what nobody has
    issues = written(
        tmp_path, "issues.json", github.issue(2, comments=0), github.issue(3, comments=2, body="B.")
    )
    assert ingest_issues(store, embedder, [issues]).documents_changed == 2
    assert texts(store) == {"issues/2": "@octocat: Trouble 2.", "issues/3": "@octocat: B."}


def test_a_whole_export_takes_out_deleted_comments(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    issues = written(tmp_path, "issues.json", github.issue(2, comments=1))
    comments = written(tmp_path, "comments.json", github.issue_comment(300, 2))
    ingest_issues(store, embedder, [issues, comments])
    assert ingest_issues(store, embedder, [issues], prune=True).documents_changed == 1
    assert texts(store) == {"issues/2": "@octocat: Trouble 2."}


def test_an_export_of_a_part_of_a_thread_leaves_the_one_that_has_more(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    thread = [github.comment(5), github.comment(6, reply_to=5)]
    pull = written(tmp_path, "pulls.json", github.issue(1, pull=True))
    whole = written(tmp_path, "comments.json", *thread)
    ingest_reviews(store, embedder, [whole, pull])
    before = texts(store)
    for files, why in (
        ([written(tmp_path, "first.json", thread[0]), pull], "1 of its 2 stored comments"),
        ([whole], "do not have its pull request, whose title"),
    ):
        report = ingest_reviews(store, embedder, files)
        assert (report.ok, report.documents_changed) == (True, 0)
        assert why in str(report.skipped[0])
        assert texts(store) == before
    more = written(tmp_path, "more.json", *thread, github.comment(7, reply_to=5))
    assert ingest_reviews(store, embedder, [more, pull]).documents_changed == 1
    assert ingest_reviews(store, embedder, [whole, pull], prune=True).documents_changed == 1
    assert texts(store) == before


def test_findings_come_from_a_file(store: Store, embedder: Any, tmp_path: Path) -> None:
    file = tmp_path / "findings.jsonl"
    finding = {"file_path": "src/a.py", "finding": "Fork first.", "outcome": "fixed"}
    file.write_text(json.dumps(finding))
    assert ingest_memory(store, embedder, file, repo="org/app").ok
    assert collection_info(store).repos == {"memory": {"org/app": 1}}
    assert list(texts(store).values()) == ["Fork first."]
