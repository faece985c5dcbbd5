from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dataflow.ingestion import ingest_documents, ingest_git
from operators.postgres.store import Store, collection_info

Write = Callable[..., Path]
Read = Callable[[Store], dict[str, Any]]


def texts(store: Store, corpus: str = "docs") -> dict[str, str]:
    """document_id -> its chunks' text, joined."""
    with store.transaction() as conn:
        rows = conn.execute(
            "SELECT document_id, string_agg(text, '' ORDER BY ordinal) FROM chunks"
            " WHERE corpus = %s GROUP BY document_id",
            (corpus,),
        )
        return {str(name): str(text) for name, text in rows}


def git(path: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Ann", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=path, check=True, capture_output=True)


def commit(path: Path, message: str, files: dict[str, str | None]) -> None:
    for name, text in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            file.unlink()
        else:
            file.write_text(text)
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", message)


def commit_of(path: Path) -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=path, check=True, capture_output=True)
    return done.stdout.decode().strip()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "app"
    path.mkdir()
    git(path, "init", "-q")
    git(path, "remote", "add", "origin", "https://github.com/org/app.git")
    files = {f"src/m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(6)}
    commit(path, "First", files | {"README.md": "# App\n\nHello.\n"})
    return path


def test_a_working_tree_fills_three_corpora_and_twice_changes_nothing(
    store: Store, embedder: Any, tree: Path, row_versions: Read
) -> None:
    report = ingest_git(store, embedder, tree)
    assert report.ok
    assert collection_info(store).repos == {
        "code": {"org/app": 6}, "docs": {"org/app": 1}, "history": {"org/app": 1},
    }  # fmt: skip
    before = row_versions(store)
    embedder.counted = 0
    report = ingest_git(store, embedder, tree)
    assert (report.documents_unchanged, report.chunks, embedder.counted) == (8, 0, 0)
    assert row_versions(store) == before


def test_edits_renames_and_deletions_follow(
    new_store: Callable[[], Store], embedder: Any, tree: Path, contents: Read
) -> None:
    store = new_store()
    ingest_git(store, embedder, tree)
    commit(
        tree, "Second",
        {"src/m0.py": "def g():\n    return 0\n", "src/m1.py": None, "new.py": "x = 1\n"},
    )  # fmt: skip
    report = ingest_git(store, embedder, tree)
    assert report.ok
    assert (report.documents_new, report.documents_changed, report.documents_deleted) == (2, 1, 1)
    fresh = new_store()
    ingest_git(fresh, embedder, tree)
    here, there = contents(store), contents(fresh)
    assert set(here.pop("embedding_cache")) >= set(there.pop("embedding_cache"))
    assert here == there


def test_a_tree_whose_files_are_gone_deletes_nothing(
    store: Store, embedder: Any, tree: Path
) -> None:
    ingest_git(store, embedder, tree)
    for file in (tree / "src").iterdir():
        file.unlink()
    report = ingest_git(store, embedder, tree)
    assert not report.ok
    assert "6 of 6 documents are gone" in str(report.failed[0])
    assert len(texts(store, "code")) == 6


def test_what_is_excluded_goes_however_much_it_is_and_what_else_is_gone_is_asked_about(
    store: Store, embedder: Any, tree: Path
) -> None:
    ingest_git(store, embedder, tree)
    (tree / "src/m0.py").unlink()
    (tree / "src/m5.py").unlink()
    report = ingest_git(store, embedder, tree, exclude=["src/m[0-3].py"])
    assert report.documents_deleted == 4
    assert ["1 of 2 documents are gone" in str(fault) for fault in report.failed] == [True]
    assert set(texts(store, "code")) == {"src/m4.py", "src/m5.py"}
    report = ingest_git(store, embedder, tree, exclude=["src"])
    assert (report.ok, report.documents_deleted) == (True, 2)
    assert (texts(store, "code"), set(texts(store, "history"))) == ({}, {commit_of(tree)})


def test_what_another_reader_brought_into_the_same_repo_stays(
    store: Store, embedder: Any, tree: Path, write_lines: Write
) -> None:
    other = {"corpus": "docs", "repo": "org/app", "text": "other words"}
    file = write_lines({"doc_id": "d001", **other}, {"doc_id": "d002", **other})
    ingest_documents(store, embedder, file)
    assert ingest_git(store, embedder, tree).documents_deleted == 0
    assert set(texts(store)) == {"d001", "d002", "README.md"}
    ingest_documents(store, embedder, file, prune=True)
    assert set(texts(store)) == {"d001", "d002", "README.md"}


def test_a_file_that_became_binary_leaves_the_store(
    store: Store, embedder: Any, tree: Path
) -> None:
    ingest_git(store, embedder, tree)
    (tree / "src" / "m2.py").write_bytes(b"\0\1")
    report = ingest_git(store, embedder, tree)
    assert report.ok
    assert [str(fault) for fault in report.skipped] == ["src/m2.py: binary"]
    assert "src/m2.py" not in texts(store, "code")


def test_metadata_reaches_the_chunks(store: Store, embedder: Any, tree: Path) -> None:
    ingest_git(store, embedder, tree)
    with store.transaction() as conn:
        row = conn.execute("SELECT title, uri, metadata FROM chunks WHERE corpus = 'history'")
        title, uri, metadata = row.fetchone() or ("", "", "{}")
    assert title == "First"
    assert uri == "https://github.com/org/app/commit/" + json.loads(metadata)["commit"]


def test_stopped_among_the_commits_or_the_files_it_goes_on_to_the_same_end(
    new_store: Callable[[], Store], embedder: Any, tree: Path
) -> None:
    for number in range(5):
        commit(tree, f"Change {number}", {f"src/m{number}.py": f"x = {number}\n"})
    whole, halting = new_store(), new_store()
    ingest_git(whole, embedder, tree)
    runs, stopped = 0, True
    while stopped:
        report = ingest_git(halting, embedder, tree, batch_documents=2, stop_after_s=0)
        assert report.ok
        runs, stopped = runs + 1, report.stopped_at is not None
    assert runs == 7  # 6 commits and 7 files by two
    for corpus in ("code", "history", "docs"):
        assert texts(halting, corpus) == texts(whole, corpus)
