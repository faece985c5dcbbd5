"""Every benchmark whose numbers a page quotes runs to its end, on a tiny input."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from judged_pages import write_judged, write_pairs, write_peers

from benchmarks.__main__ import main
from benchmarks.ingestion import write_source
from dataflow.ingestion.loop import ingest
from operators.embedding.onnx import DirectoryEmbedder
from operators.foundation.data_dir import data_home
from operators.postgres.schema import indexes
from operators.postgres.store import collections, drop_collection, open_store
from operators.sources.jsonl import documents_source

ROOT = Path(__file__).parents[1]
SET = "tiny"
# {set}, {clones} and {pdf} are made by the fixture.
TINY = {
    "bm25_cpu": "--chunks 50 --queries 2 --caps 20",
    "choices": "{set} --undone-by rrf",
    "evidence": "{set}",
    "few_queries": "{set} --draws 2",
    "learned": "{set}",
    "lineage": "{set}",
    "neardup": "",
    "pdf_reader": "{pdf} --repeat 1",
    "peers": "--collection {set} --queries 30 --peers",
    "pieces": "{set}",
    "post_search": "--hits 3 --batch 1 --pool 100",
    "quality": "{set} --channels",
    "review": "--clones {clones} --url https://github.com/org/app.git --collection bench-review",
    "scale": "50 --queries 1 --real 24 --changes 1",
    "scheduler": "--runs 1 --questions 2",
    "semble": "--clones {clones} --collection bench-semble",
    "swe": "--clones {clones} --collection bench-swe",
    "versions": "{set}",
}

SAID = {
    "review": ["| app | 1 | review | 2000 | 1.000 | 1.000 | "],
    "semble": ["| app | 2 | default | 1.000 | ", "| app | 2 | semble | 0.700 | "],
    "swe": ["| app | 1 | default | 100.0 | 100.0 | ", "| published | 274 | BM25 | 38.7 | "],
}
"""Rows of the tables of some: what a change touched, and a peer's figures beside ours."""


@dataclass(frozen=True)
class Inputs:
    """What benchmarks are given: files and a collection by name, and their environment."""

    names: dict[str, Any]
    environment: dict[str, str]


@pytest.fixture(scope="module")
def inputs(
    server_dsn: str, minilm: DirectoryEmbedder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Inputs]:
    folder = tmp_path_factory.mktemp("benchmarks")
    write_judged(folder / "data" / SET)
    write_pairs(folder / "data" / "neardup")
    home = folder / "home"
    home.mkdir()
    (home / "models").symlink_to(data_home() / "models")
    pdf = folder / "pdf"
    pdf.mkdir()
    write_source("pdf", pdf, 1)
    documents = folder / "data" / SET / "documents.jsonl.gz"
    with open_store(server_dsn, SET, create=True) as store:
        ingest(store, minilm, documents_source(documents))
    write_peers(folder / "data", folder / "clones")
    made = {
        "set": SET,
        "clones": folder / "clones",
    }
    made["pdf"] = next(pdf.rglob("*.pdf"))
    environment = {
        "CROSSCORPUS_DSN": server_dsn,
        "CROSSCORPUS_HOME": str(home),
        "CROSSCORPUS_TEST_DATA": str(folder / "data"),
    }
    yield Inputs(made, environment)
    made = {SET} | {*(f"bench-{name}" for name in ("whole", "semble", "swe", "review"))}
    for name in made & set(collections(server_dsn)):
        drop_collection(server_dsn, name)


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a benchmark changes of its process is put back."""
    monkeypatch.setattr(indexes, "EXACT_SCAN_MAX_ROWS", indexes.EXACT_SCAN_MAX_ROWS)
    monkeypatch.setattr(logging.root.manager, "disable", logging.root.manager.disable)
    monkeypatch.delenv("CROSSCORPUS_READ_DSN", raising=False)
    monkeypatch.chdir(ROOT)


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("name", sorted(TINY))
def test_a_benchmark_runs_on_a_tiny_input(
    name: str,
    inputs: Inputs,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for variable, value in inputs.environment.items():
        monkeypatch.setenv(variable, value)
    arguments = [part.format(**inputs.names) for part in TINY[name].split()]
    if name == "semble":  # a process of its own, as from the command line
        monkeypatch.setattr(sys, "argv", ["benchmarks", name, *arguments])
        code = main()
    else:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        code = importlib.import_module(f"benchmarks.{name}").main()
    told = capfd.readouterr().out
    assert not code, told
    assert any(character.isdigit() for character in told), told
    assert [row for row in SAID.get(name, []) if row not in told] == [], told
