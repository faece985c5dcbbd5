"""Real files, a real git, and the watcher in a thread of its own."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ingested import git, texts

from dataflow.ingestion.run import IngestReport
from dataflow.ingestion.vectors import Embedded
from dataflow.ingestion.watch import watch
from operators.errors import CrosscorpusError
from operators.postgres.inspect.verify import verify
from operators.postgres.store import Store, collection_info
from operators.sources.folder import folder_source
from operators.sources.git.git_source import git_source

Watch = Callable[..., "Watched"]
SECONDS = 30.0


class Watched:
    """A watcher that runs, and what it told."""

    def __init__(self, store: Store, embedder: Any, path: Path, source: Any, **options: Any):
        self.store, self.told, self.stop = store, list[Any](), threading.Event()
        work = partial(watch, store, embedder, path, source, on_change=self.told.append)
        self.thread = threading.Thread(target=work, kwargs={"stop": self.stop, **options})
        self.thread.start()

    def end(self) -> None:
        self.stop.set()
        self.thread.join(SECONDS)
        assert not self.thread.is_alive()

    def until(self, condition: Callable[[], Any]) -> None:
        ends = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < ends, (self.told, texts(self.store))
            time.sleep(0.05)

    def has(self, **wanted: str | None) -> None:
        """Wait until the documents say this (None: are gone), and every chunk has its vector."""
        self.until(lambda: {name: texts(self.store).get(name) for name in wanted} == wanted)
        self.until(lambda: self.store.forget_info() or not collection_info(self.store).unembedded)


@pytest.fixture
def watched(store: Store, embedder: Any) -> Iterator[Watch]:
    begun: list[Watched] = []

    def begin(path: Path, source: Any, **options: Any) -> Watched:
        begun.append(Watched(store, embedder, path, source, **options))
        return begun[-1]

    yield begin
    for one in begun:
        one.end()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "app"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for n in range(4):
        (root / f"page{n}.md").write_text(f"page {n} of the first branch\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "First")
    return root


def names(store: Store) -> set[str]:
    return {name for name in texts(store) if name.endswith(".md")}


def test_what_is_saved_or_deleted_in_a_folder_is_read_again(
    tmp_path: Path, watched: Watch, store: Store
) -> None:
    root = tmp_path / "handbook"
    root.mkdir()
    (root / "a.md").write_text("alpha says this")
    one = watched(root, lambda: folder_source(root, "docs", "team"))
    one.has(**{"a.md": "alpha says this"})
    (root / "a.md").write_text("alpha says that")
    one.has(**{"a.md": "alpha says that"})
    for n in range(5):
        (root / f"b{n}.md").write_text(f"beta {n}")
    one.has(**{f"b{n}.md": f"beta {n}" for n in range(5)})
    (root / "b1.md").unlink()
    one.has(**{"b1.md": None})
    one.end()
    assert names(store) == {"a.md", "b0.md", "b2.md", "b3.md", "b4.md"}
    assert verify(store).is_empty()


def test_a_tree_follows_its_branches_and_embeds_nothing_twice(
    tree: Path, watched: Watch, store: Store, embedder: Any
) -> None:
    one = watched(tree, lambda: git_source(tree, "org/app"), allow_mass_delete=True)
    one.has(**{f"page{n}.md": f"page {n} of the first branch\n" for n in range(4)})
    git(tree, "checkout", "-q", "-b", "other")
    for n in range(4):
        (tree / f"page{n}.md").unlink()
        (tree / f"more{n}.md").write_text(f"more {n} of the other branch\n")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "Other")
    one.has(**{"page0.md": None, "more3.md": "more 3 of the other branch\n"})
    made = len(embedder.embedded)
    git(tree, "checkout", "-q", "main")
    one.has(**{"page0.md": "page 0 of the first branch\n", "more3.md": None})
    git(tree, "gc", "-q", "--prune=now")
    git(tree, "checkout", "-q", "other")
    one.has(**{"page0.md": None, "more0.md": "more 0 of the other branch\n"})
    git(tree, "rebase", "-q", "main")
    git(tree, "checkout", "-q", "main~0")
    one.has(**{"more0.md": None, "page1.md": "page 1 of the first branch\n"})
    one.end()
    assert len(embedder.embedded) == made
    assert names(store) == {f"page{n}.md" for n in range(4)}
    assert verify(store).is_empty()


def test_a_folder_that_vanishes_is_told_once_and_read_again_when_it_is_back(
    tree: Path, watched: Watch, store: Store, tmp_path: Path
) -> None:
    one = watched(tree, lambda: git_source(tree, "org/app"), allow_mass_delete=True)
    one.has(**{"page3.md": "page 3 of the first branch\n"})
    shutil.move(tree, tmp_path / "elsewhere")
    one.until(lambda: any(isinstance(told, CrosscorpusError) for told in one.told))
    assert names(store) == {f"page{n}.md" for n in range(4)}
    (tmp_path / "elsewhere" / "page0.md").write_text("page 0 came back otherwise\n")
    shutil.move(tmp_path / "elsewhere", tree)
    one.has(**{"page0.md": "page 0 came back otherwise\n"})
    (tree / "page1.md").write_text("and is watched again\n")
    one.has(**{"page1.md": "and is watched again\n"})
    assert sum(isinstance(told, Exception) for told in one.told) == 1


def test_a_commit_in_a_linked_worktree_is_read_though_no_file_changed(
    tree: Path, tmp_path: Path, watched: Watch, store: Store
) -> None:
    linked = tmp_path / "linked"
    git(tree, "worktree", "add", "-q", "-b", "side", str(linked))
    one = watched(linked, lambda: git_source(linked, "org/app"))
    one.has(**{"page3.md": "page 3 of the first branch\n"})
    time.sleep(1)
    git(linked, "commit", "-q", "--allow-empty", "-m", "Zanzibar")
    one.until(lambda: any("Zanzibar" in text for text in texts(store, "history").values()))
    time.sleep(1.5)
    said = len(one.told)
    git(linked, "status")
    time.sleep(1.5)
    assert len(one.told) == said


def test_two_watchers_of_one_tree_take_turns(tree: Path, watched: Watch, store: Store) -> None:
    both = [watched(tree, lambda: git_source(tree, "org/app")) for _ in range(2)]
    for n in range(3):
        (tree / "page0.md").write_text(f"edit {n}\n")
        for one in both:
            one.has(**{"page0.md": f"edit {n}\n"})
    for one in both:
        one.end()
    assert not [told for one in both for told in one.told if isinstance(told, Exception)]
    assert verify(store).is_empty()


def test_it_tells_the_first_reading_then_only_what_changed(
    tree: Path, watched: Watch, store: Store
) -> None:
    one = watched(tree, lambda: git_source(tree, "org/app"))
    one.has(**{"page3.md": "page 3 of the first branch\n"})
    one.until(lambda: len(one.told) == 2)
    first, vectors = one.told
    assert isinstance(first, IngestReport)
    assert isinstance(vectors, Embedded)
    assert (first.documents_new, vectors.left) == (5, 0)
    (tree / "page0.md").touch()
    time.sleep(1.5)
    assert len(one.told) == 2
