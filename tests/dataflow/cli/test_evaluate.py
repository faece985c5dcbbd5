"""The experiment commands as a user runs them: a process of their own, a real server and model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dataflow import load_config

DOCUMENTS = {
    "code": {
        "src/cache.py": "def flush(): write every dirty entry of the cache to disk",
        "src/lock.py": "def acquire(): wait for the lock, at most ten seconds",
        "src/queue.py": "def push(item): append an item to the queue",
    },
    "wiki": {
        "Cache page": "The cache keeps what was read. It is flushed to disk once a minute.",
        "Locks": "A lock is taken before a file is written, and given back after.",
    },
}
QUERIES = [
    {"query_id": "q1", "text": "when is the cache flushed?", "kind": "how", "trigger": "question"},
    {"query_id": "q2", "text": "waiting for a lock", "judged_corpora": ["code"]},
    {"query_id": "q3", "text": "nobody judged this"},
]
QRELS = "q1\t0\tCache page\t2\nq1\t0\tsrc/cache.py\t1\nq2\t0\tsrc/lock.py\t1\n"


def written(folder: Path, queries: list[dict[str, Any]], qrels: str) -> Path:
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    (folder / "qrels.tsv").write_text(qrels)
    return folder


@pytest.fixture(scope="module")
def files(ingest: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The judged files, in a folder with the name of the collection that they judge."""
    folder = tmp_path_factory.mktemp("cli-evaluate", numbered=False)
    lines = [
        {"doc_id": name, "corpus": corpus, "title": name, "text": text}
        for corpus, documents in DOCUMENTS.items()
        for name, text in documents.items()
    ]
    done = ingest(folder.name, *lines)
    assert done.returncode == 0, done.stderr
    return written(folder, QUERIES, QRELS)


def judged(files: Path) -> list[str]:
    return [
        *("-C", files.name),
        *("--queries", str(files / "queries.jsonl")),
        *("--qrels", str(files / "qrels.tsv")),
    ]


def test_configurations_are_compared_and_everything_is_written(
    crosscorpus: Any, files: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = crosscorpus("evaluate", "default", "text_only", *judged(files), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "2 queries, mean [95 % interval]" in done.stdout
    assert "against default" in done.stdout
    assert "1 query without judgements left out: q3" in done.stdout
    assert "better/same/worse" in done.stdout
    assert "with 2 queries no corrected p (4 comparisons) can be below 1:" in done.stdout
    assert "1 of 2 queries has no trigger and was asked as none" in done.stdout
    assert "corpus=code, corpus=wiki: only that corpus's documents" in done.stdout
    assert sorted(path.name for path in (out / "runs").iterdir()) == [
        "default.trec",
        "text_only.trec",
    ]
    told = json.loads((out / "evaluation.json").read_text())
    assert {row["slice"] for row in told["summary"]} >= {"all", "corpus=code", "kind=how"}


def test_measures_and_the_unit_of_a_run_can_be_chosen(
    crosscorpus: Any, files: Path, tmp_path: Path
) -> None:
    chosen = ["--measure", "Acc@1", "--measure", "Success@3", "--unit", "passage", "--json"]
    done = crosscorpus("evaluate", "default", *judged(files), *chosen, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {row["measure"] for row in told["summary"]} == {"Acc@1", "Success@3"}
    assert "src/queue.py:1-1#" in (tmp_path / "runs" / "default.trec").read_text()


def test_a_grid_is_swept_to_a_table(crosscorpus: Any, files: Path, tmp_path: Path) -> None:
    grid = ["--set", "vector_weight=0,0.6,1", "--set", "unique=off,jaccard"]
    done = crosscorpus("sweep", *judged(files), *grid, "--out", str(tmp_path / "swept"))
    assert done.returncode == 0, done.stderr
    assert "nDCG@10, 2 queries; as configured" in done.stdout
    rows = (tmp_path / "swept" / "sweep.csv").read_text().splitlines()
    assert rows[0].startswith("point,vector_weight,unique,measure,mean,low,high")
    assert len(rows) == 1 + 3 * 2 * 2


@pytest.mark.parametrize(
    ("code", "arguments", "said"),
    [
        (1, ["evaluate", "reranked"], "missing input 'reranker', which reranked needs"),
        (2, ["sweep", "--set", "rrfk=1"], "did you mean 'rrf_k'"),
    ],
)
def test_what_cannot_be_done_is_one_line_that_says_why(
    crosscorpus: Any, files: Path, tmp_path: Path, code: int, arguments: list[str], said: str
) -> None:
    done = crosscorpus(*arguments, *judged(files), "--out", str(tmp_path / "out"))
    assert done.returncode == code
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


TOPICS = (
    *("cache", "lock", "queue", "index", "parser", "socket", "thread", "buffer"),
    *("cursor", "signal", "timer", "token", "packet", "schema", "ledger", "router"),
)


@pytest.fixture(scope="module")
def learned(ingest: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page and a review thread on every topic, and judgements that find the threads right.

    Both answer alike, the threads at greater length, which puts most pages first.
    """
    folder = tmp_path_factory.mktemp("cli-learn", numbered=False)
    documents = [
        {"doc_id": f"{kind}-{topic}", "corpus": corpus, "title": f"The {topic}"}
        | {"text": f"The {topic} fails when it is {state}." + more * (1 + number % 4)}
        for number, topic in enumerate(TOPICS)
        for kind, corpus, state, more in (
            ("page", "wiki", "full", ""),
            ("thread", "review", "empty", " Please have a look at it before the release."),
        )
    ]
    asked = {"trigger": "slack", "judged_corpora": ["review", "wiki"]}
    queries = [{"query_id": t, "text": f"how does the {t} fail?", **asked} for t in TOPICS]
    done = ingest(folder.name, *documents)
    assert done.returncode == 0, done.stderr
    return written(folder, queries, "".join(f"{t}\t0\tthread-{t}\t1\n" for t in TOPICS))


def test_what_was_learned_is_an_experiment_that_gains_on_queries_it_did_not_see(
    crosscorpus: Any, learned: Path, tmp_path: Path
) -> None:
    out = tmp_path / "team.yaml"
    done = crosscorpus("learn", *judged(learned), "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["training_queries"] == len(TOPICS) // 2
    assert told["training_gain"] > told["training_error"]
    (row,) = [r for r in told["test"]["comparison"] if r["measure"] == "nDCG@10"]
    assert row["difference"] > 0.1
    assert row["losses"] == 0
    experiment = yaml.safe_load(out.read_text())
    assert experiment == told["experiment"]
    assert experiment["extends"] == "default"
    before, after = load_config("default"), load_config(out)
    favour = [
        config.corpora["review"].weights.get("slack", 1.0)
        / config.corpora["wiki"].weights.get("slack", 1.0)
        for config in (before, after)
    ]
    assert favour[1] > favour[0]
    assert "queries it did not see" in out.read_text()
