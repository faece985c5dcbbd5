"""Every benchmark runs to its end, on a tiny input."""

from __future__ import annotations

import importlib
import logging
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from judged_pages import write_judged, write_pairs, write_peers

from benchmarks.__main__ import ALL, main, names
from benchmarks.commits import go_back
from benchmarks.ingestion import measure, write_source
from dataflow.ingestion.loop import ingest
from operators.embedding.onnx import DirectoryEmbedder
from operators.foundation.data_dir import data_home
from operators.postgres.exchange.export_collection import export_collection
from operators.postgres.schema import indexes
from operators.postgres.store import collections, drop_collection, open_store
from operators.sources.jsonl import documents_source

ROOT = Path(__file__).parents[1]
SET = "tiny"
# {set}, {clones}, {export} and {pdf} are made by the fixture.
TINY = {
    "aacr": "--clones {clones} --collection bench-aacr",
    "bm25_cpu": "--chunks 50 --queries 2 --caps 20",
    "choices": "{set} --undone-by rrf",
    "commits": "app={clones}/org+app --ago 1 --questions 1 --collection bench-commits",
    "end_to_end": "{set} --queries 1",
    "evidence": "{set}",
    "few_queries": "{set} --draws 2",
    "filtered_recall": "--chunks 2000 --queries 2 --dimensions 8",
    "ingestion": "--files 1 --sources git",
    "learned": "{set} --seeds 1",
    "lineage": "{set}",
    "neardup": "",
    "passages": "{set} --variants section",
    "pdf_reader": "{pdf} --repeat 1",
    "peers": "--collection {set} --queries 30 --peers",
    "pieces": "{set}",
    "post_search": "--hits 3 --batch 1 --pool 100",
    "quality": "{set} --channels",
    "review": "--clones {clones} --url https://github.com/org/app.git --collection bench-review",
    "scale": "50 --queries 1 --real 24 --changes 1",
    "scheduler": "--runs 1 --questions 2",
    "semble": "--clones {clones} --collection bench-semble",
    "shards": "{export} --shards 0 --copies 2 --workers 1 --wait 0 --questions 2",
    "swe": "--clones {clones} --collection bench-swe",
    "uses": "operators/arrays --files 3 --names 20",
    "version_cost": "{set} --questions 2 --rounds 1",
    "versions": "{set}",
}


COMPARED = {"aacr", "review", "semble", "swe"}
"""Benchmarks whose tables are compared by tests of their own."""

BY_HAND = {"served", "soak"}
"""Processes under load: `make soak HOURS=0.02` takes a minute of ten."""


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
        export_collection(store, folder / "export")
    write_peers(folder / "data", folder / "clones")
    made = {
        "set": SET,
        "clones": folder / "clones",
        "export": folder / "export",
    }
    made["pdf"] = next(pdf.rglob("*.pdf"))
    environment = {
        "CROSSCORPUS_DSN": server_dsn,
        "CROSSCORPUS_HOME": str(home),
        "CROSSCORPUS_TEST_DATA": str(folder / "data"),
    }
    yield Inputs(made, environment)
    made = {SET} | {
        *(f"bench-{name}" for name in ("whole", "semble", "swe", "review", "aacr-app-7", "commits"))
    }
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
@pytest.mark.parametrize("name", [name for name in names() if name not in COMPARED | BY_HAND])
def test_a_benchmark_runs_on_a_tiny_input(
    name: str,
    inputs: Inputs,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert name in TINY, f"give {name} arguments in TINY that make it small"
    for variable, value in inputs.environment.items():
        monkeypatch.setenv(variable, value)
    arguments = [part.format(**inputs.names) for part in TINY[name].split()]
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    code = importlib.import_module(f"benchmarks.{name}").main()
    told = capsys.readouterr().out
    assert not code, told
    assert any(character.isdigit() for character in told), told


def test_the_benchmark_of_ingestion_reads_a_source_that_is_one_file(
    server_dsn: str, tmp_path: Path
) -> None:
    measured = measure("dump", write_source("dump", tmp_path, 2), server_dsn, None)
    assert (measured["documents"], measured["failed"]) == (2, 0)
    drop_collection(server_dsn, f"bench-dump-{tmp_path.name}")


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("semble", ["| app | 2 | default | 1.000 | ", "| app | 2 | semble | 0.700 | "]),
        ("swe", ["| app | 1 | default | 100.0 | 100.0 | ", "| published | 274 | BM25 | 38.7 | "]),
    ],
)
def test_a_peers_benchmark_has_its_figures_beside_ours_and_says_what_is_to_fetch(
    name: str,
    rows: list[str],
    inputs: Inputs,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    for variable, value in inputs.environment.items():
        monkeypatch.setenv(variable, value)

    given = ["--collection", f"bench-{name}", "--clones"]
    given_clones = [*given, str(inputs.names["clones"])]
    if name == "semble":  # a process of its own, as from the command line
        monkeypatch.setattr(sys, "argv", ["benchmarks", name, *given_clones])
        assert main() == 0
    else:
        monkeypatch.setattr(sys, "argv", [name, *given_clones])
        assert not importlib.import_module(f"benchmarks.{name}").main()
    told = capfd.readouterr().out
    assert [row for row in rows if row not in told] == [], told
    monkeypatch.setattr(sys, "argv", [name, *given, str(tmp_path)])
    assert not importlib.import_module(f"benchmarks.{name}").main()
    nothing = capfd.readouterr().out
    for missing in ("app", "web"):
        line = f"git clone --mirror https://github.com/org/{missing}.git {tmp_path}/org+{missing}"
        assert f"to fetch: {line}" in nothing
    assert "| app |" not in nothing


@pytest.mark.usefixtures("untouched")
def test_a_review_is_judged_by_what_a_change_touched_beside_the_file_that_is_shown(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable, value in inputs.environment.items():
        monkeypatch.setenv(variable, value)
    arguments = [part.format(**inputs.names) for part in TINY["review"].split()]
    monkeypatch.setattr(sys, "argv", ["review", *arguments])
    importlib.import_module("benchmarks.review").main()
    assert "| app | 1 | review | 2000 | 1.000 | 1.000 | " in capsys.readouterr().out


@pytest.mark.usefixtures("untouched")
def test_a_context_is_judged_by_what_remarks_name_beyond_the_diff(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable, value in inputs.environment.items():
        monkeypatch.setenv(variable, value)

    def run(*more: str) -> str:
        arguments = [part.format(**inputs.names) for part in TINY["aacr"].split()]
        monkeypatch.setattr(sys, "argv", ["aacr", *arguments, *more])
        importlib.import_module("benchmarks.aacr").main()
        return capsys.readouterr().out

    told = run()
    assert "org/app: 1 of 1 pull requests, remarks [1, 1]" in told
    assert "to fetch: git clone --mirror https://github.com/org/web " in told
    # the tree has lock() and queue.py, no unheard_of(); of cache.py the diff shows every line
    assert "| Repo Level | plain | 2000 | 1.000 (1) | 1.000 (1) | 0.000 (0) | 4.0 | 0.500 |" in told
    assert "| Repo Level | review | 2000 | 0.000 (1) | 0.000 (1) | 0.000 (0) | 0.0 | " in told
    assert "| File Level | plain | 2000 | 0.000 (0) | 0.000 (0) | 0.000 (0) | 0.0 | " in told
    assert "to fetch: git clone https://github.com/alibaba/aacr-bench" in run("--aacr", "none")


def test_make_bench_names_benchmarks_of_the_package() -> None:
    assert set(ALL) <= set(names())


def test_the_tree_of_an_earlier_run_goes_back_as_far_as_asked(tmp_path: Path) -> None:
    """Else the commits that are asked about stay in the history that is searched."""

    def git(folder: Path, *arguments: str) -> str:
        by = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        done = subprocess.run(
            ["git", "-C", folder, *by, *arguments], capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    clone, tree = tmp_path / "clone", tmp_path / "tree"
    git(tmp_path, "init", "-q", str(clone))
    for n in range(5):
        git(clone, "commit", "-q", "--allow-empty", "-m", f"Change {n}")
    for ago in (1, 3, 2):
        go_back(clone, tree, ago)
        assert git(tree, "rev-parse", "HEAD") == git(clone, "rev-parse", f"HEAD~{ago}")
    git(clone, "commit", "-q", "--allow-empty", "-m", "Newer than the tree")
    go_back(clone, tree, 0)
    assert git(tree, "rev-parse", "HEAD") == git(clone, "rev-parse", "HEAD")
