"""Real files, a real git, and the watcher in a thread of its own."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ingested import commit, git, texts

from dataflow.ingestion.watch import watch, watched_folder
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
    commit(root, "First", {f"page{n}.md": f"page {n} of the first branch\n" for n in range(4)})
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
    commit(tree, "Other")
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


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    root = tmp_path / "of" / "handbook"
    root.mkdir(parents=True)
    (root / "a.md").write_text("alpha says this")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("nobody asked for this")
    return root


def errors(one: Watched) -> list[str]:
    return [str(told) for told in one.told if isinstance(told, Exception)]


def test_a_folder_that_a_link_replaces_is_not_read_until_it_is_back(
    handbook: Path, tmp_path: Path, watched: Watch, store: Store
) -> None:
    """The link is in the place of the folder that it is in."""
    one = watched(handbook, lambda: folder_source(handbook, "docs", "team"), allow_mass_delete=True)
    one.has(**{"a.md": "alpha says this"})
    place = handbook.parent
    shutil.copytree(tmp_path / "outside", tmp_path / "outside" / "handbook")
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "outside")
    one.until(lambda: errors(one))
    time.sleep(1)
    assert texts(store) == {"a.md": "alpha says this"}
    place.unlink()
    (tmp_path / "elsewhere").rename(place)
    (handbook / "a.md").write_text("alpha is back")
    one.has(**{"a.md": "alpha is back"})
    (handbook / "b.md").write_text("and is watched again")
    one.has(**{"b.md": "and is watched again"})
    one.end()
    assert "nothing is read: put back" in errors(one)[-1]
    assert texts(store).keys() == {"a.md", "b.md"}


def test_a_link_that_is_watched_and_leads_elsewhere_later_is_not_followed(
    handbook: Path, tmp_path: Path, watched: Watch, store: Store
) -> None:
    link = tmp_path / "link"
    link.symlink_to(handbook)
    one = watched(link, lambda: folder_source(link, "docs", "team"), allow_mass_delete=True)
    one.has(**{"a.md": "alpha says this"})
    (tmp_path / "new").symlink_to(tmp_path / "outside")
    (tmp_path / "new").rename(link)
    one.until(lambda: errors(one))
    time.sleep(1)
    assert texts(store) == {"a.md": "alpha says this"}
    assert f"leads to {tmp_path / 'outside'} now" in errors(one)[-1]


def test_a_folder_that_its_owner_makes_anew_is_read_and_watched(
    handbook: Path, watched: Watch
) -> None:
    one = watched(handbook, lambda: folder_source(handbook, "docs", "team"), allow_mass_delete=True)
    one.has(**{"a.md": "alpha says this"})
    new = handbook.with_name("new")
    new.mkdir()
    (new / "b.md").write_text("beta says this")
    handbook.rename(handbook.with_name("old"))
    new.rename(handbook)
    one.has(**{"a.md": None, "b.md": "beta says this"})
    (handbook / "b.md").write_text("beta says that")
    one.has(**{"b.md": "beta says that"})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another user")
def test_a_folder_of_another_owner_is_not_read(
    handbook: Path, tmp_path: Path, watched: Watch, store: Store
) -> None:
    one = watched(handbook, lambda: folder_source(handbook, "docs", "team"), allow_mass_delete=True)
    one.has(**{"a.md": "alpha says this"})
    os.chown(tmp_path / "outside", 65534, 65534)
    handbook.rename(handbook.with_name("old"))
    (tmp_path / "outside").rename(handbook)
    one.until(lambda: any("is a folder of another user now" in said for said in errors(one)))
    assert texts(store) == {"a.md": "alpha says this"}


def test_a_folder_that_is_replaced_while_it_is_read_gives_nothing_more(
    handbook: Path, tmp_path: Path
) -> None:
    (handbook / "b.md").write_text("beta says this")
    source = watched_folder(handbook).within(lambda: folder_source(handbook, base_url="x"))
    assert source.choosing
    for each in (source, source.choosing({"base_url": "y", "also": ""})):
        items = each.scan()
        next(items)
        handbook.rename(tmp_path / "elsewhere")
        handbook.symlink_to(tmp_path / "outside")
        with pytest.raises(CrosscorpusError, match="was replaced while it was read"):
            next(items)
        handbook.unlink()
        (tmp_path / "elsewhere").rename(handbook)


def test_a_folder_that_is_not_there_and_one_whose_path_is_not_utf8_are_refused(
    tmp_path: Path, store: Store, embedder: Any
) -> None:
    named = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    named.mkdir()
    for path, why in (
        (named, r"%FF: .* is not UTF-8.* make a link"),
        (tmp_path / "late", "does not exist; is it mounted"),
    ):
        with pytest.raises(CrosscorpusError, match=why):
            watch(
                store, embedder, path, partial(folder_source, path),
                on_change=print, stop=threading.Event(),
            )  # fmt: skip
