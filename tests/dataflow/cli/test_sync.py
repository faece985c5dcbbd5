"""crosscorpus sync github as a user runs it, against a GitHub on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import github_server
import github_shapes
import pytest

TOKEN = "ghp_" + "s3cret" * 6


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    issue, comment = github_shapes.issue, github_shapes.comment
    with github_server.serving(github_server.GitHub()) as state:
        state.put("issues", issue(1, pull=True), issue(2, state="closed"))
        state.put("comments", comment(100), comment(101, reply_to=100))
        yield state


@pytest.fixture(scope="module")
def run(crosscorpus: Any, server: Any) -> Any:
    forge = {"GITHUB_API_URL": server.url, "GITHUB_TOKEN": TOKEN}
    return lambda *arguments: crosscorpus(*arguments, "-C", "cli-sync", **forge)


def test_a_repository_is_fetched_and_tells_how_far_it_is(run: Any, server: Any) -> None:
    done = run("sync", "github", "org/app", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["documents_new"] == 3
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert [event["stage"] for event in events][:3] == ["fetch"] * 3
    assert events[0]["listing"] == "issues"
    assert TOKEN not in done.stdout + done.stderr
    assert server.requests[0][2]["Authorization"] == f"Bearer {TOKEN}"


def test_a_repository_that_is_not_there_is_one_line(run: Any) -> None:
    done = run("sync", "github", "org/none")
    assert (done.returncode, done.stdout) == (1, "")
    assert "repos/org/none is not there" in done.stderr
    assert done.stderr.count("\n") == 1
    assert TOKEN not in done.stderr


def test_rights_of_a_repository_go_with_an_option(run: Any, server: Any, crosscorpus: Any) -> None:
    server.seen = {"private": True}
    done = run("sync", "github", "org/app", "--rights")
    assert done.returncode == 0, done.stderr
    shown = json.loads(crosscorpus("rights", "show", "-C", "cli-sync", "--json").stdout)
    assert {tuple(one["allowed"]) for one in shown["sets"]} == {("github:org/app",)}
    server.seen = {}
    done = run("sync", "github", "org/app")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "--no-rights" in done.stderr
