"""What git knows to be gone is deleted; of what may be gone and stays, every answer says so."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ingested import commit, git
from ingesting import ingest_folder, ingest_git

from dataflow.driver.retrieval_driver import build_driver
from dataflow.ingestion.removal import drop_documents
from operators.postgres.store import Store


def files(root: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository of three modules and three pages."""
    root = tmp_path / "tree"
    pages = {f"docs/p{n}.md": f"# Puffin {n}\n" for n in range(3)}
    commit(root, "Start", pages | {f"src/m{n}.py": f"puffin_{n} = {n}\n" for n in range(3)})
    return root


def paths(store: Store, *corpora: str) -> set[str]:
    rows = store.rows(
        "SELECT document_id FROM documents WHERE corpus = ANY(%s)", (list(corpora or _FILES),)
    )
    return {row[0] for row in rows}


_FILES = ("code", "docs")


def test_files_that_leave_by_gitignore_are_gone_though_they_are_on_the_disk(
    store: Store, embedder: Any, tree: Path
) -> None:
    ingest_git(store, embedder, tree)
    files(tree, **{".gitignore": "docs/\n"})
    git(tree, "rm", "-rq", "--cached", "docs")
    commit(tree, "Ignore the pages")
    assert ingest_git(store, embedder, tree).ok
    assert (tree / "docs" / "p0.md").exists()
    assert paths(store, "docs") == set()


@pytest.fixture
def said(store: Store, embedder: Any) -> Callable[..., list[str]]:
    """The notes of an answer about documents that may be gone."""

    def notes(**inputs: Any) -> list[str]:
        store.forget_info()
        with build_driver("default", store=store, embedder=embedder) as driver:
            answer = driver.execute(["notes"], inputs={"query": "puffin", **inputs})
        return [note for note in answer["notes"]["note"] if " gone" in note]

    return notes


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    """A folder of five pages."""
    root = tmp_path / "handbook"
    files(root, **{f"p{n}.md": f"# Puffin {n}\n" for n in range(5)})
    return root


def test_every_answer_names_the_option_that_deletes_what_was_too_much(
    store: Store, embedder: Any, handbook: Path, said: Callable[..., list[str]]
) -> None:
    ingest_folder(store, embedder, handbook)
    assert said() == []
    for n in range(2):
        (handbook / f"p{n}.md").unlink()
    for _ in range(2):
        assert not ingest_folder(store, embedder, handbook).ok
        (note,) = said()
        assert note == (
            "docs: 2 of 5 documents of handbook are gone from their source and still answer; to "
            "delete them, run its ingestion again with --allow-mass-delete"
        )
    assert said(only_corpora=["code"]) == []
    assert ingest_folder(store, embedder, handbook, allow_mass_delete=True).ok
    assert said() == []
    assert paths(store, "docs") == {"p2.md", "p3.md", "p4.md"}


def test_every_answer_says_that_a_mount_was_empty_until_it_is_back_or_dropped(
    store: Store, embedder: Any, handbook: Path, said: Callable[..., list[str]]
) -> None:
    ingest_folder(store, embedder, handbook)
    away = handbook.with_name("away")
    for back in (True, False):
        handbook.rename(away)
        handbook.mkdir()
        assert not ingest_folder(store, embedder, handbook, allow_mass_delete=True).ok
        (note,) = said()
        assert note == (
            "docs: 5 of 5 documents of handbook may be gone: their source was empty; if they are, "
            f"delete them: `crosscorpus drop -C {store.collection} --corpus docs --repo handbook`"
        )
        if back:
            shutil.rmtree(handbook)
            away.rename(handbook)
            assert ingest_folder(store, embedder, handbook).ok
        else:
            drop_documents(store, corpus="docs", repo="handbook")
        assert said() == []


def test_a_caller_who_sees_a_part_learns_no_name_and_no_number(
    store: Store, embedder: Any, handbook: Path
) -> None:
    ingest_folder(store, embedder, handbook)
    shutil.rmtree(handbook)
    handbook.mkdir()
    ingest_folder(store, embedder, handbook)
    store.forget_info()
    seen = store.showing({"docs": {"repos": ["org/app"]}})
    with build_driver("default", store=seen, embedder=embedder) as driver:
        answer = driver.execute(["notes"], inputs={"query": "puffin"})
    notes = [note for note in answer["notes"]["note"] if " gone" in note]
    assert notes == ["docs: some documents may be gone from their source"]


def test_a_record_that_no_run_wrote_brings_no_command_into_an_answer(
    store: Store, embedder: Any, handbook: Path, said: Callable[..., list[str]]
) -> None:
    ingest_folder(store, embedder, handbook)
    good = {"corpus": "docs", "repo": "r", "documents": 2, "of": 5, "why": "many"}
    values = [
        good | {"command": ["/there", "run", "this"]},
        *(good | {name: None} for name in good),
        [good],
    ]
    for number, value in enumerate(values):
        store.execute(
            "INSERT INTO sync_state VALUES ('undeleted', %s, %s)", (str(number), json.dumps(value))
        )
    assert said() == [
        "docs: 2 of 5 documents of r are gone from their source and still answer; to delete them, "
        "run its ingestion again with --allow-mass-delete"
    ]
