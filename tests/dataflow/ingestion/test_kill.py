"""A run that is killed loses nothing that was committed; the next one ends where it would have."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dataflow.ingestion import ingest_documents
from operators.postgres.store import Store

ROOT = Path(__file__).parents[3]
DYING = Path(__file__).parent / "dying.py"
POINTS = [
    ("after cache", 1),
    ("before statement", 45),
    ("before statement", 80),
    ("before commit", 12),
    ("after commit", 12),
    ("before commit", 20),
    ("after commit", 20),
    ("before delete", 1),
    ("after delete", 1),
    ("before finish", 1),
]


def lines(numbers: range, suffix: str = "") -> list[dict[str, Any]]:
    return [
        {
            "doc_id": f"d{n}", "corpus": ("docs", "wiki")[n % 2], "title": f"Page {n}",
            "text": " ".join(f"word{n}x{i}" for i in range(70)) + suffix,
        }
        for n in numbers
    ]  # fmt: skip


def ingest_until(point: str, number: int, dsn: str, collection: str, file: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(DYING), dsn, collection, str(file), point, str(number)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize(("point", "number"), POINTS)
def test_the_run_after_a_kill_ends_as_an_undisturbed_one(
    point: str,
    number: int,
    new_store: Callable[[], Store],
    embedder: Any,
    write_lines: Callable[..., Path],
    contents: Callable[[Store], dict[str, Any]],
    server_dsn: str,
) -> None:
    first = write_lines(*lines(range(12)), name="first.jsonl")
    second = write_lines(
        *lines(range(2, 8)), *lines(range(8, 12), " changed"), *lines(range(20, 30)), name="2.jsonl"
    )
    options: dict[str, Any] = {"prune": True, "allow_mass_delete": True}
    killed, whole = new_store(), new_store()
    for store in (killed, whole):
        ingest_documents(store, embedder, first, **options)
    before = set(contents(whole)["documents"])
    ingest_documents(whole, embedder, second, **options)

    ingest_until(point, number, server_dsn, killed.collection, second)
    between = set(contents(killed)["documents"])
    assert ingest_documents(killed, embedder, second, **options).ok
    assert contents(killed) == contents(whole)
    # Before a run and after it, and never in between: each document is one of its two versions.
    assert between <= before | set(contents(whole)["documents"])


def test_vectors_that_were_made_before_a_kill_are_not_made_again(
    new_store: Callable[[], Store],
    embedder: Any,
    write_lines: Callable[..., Path],
    server_dsn: str,
) -> None:
    file = write_lines(*lines(range(12)))
    store = new_store()
    ingest_until("after cache", 3, server_dsn, store.collection, file)
    report = ingest_documents(store, embedder, file)
    assert report.embedded == report.chunks - 10  # a batch's chunks, in calls of 4, 4 and 2
