"""The context for a change under review, over a real repository with reviews and pages."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ingested import commit, git

from dataflow import build_driver
from dataflow.review.graph import build_review_graph, review
from operators.errors import CrosscorpusError, UnknownName
from operators.frames import SHOWN, empty
from operators.postgres.store import drop_collection

NAME = "review-tests"

CACHE = '''"""A cache of pages."""


class PageCache:
    """Keeps pages that were asked for."""

    def __init__(self, disk):
        self.disk = disk
        self.dirty = {}

    def store_page(self, number, data):
        """Keep a page until it is flushed."""
        self.dirty[number] = data

    def flush_pages(self):
        """Write every dirty page to the disk."""
        for number, data in self.dirty.items():
            self.disk.write(number, data)
        self.dirty.clear()
'''
SERVER = '''"""The server's main loop."""

from cache import PageCache


def shut_down(cache: PageCache) -> None:
    """Stop taking questions."""
    cache.flush_pages()
    print("down")
'''
LOCKS = '''"""Locks that several servers share."""


def exclusive_lock(name):
    """Wait until nobody else holds the lock, and hold it."""
    return open(f"/run/{name}", "x")
'''
TEST = """from cache import PageCache


def test_flushed_pages_are_on_the_disk(disk):
    cache = PageCache(disk)
    cache.store_page(7, b"seven")
    cache.flush_pages()
    assert disk.read(7) == b"seven"
"""
FILES = {
    "src/cache.py": CACHE,
    "src/server.py": SERVER,
    "src/locks.py": LOCKS,
    "tests/test_cache.py": TEST,
    "docs/operations.md": "# Operations\n\nA server flushes its pages to the disk when it stops.\n",
}
CHANGED = CACHE.replace(
    "        for number, data in self.dirty.items():\n",
    '        with exclusive_lock("flush"):\n            pages = dict(self.dirty)\n'
    "        for number, data in pages.items():\n",
)
SAID = "Flush pages under a lock\n\nTwo servers wrote one page at once."


def remark(number: int, body: str, made: str, line: int) -> dict[str, Any]:
    page = f"https://github.com/org/app/pull/3#discussion_r{number}"
    return {
        **{"id": number, "path": "src/cache.py", "line": line, "original_line": line},
        **{"diff_hunk": "@@ -15,3 +15,3 @@\n     def flush_pages(self):", "body": body},
        **{"user": {"login": "ann", "type": "User"}, "created_at": made, "updated_at": made},
        **{"html_url": page, "pull_request_url": "https://api.github.com/repos/org/app/pulls/3"},
    }


@dataclass(frozen=True)
class App:
    """A repository, the ids of its commits, and the command that reviews it."""

    folder: Path
    base: str
    head: str
    run: Callable[..., subprocess.CompletedProcess[str]]

    def reviewed(self, *options: str) -> dict[str, Any]:
        done = self.run("review", *options, "-C", NAME, "--json")
        assert done.returncode == 0, done.stderr
        out: dict[str, Any] = json.loads(done.stdout)
        return out

    def of_range(self, *options: str) -> dict[str, Any]:
        return self.reviewed(f"{self.base}..{self.head}", "--git", str(self.folder), *options)


def said_by(folder: Path, *command: str) -> str:
    done = subprocess.run(["git", *command], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def app(
    crosscorpus: Any, server_dsn: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("reviewed") / "app"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "-q")
    git(folder, "add", "src/locks.py", "src/server.py")
    git(folder, "commit", "-qm", "Begin with a server and its locks")
    commit(folder, "Keep pages until they are flushed")
    base = said_by(folder, "rev-parse", "HEAD").strip()
    remarks = folder.parent / "reviews.json"
    lose = "Flushing must not lose a page that is stored meanwhile."
    said = [
        remark(11, lose, "2020-01-01T00:00:00Z", 17),
        remark(12, "A flush from the future.", "2099-01-01T00:00:00Z", 17),
    ]
    remarks.write_text(json.dumps(said))
    for command in (
        ["ingest", "git", str(folder), "--repo", "org/app"],
        ["ingest", "records", str(remarks), "--map", "github", "--repo", "org/app"],
    ):
        done = crosscorpus(*command, "-C", NAME)
        assert done.returncode == 0, done.stderr
    (folder / "src/cache.py").write_text(CHANGED)
    git(folder, "commit", "-qam", SAID)
    yield App(folder, base, said_by(folder, "rev-parse", "HEAD").strip(), crosscorpus)
    drop_collection(server_dsn, NAME)


def labels(out: dict[str, Any], section: str) -> list[str]:
    return [one["source_label"] for one in out["entries"] if one["section"] == section]


def test_a_reviewer_is_told_what_the_diff_does_not_show(app: App) -> None:
    out = app.of_range()
    assert out["changed"] == ["flush_pages"]
    assert "exclusive_lock" in out["used"]
    assert labels(out, "definition")[0].startswith(
        "[code: src/locks.py:4-6 exclusive_lock; defines"
    )
    (caller,) = labels(out, "caller")
    assert caller.startswith("[code: src/server.py:6-9 shut_down; uses flush_pages")
    assert labels(out, "test")[0].startswith("[code: tests/test_cache.py:")
    assert "tests flush_pages" in labels(out, "test")[0]
    (commit,) = labels(out, "commit")
    assert "Keep pages until they are flushed (" in commit
    assert commit.endswith("; made lines that change]")
    assert "docs/operations.md" in labels(out, "page")[0]
    assert "cache.flush_pages()" in out["context"]
    assert out["commit"] == app.base
    assert not [one for one in out["entries"] if one["source_label"].startswith("[code: src/cache")]


def test_the_rest_of_the_function_that_changes_is_shown_and_not_what_the_diff_shows(
    app: App, server_dsn: str
) -> None:
    patch = said_by(app.folder, "diff", "-U0", app.base, app.head).encode()
    with build_driver("default", NAME, dsn=server_dsn) as driver:
        given = {"patch": patch, "retrieval": driver}
        none = {"found": empty(SHOWN)}
        out = build_review_graph().execute(["evidence", "packed"], inputs=given, overrides=none)
    assert out["evidence"]["section"].to_list() == ["around"]
    (label,) = out["evidence"]["source_label"]
    assert label.startswith("[code: src/cache.py:15-19 ")
    assert label.endswith("; around lines that change]")
    lines = out["evidence"]["text"][0].split("\n")
    assert (lines[0], lines[-1]) == ("    def flush_pages(self):", "        self.dirty.clear()")
    assert out["packed"].height == 1
    assert not [line for line in lines if "for number, data" in line]


def test_a_remark_on_the_lines_is_shown_and_nothing_newer_than_the_base(app: App) -> None:
    out = app.of_range()
    (said,) = labels(out, "remark")
    assert said.endswith("a remark on these lines]")
    assert "must not lose a page" in out["context"]
    assert "from the future" not in json.dumps(out)


def test_the_change_itself_is_not_repeated(app: App) -> None:
    done = app.run("ingest", "git", str(app.folder), "--repo", "org/app", "-C", NAME)
    assert done.returncode == 0, done.stderr
    out = app.of_range()
    assert "Two servers wrote" not in json.dumps(out["entries"])
    assert out["notes"] == [
        f"code and pages are those of the commit {app.head[:12]}, not those of the base"
        f" {app.base[:12]}"
    ]
    git(app.folder, "checkout", "-q", app.base)
    app.run("ingest", "git", str(app.folder), "--repo", "org/app", "-C", NAME)
    git(app.folder, "checkout", "-q", app.head)


def test_a_patch_is_reviewed_as_its_range_is(app: App, tmp_path: Path) -> None:
    file = tmp_path / "change.patch"
    file.write_text(said_by(app.folder, "format-patch", "--stdout", f"{app.base}..{app.head}"))
    title = said_by(app.folder, "log", "-1", "--format=%s", app.head).strip()
    out = app.reviewed(str(file), "--title", title)
    assert out["changed"] == ["flush_pages"]
    assert labels(out, "caller")
    assert labels(out, "definition")
    assert labels(out, "commit")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("nowhere..HEAD", "has no commit 'nowhere'"),
        ("no-such-file.patch", "does not exist; give a file with a diff, or BASE..HEAD"),
    ],
)
def test_what_is_no_change_is_said_in_one_line(app: App, change: str, says: str) -> None:
    done = app.run("review", change, "--git", str(app.folder), "-C", NAME)
    assert done.returncode == 1
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_base_that_the_collection_has_not_seen_is_refused(app: App) -> None:
    git(app.folder, "checkout", "-q", "--detach", app.head)
    git(app.folder, "commit", "-q", "--allow-empty", "-m", "Unseen")
    unseen = said_by(app.folder, "rev-parse", "HEAD").strip()
    (app.folder / "src/cache.py").write_text(CACHE)
    git(app.folder, "commit", "-qam", "Back")
    done = app.run("review", f"{unseen}..HEAD", "--git", str(app.folder), "-C", NAME)
    git(app.folder, "checkout", "-q", app.head)
    assert done.returncode == 1
    assert f"has not seen the commit {unseen[:12]} of org/app" in done.stderr


def test_a_merge_without_a_text_of_its_own_may_be_the_base(app: App, tmp_path: Path) -> None:
    for step in (
        f"clone -q {app.folder} .", f"checkout -qb side {app.base}", "commit -qm x --allow-empty",
        f"checkout -q {app.base}", "merge -q --no-ff side", "rm -q src/locks.py", "commit -qm y",
    ):  # fmt: skip
        git(tmp_path, *step.split())
    app.run("ingest", "git", str(tmp_path), "--wait", "words", "-C", "merged")
    done = app.run("review", "HEAD^..HEAD", "--git", str(tmp_path), "-C", "merged")
    assert (done.returncode, "has not seen" in done.stderr) == (0, False), done.stderr


def test_python_takes_a_diff_with_its_title_and_refuses_unknown_names(
    app: App, server_dsn: str
) -> None:
    patch = said_by(app.folder, "diff", app.base, app.head)
    with build_driver("default", NAME, dsn=server_dsn) as driver:
        found = review(driver, patch, title="Flush pages under a lock")
        assert found.changed == ("flush_pages",)
        assert set(found.frame["section"]) >= {"definition", "caller", "test", "page"}
        with pytest.raises(UnknownName, match=r"no repository 'org/ap' was read.*org/app"):
            review(driver, patch, repo="org/ap")
        with pytest.raises(UnknownName, match="unknown option 'tokens'"):
            review(driver, patch, tokens=5)
        with pytest.raises(CrosscorpusError, match="the patch is empty"):
            review(driver, "")
