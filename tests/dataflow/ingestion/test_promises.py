"""What a run leaves on record, and what no run deletes: for every kind of source."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dataflow.ingestion import ingest, ingest_folder, ingest_git
from operators.errors import CrosscorpusError
from operators.postgres.status import status
from operators.postgres.store import Store, collection_info
from operators.sources.items import Source


def git(path: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Ann", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=path, check=True, capture_output=True)


@pytest.fixture(params=["git", "folder"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Any]:
    """A folder of ten files, and how it is ingested."""
    path = tmp_path / "mount" / "app"
    path.mkdir(parents=True)
    for n in range(10):
        (path / f"page{n}.md").write_text(f"# Page {n}\n\nWords of page {n}.\n")
    if request.param == "git":
        git(path, "init", "-q")
        git(path, "add", ".")
        git(path, "commit", "-qm", "All")
        return path, ingest_git
    return path, ingest_folder


def documents(store: Store) -> int:
    with store.transaction() as conn:
        row = conn.execute("SELECT count(*) FROM documents WHERE corpus = 'docs'").fetchone()
    return int(row[0]) if row else 0


@pytest.mark.parametrize("what", ["empty", "gone"])
def test_a_source_that_is_not_mounted_deletes_nothing_whatever_is_allowed(
    what: str, store: Store, embedder: Any, source: tuple[Path, Any]
) -> None:
    path, run = source
    assert run(store, embedder, path).ok
    shutil.rmtree(path)
    if what == "empty":
        path.mkdir()
    try:
        report = run(store, embedder, path, allow_mass_delete=True)
    except CrosscorpusError:
        pass
    else:
        assert not report.ok
    assert documents(store) == 10


@pytest.mark.parametrize(("gone", "deleted"), [(3, 3), (4, 0)])
def test_more_than_thirty_percent_vanish_only_if_that_is_allowed(
    gone: int, deleted: int, store: Store, embedder: Any, source: tuple[Path, Any]
) -> None:
    path, run = source
    assert run(store, embedder, path).ok
    for n in range(gone):
        (path / f"page{n}.md").unlink()
    report = run(store, embedder, path)
    assert report.ok == (deleted == gone)
    assert report.documents_deleted == deleted
    assert documents(store) == 10 - deleted
    assert run(store, embedder, path, allow_mass_delete=True).ok
    assert documents(store) == 10 - gone


def test_an_empty_scan_deletes_nothing_even_if_its_reader_sees_no_fault(
    store: Store, embedder: Any, source: tuple[Path, Any]
) -> None:
    path, run = source
    assert run(store, embedder, path).ok
    [reader] = set(status(store)["last_run_source"])
    scopes = tuple(
        (corpus, repo) for corpus, of in collection_info(store).repos.items() for repo in of
    )
    nothing = Source(reader, lambda: iter(()), scopes, lambda: 1.0)
    report = ingest(store, embedder, nothing, allow_mass_delete=True)
    assert "the source is empty; none of its" in str(report.failed[0])
    assert documents(store) == 10


def test_a_run_is_on_record_with_what_it_did(
    store: Store, embedder: Any, source: tuple[Path, Any]
) -> None:
    path, run = source
    run(store, embedder, path)
    (path / "page1.md").write_text("# Page\n\nother words\n")
    report = run(store, embedder, path)
    with store.transaction() as conn:
        rows = conn.execute(
            "SELECT ok, documents_new, documents_changed, documents_unchanged, failed, chunks,"
            " finished_at > started_at, 'docs' = ANY(corpora) FROM runs ORDER BY run_id"
        ).fetchall()
    assert rows[1] == (True, 0, 1, report.documents_unchanged, 0, report.chunks, True, True)


def test_a_run_that_was_killed_stays_on_record_as_unfinished(
    store: Store, embedder: Any, source: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    path, run = source
    monkeypatch.setattr("dataflow.ingestion.run.finish_load", killed)
    with pytest.raises(KeyboardInterrupt):
        run(store, embedder, path)
    frame = status(store).filter(corpus="docs")
    assert frame["last_run_state"].to_list() == ["unfinished"]
