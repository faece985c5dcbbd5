"""What git knows to be gone is deleted, however much it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ingested import git
from ingesting import ingest_git, ingest_wiki

from dataflow.driver.retrieval_driver import build_driver
from operators.postgres.inspect.verify import verify
from operators.postgres.store import Store


def files(root: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def committed(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository of three modules and three pages."""
    root = tmp_path / "tree"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for n in range(3):
        files(root, **{f"src/m{n}.py": f"puffin_{n} = {n}\n", f"docs/p{n}.md": f"# Puffin {n}\n"})
    committed(root, "Start")
    return root


def paths(store: Store, *corpora: str) -> set[str]:
    rows = store.rows(
        "SELECT document_id FROM documents WHERE corpus = ANY(%s)", (list(corpora or _FILES),)
    )
    return {row[0] for row in rows}


def titles(store: Store) -> set[str]:
    rows = store.rows("SELECT title FROM chunks WHERE corpus = 'history'")
    return {row[0] for row in rows}


_FILES = ("code", "docs")


def test_every_folder_is_renamed_and_only_the_new_paths_answer(
    store: Store, embedder: Any, tree: Path
) -> None:
    ingest_git(store, embedder, tree)
    git(tree, "mv", "src", "packages")
    git(tree, "mv", "docs", "handbook")
    for commit in (False, True):  # the index knows it first, then the history
        if commit:
            git(tree, "commit", "-qm", "Move both")
        report = ingest_git(store, embedder, tree)
        assert report.ok
        assert report.documents_deleted == 6 * (not commit)
        assert paths(store) == {f"packages/m{n}.py" for n in range(3)} | {
            f"handbook/p{n}.md" for n in range(3)
        }
    with build_driver("default", store=store, embedder=embedder) as driver:
        found = driver.execute(["results", "notes"], inputs={"query": "Puffin 1"})
    assert "handbook/p1.md" in found["results"]["path"].to_list()
    assert not any("gone" in note for note in found["notes"]["note"])
    assert verify(store).is_empty()


def test_one_of_three_pages_is_renamed(store: Store, embedder: Any, tree: Path) -> None:
    ingest_git(store, embedder, tree)
    git(tree, "mv", "docs/p0.md", "docs/z.md")
    git(tree, "commit", "-qm", "Rename")
    assert ingest_git(store, embedder, tree).ok
    assert paths(store, "docs") == {"docs/z.md", "docs/p1.md", "docs/p2.md"}


def test_an_orphan_branch_replaces_everything_and_so_does_the_way_back(
    store: Store, embedder: Any, tree: Path
) -> None:
    ingest_git(store, embedder, tree)
    before = paths(store)
    git(tree, "checkout", "-q", "--orphan", "pages")
    git(tree, "rm", "-rqf", ".")
    files(tree, **{"index.md": "# Capybara\n"})
    committed(tree, "Publish")
    assert ingest_git(store, embedder, tree).ok
    assert (paths(store), titles(store)) == ({"index.md"}, {"Publish"})
    git(tree, "checkout", "-q", "main")
    assert ingest_git(store, embedder, tree).ok
    assert (paths(store), titles(store)) == (before, {"Start"})
    assert verify(store).is_empty()


def test_after_the_way_back_from_a_branch_its_commit_and_its_files_are_gone(
    store: Store, embedder: Any, tree: Path
) -> None:
    git(tree, "checkout", "-qb", "side")
    files(tree, **{f"more/{n}.md": f"# More {n}\n" for n in range(9)})
    committed(tree, "Side")
    ingest_git(store, embedder, tree)
    git(tree, "checkout", "-q", "main")
    assert ingest_git(store, embedder, tree).ok
    assert titles(store) == {"Start"}
    assert not any(path.startswith("more") for path in paths(store))


def test_files_that_leave_by_gitignore_are_gone_though_they_are_on_the_disk(
    store: Store, embedder: Any, tree: Path
) -> None:
    ingest_git(store, embedder, tree)
    files(tree, **{".gitignore": "docs/\n"})
    git(tree, "rm", "-rq", "--cached", "docs")
    committed(tree, "Ignore the pages")
    assert ingest_git(store, embedder, tree).ok
    assert (tree / "docs" / "p0.md").exists()
    assert paths(store, "docs") == set()


@pytest.mark.parametrize("corpora", [None, ["docs"]])
def test_all_files_of_a_corpus_are_removed(
    corpora: list[str] | None, store: Store, embedder: Any, tree: Path
) -> None:
    ingest_git(store, embedder, tree)
    git(tree, "rm", "-rq", "docs")
    git(tree, "commit", "-qm", "No pages")
    assert ingest_git(store, embedder, tree, corpora=corpora).ok
    assert paths(store) == {f"src/m{n}.py" for n in range(3)}


def test_a_folder_becomes_a_submodule_and_the_submodule_goes(
    store: Store, embedder: Any, tree: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    git(tree, "clone", "-q", str(tree), str(other))
    ingest_git(store, embedder, tree)
    git(tree, "rm", "-rq", "docs")
    git(tree, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "docs")
    committed(tree, "The pages are elsewhere")
    assert ingest_git(store, embedder, tree).ok
    assert paths(store, "docs") == set()
    git(tree, "rm", "-qf", "docs")
    committed(tree, "No pages")
    report = ingest_git(store, embedder, tree)
    assert report.ok
    assert paths(store) == {f"src/m{n}.py" for n in range(3)}


def test_a_tree_without_an_index_does_not_know_what_is_gone(
    store: Store, embedder: Any, tree: Path
) -> None:
    ingest_git(store, embedder, tree)
    before = paths(store)
    (tree / ".git" / "index").unlink()
    assert not ingest_git(store, embedder, tree).ok
    assert paths(store) == before


def test_the_pages_of_a_cloned_wiki_are_renamed(store: Store, embedder: Any, tree: Path) -> None:
    ingest_wiki(store, embedder, tree)
    git(tree, "mv", "docs", "handbook")
    assert ingest_wiki(store, embedder, tree).ok
    assert paths(store, "wiki") == {f"handbook/p{n}.md" for n in range(3)}
