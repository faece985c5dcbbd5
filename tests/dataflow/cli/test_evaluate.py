"""The experiment commands as a user runs them: a process of their own, a real server and model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ir_measures import RR, calc_aggregate, read_trec_qrels, read_trec_run

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


@pytest.fixture(scope="module")
def files(crosscorpus: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The judged files, of a collection that was ingested by the command too."""
    folder = tmp_path_factory.mktemp("judged")
    lines = [
        {"doc_id": name, "corpus": corpus, "title": name, "text": text}
        for corpus, documents in DOCUMENTS.items()
        for name, text in documents.items()
    ]
    for name, rows in (("documents", lines), ("queries", QUERIES)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "qrels.tsv").write_text(QRELS)
    source = str(folder / "documents.jsonl")
    done = crosscorpus("ingest", "documents", source, "-C", "cli-evaluate")
    assert done.returncode == 0, done.stderr
    return folder


def judged(files: Path) -> list[str]:
    return [
        *("-C", "cli-evaluate"),
        *("--queries", str(files / "queries.jsonl")),
        *("--qrels", str(files / "qrels.tsv")),
    ]


def test_configurations_are_compared_and_everything_is_written(
    crosscorpus: Any, home: Path, files: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = crosscorpus("evaluate", "default", "text_only", *judged(files), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "2 queries, mean [95 % interval]" in done.stdout
    assert "against default" in done.stdout
    assert "1 query without judgements left out: q3" in done.stdout
    assert sorted(path.name for path in (out / "runs").iterdir()) == [
        "default.trec",
        "text_only.trec",
    ]
    told = json.loads((out / "evaluation.json").read_text())
    assert {row["slice"] for row in told["summary"]} >= {"all", "corpus=code", "kind=how"}
    assert "<!doctype html>" in (out / "report.html").read_text()
    assert list(home.glob("query_vectors/*.npz"))


def test_a_program_gets_the_numbers_that_other_tools_compute_from_the_run(
    crosscorpus: Any, files: Path, tmp_path: Path
) -> None:
    options = ["--out", str(tmp_path), "--json", "--depth", "3"]
    done = crosscorpus("evaluate", "default", *judged(files), *options)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    ours = {(row["slice"], row["measure"]): row["mean"] for row in told["summary"]}
    run = tmp_path / "spaceless.trec"  # these tools know no ids with spaces
    written = (tmp_path / "runs" / "default.trec").read_text()
    run.write_text(written.replace(" ", "_").replace("\t", " "))
    qrels = tmp_path / "spaceless.qrels"
    qrels.write_text(QRELS.replace(" ", "_"))
    theirs = calc_aggregate([RR @ 10], read_trec_qrels(str(qrels)), read_trec_run(str(run)))
    assert ours["all", "RR@10"] == pytest.approx(theirs[RR @ 10])
    lines = [line.split("\t") for line in written.splitlines()]
    everything = {name for documents in DOCUMENTS.values() for name in documents}
    for query_id in ("q1", "q2"):  # whatever corpora a query judges
        assert {line[2] for line in lines if line[0] == query_id} == everything


def test_a_grid_is_swept_to_a_table_and_a_page(
    crosscorpus: Any, files: Path, tmp_path: Path
) -> None:
    grid = ["--set", "vector_weight=0,0.6,1", "--set", "unique=off,jaccard"]
    done = crosscorpus("sweep", *judged(files), *grid, "--out", str(tmp_path / "swept"))
    assert done.returncode == 0, done.stderr
    assert "nDCG@10, 2 queries; as configured" in done.stdout
    rows = (tmp_path / "swept" / "sweep.csv").read_text().splitlines()
    assert rows[0].startswith("point,vector_weight,unique,measure,mean,low,high")
    assert len(rows) == 1 + 3 * 2 * 2
    assert "<!doctype html>" in (tmp_path / "swept" / "sweep.html").read_text()


@pytest.mark.parametrize(
    ("code", "arguments", "said"),
    [
        (2, ["evaluate", "defualt"], "defualt"),
        (1, ["evaluate", "default", "default"], "two configurations are called 'default'"),
        (1, ["evaluate", "reranked"], "missing input 'reranker', which reranked needs"),
        (1, ["evaluate", "reranked", "--reranker", "nothing:here"], "is no MODULE:FUNCTION"),
        (2, ["sweep", "--set", "rrfk=1"], "did you mean 'rrf_k'"),
        (1, ["sweep", "--set", "rrf_k"], "is no setting"),
        (2, ["sweep", "--set", "vector_weight=0,1", "--measure", "NDCG"], "unknown measure 'NDCG'"),
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


def test_another_model_than_the_collections_is_told(
    crosscorpus: Any, files: Path, tmp_path: Path
) -> None:
    pytest.importorskip("wordllama")
    done = crosscorpus("evaluate", "static_model", *judged(files), "--out", str(tmp_path))
    assert "configuration 'static_model' embeds with 'static'" in done.stderr


def test_a_file_that_is_not_there_is_named(crosscorpus: Any, files: Path, tmp_path: Path) -> None:
    options = ["--queries", "absent.jsonl", "--qrels", str(files / "qrels.tsv")]
    done = crosscorpus(
        "evaluate", "default", "-C", "cli-evaluate", *options, "--out", str(tmp_path)
    )
    assert (done.returncode, done.stderr.strip()) == (
        1,
        "crosscorpus: can't read absent.jsonl: No such file or directory",
    )
