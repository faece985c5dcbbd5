"""The commands as a user runs them, against a GitHub on this machine."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TOKEN = "ghp_" + "s3cret" * 6
SHAPES = Path(__file__).parents[2] / "operators" / "sources"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"crosscorpus_cli_{name}", SHAPES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


github = _load("github_shapes")
served = _load("github_server")


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with served.serving(served.GitHub()) as state:
        state.put("issues", github.issue(1, pull=True), github.issue(2, state="closed"))
        state.put("comments", github.comment(100), github.comment(101, reply_to=100))
        yield state


@pytest.fixture(scope="module")
def run(crosscorpus: Any, server: Any) -> Any:
    forge = {"GITHUB_API_URL": server.url, "GITHUB_TOKEN": TOKEN}
    return lambda *arguments: crosscorpus(*arguments, "-C", "cli-sync", **forge)


def test_a_repository_is_fetched_and_tells_how_far_it_is(run: Any, server: Any) -> None:
    done = run("sync", "github", "org/app", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["documents_new"] == 2
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


def test_exports_and_findings_are_read_from_files(run: Any, tmp_path: Path) -> None:
    comments, issues = tmp_path / "comments.json", tmp_path / "issues.json"
    comments.write_text(json.dumps([github.comment(500)]) + json.dumps([github.comment(501)]))
    issues.write_text(json.dumps([github.issue(7)]))
    findings = tmp_path / "findings.jsonl"
    findings.write_text('{"file_path": "a.py", "finding": "Fork first."}\n{"finding": 1}\n')
    done = run("ingest", "reviews", str(comments), "--repo", "org/b")
    assert done.returncode == 0, done.stderr
    assert "2 new, 0 changed" in done.stdout
    assert run("ingest", "issues", str(issues)).returncode == 0
    done = run("ingest", "memory", str(findings), "--repo", "org/b")
    assert done.returncode == 3
    assert "findings.jsonl: line 2: file_path is missing" in done.stdout
