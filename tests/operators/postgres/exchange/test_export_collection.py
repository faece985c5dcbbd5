from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from operators.errors import CrosscorpusError
from operators.postgres.exchange.columns import TABLES
from operators.postgres.exchange.export_collection import export_collection
from operators.postgres.exchange.manifest import MANIFEST, read_manifest
from operators.postgres.store import Store


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_an_export_has_a_file_a_table_and_says_what_it_holds(full: Store, tmp_path: Path) -> None:
    told: dict[str, int] = {}
    folder = tmp_path / "new" / "team"
    manifest = export_collection(full, folder, told.__setitem__)
    assert files(folder) == {MANIFEST, *(f"{table}.parquet" for table in TABLES)}
    assert files(folder.parent) == {"team"}
    assert manifest == read_manifest(folder)
    assert (manifest.model, manifest.space, manifest.dimensions) == ("test", "test-space", 8)
    held = {table: pq.read_metadata(folder / f"{table}.parquet").num_rows for table in TABLES}
    assert manifest.rows == held == told
    assert min(held.values()) > 0, "a table has no row: the fixture proves nothing about it"


def test_another_program_reads_the_vectors_as_numbers(full: Store, tmp_path: Path) -> None:
    export_collection(full, tmp_path / "team")
    table = pq.read_table(tmp_path / "team" / "chunks.parquet", columns=["chunk_id", "embedding"])
    exported = {row["chunk_id"]: row["embedding"] for row in table.to_pylist()}
    rows = full.rows("SELECT chunk_id, embedding::real[] FROM chunks")
    assert exported == {chunk_id: pytest.approx(vector, rel=1e-6) for chunk_id, vector in rows}


def test_only_a_new_or_an_empty_folder_is_written(full: Store, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    export_collection(full, tmp_path / "empty")
    (tmp_path / "file").write_text("mine")
    for name in ("empty", "file"):
        with pytest.raises(CrosscorpusError, match="name a new or empty folder"):
            export_collection(full, tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("umask", [0o000, 0o277])
def test_only_its_owner_can_read_an_export_whatever_the_umask(
    full: Store, tmp_path: Path, umask: int
) -> None:
    folder = tmp_path / "team"
    folder.mkdir(mode=0o777)
    seen: set[int] = set()

    def look(table: str, rows: int) -> None:
        seen.update(path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_file())

    before = os.umask(umask)
    try:
        export_collection(full, folder, look)
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == seen == {0o600}


def test_an_export_that_fails_half_way_leaves_nothing_and_runs_again(
    full: Store, tmp_path: Path
) -> None:
    def fail(table: str, rows: int) -> None:
        if table == "postings":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_collection(full, tmp_path / "team", fail)
    assert files(tmp_path) == set()
    export_collection(full, tmp_path / "team")


def test_an_export_that_is_killed_half_way_leaves_nothing_that_imports_and_runs_again(
    full: Store, tmp_path: Path
) -> None:
    program = f"""
import os, signal
from operators.postgres.exchange.export_collection import export_collection
from operators.postgres.store import open_store
def die(table, rows):
    if table == "postings":
        os.kill(os.getpid(), signal.SIGKILL)
export_collection(open_store({full.dsn!r}, {full.collection!r}), {str(tmp_path / "team")!r}, die)
"""
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "team").exists()
    assert not list(tmp_path.rglob(MANIFEST))
    export_collection(full, tmp_path / "team")


@pytest.mark.timeout(60)
def test_an_export_is_one_state_of_a_collection_that_is_written_meanwhile(
    full: Store, filling: Any, tmp_path: Path, tables: Any
) -> None:
    before = tables(full, written=True)

    def write(table: str, rows: int) -> None:
        if table == "repos":  # new rows for tables that are read later, and a new corpus
            filling.write(full, [{"corpus": "docs"}, {"corpus": "brand-new"}])
            full.execute("DELETE FROM sync_items")
        if table == "postings":  # what has been read does not keep a corpus from being made
            filling.write(full, [{"corpus": "newer"}])

    manifest = export_collection(full, tmp_path / "team", write)
    assert manifest.rows == {table: len(rows) for table, rows in before.items()}
    assert len(tables(full)["chunks"]) == len(before["chunks"]) + 3
