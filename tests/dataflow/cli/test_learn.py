"""The command that learns, as a user runs it: a process of its own, a real server and model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from dataflow import load_config
from operators.evaluation.weight_fitting import halves

TOPICS = (
    *("cache", "lock", "queue", "index", "parser", "socket", "thread", "buffer"),
    *("cursor", "signal", "timer", "token", "packet", "schema", "ledger", "router"),
)


@pytest.fixture(scope="module")
def files(crosscorpus: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page and a review thread on every topic, and judgements that find the threads right.

    Both answer alike, the threads at greater length, which puts most pages first.
    """
    folder = tmp_path_factory.mktemp("learned")
    documents, queries, qrels = [], [], []
    for number, topic in enumerate(TOPICS):
        more = "Please have a look at it before the release. " * (1 + number % 4)
        documents += [
            {
                "doc_id": f"page-{topic}",
                "corpus": "wiki",
                "title": f"The {topic}",
                "text": f"The {topic} fails when it is full.",
            },
            {
                "doc_id": f"thread-{topic}",
                "corpus": "review",
                "title": f"The {topic}",
                "text": f"The {topic} fails when it is empty. {more}",
            },
        ]
        queries.append(
            {
                "query_id": topic,
                "text": f"why does the {topic} fail?",
                "trigger": "slack",
                "judged_corpora": ["review", "wiki"],
            }
        )
        qrels.append(f"{topic}\t0\tthread-{topic}\t1\n")
    for name, rows in (("documents", documents), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "qrels.tsv").write_text("".join(qrels))
    source = str(folder / "documents.jsonl")
    done = crosscorpus("ingest", "documents", source, "-C", "cli-learn")
    assert done.returncode == 0, done.stderr
    return folder


def judged(files: Path) -> list[str]:
    return [
        *("-C", "cli-learn"),
        *("--queries", str(files / "queries.jsonl")),
        *("--qrels", str(files / "qrels.tsv")),
    ]


def test_what_was_learned_is_an_experiment_that_gains_on_queries_it_did_not_see(
    crosscorpus: Any, files: Path, tmp_path: Path
) -> None:
    out = tmp_path / "team.yaml"
    done = crosscorpus("learn", *judged(files), "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["training_queries"] == len(TOPICS) // 2
    assert told["strength"] in {row["strength"] for row in told["cross_validation"]}
    (row,) = [r for r in told["test"]["comparison"] if r["measure"] == "nDCG@10"]
    assert row["difference"] > 0.1
    assert row["losses"] == 0
    learned = yaml.safe_load(out.read_text())
    assert learned == told["experiment"]
    assert learned["extends"] == "default"
    before, after = load_config("default"), load_config(out)
    favour = [
        config.corpora["review"].weights.get("slack", 1.0)
        / config.corpora["wiki"].weights.get("slack", 1.0)
        for config in (before, after)
    ]
    assert favour[1] > favour[0]
    assert "queries it did not see" in out.read_text()


def test_a_fit_that_loses_on_the_unseen_half_is_told_with_exit_code_3(
    crosscorpus: Any, files: Path, tmp_path: Path
) -> None:
    base, qrels = tmp_path / "base.yaml", tmp_path / "qrels.tsv"
    _, unseen = halves(TOPICS, seed=0)
    # the half that is learned from likes the threads, the unseen half the pages
    wanted = [(t, "page" if n in unseen else "thread") for n, t in enumerate(TOPICS)]
    qrels.write_text("".join(f"{t}\t0\t{kind}-{t}\t1\n" for t, kind in wanted))
    base.write_text("extends: default\n")
    arguments = [*judged(files)[:-1], str(qrels), "--config", str(base)]
    done = crosscorpus("learn", *arguments, "--out", str(tmp_path / "team.yaml"))
    assert done.returncode == 3
    assert f"do not use {tmp_path / 'team.yaml'}: on the unseen half nDCG@10 is " in done.stderr


def test_the_learned_file_is_evaluated_as_any_other_and_confirms_what_learn_told(
    crosscorpus: Any, files: Path, tmp_path: Path
) -> None:
    out = tmp_path / "team.yaml"
    done = crosscorpus("learn", *judged(files), "--out", str(out), "--all-corpora", "--seed", "3")
    assert done.returncode == 0, done.stderr
    assert "against base" in done.stdout
    tried = tmp_path / "tried"
    done = crosscorpus(
        "evaluate", "default", str(out), *judged(files), "--all-corpora", "--out", str(tried)
    )
    assert done.returncode == 0, done.stderr
    told = json.loads((tried / "evaluation.json").read_text())
    (row,) = [r for r in told["comparison"] if r["measure"] == "nDCG@10"]
    assert row["config"] == "team"
    assert row["difference"] > 0.1


def test_the_learned_file_extends_a_file_of_the_user_s_from_wherever_it_is_written(
    crosscorpus: Any, files: Path, tmp_path: Path
) -> None:
    base = tmp_path / "conf" / "base.yaml"
    base.parent.mkdir()
    base.write_text("extends: default\nworkers: 3\n")
    out = tmp_path / "out" / "team.yaml"
    begin = ["--config", os.path.relpath(base)]
    done = crosscorpus("learn", *judged(files), *begin, "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert load_config(out).workers == 3
    over = crosscorpus("learn", *judged(files), *begin, "--out", str(base))
    assert "base.yaml: can't extend itself" in over.stderr
    assert "workers: 3" in base.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--method", "convexx"], "convexx"),
        (["--training-queries", "2"], "training-queries"),
        (["--config", "defualt"], "defualt"),
    ],
)
def test_what_cannot_be_learned_leaves_no_file(
    crosscorpus: Any, files: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    out = tmp_path / "team.yaml"
    done = crosscorpus("learn", *judged(files), "--out", str(out), *arguments)
    assert done.returncode != 0
    assert said in done.stderr
    assert not out.exists()


def test_one_judged_query_is_not_enough(crosscorpus: Any, files: Path, tmp_path: Path) -> None:
    qrels = tmp_path / "qrels.tsv"
    qrels.write_text(f"{TOPICS[0]}\t0\tthread-{TOPICS[0]}\t1\n")
    queries = ["--queries", str(files / "queries.jsonl"), "--qrels", str(qrels)]
    done = crosscorpus("learn", "-C", "cli-learn", *queries, "--out", str(tmp_path / "team.yaml"))
    assert done.returncode == 1
    assert "learning needs judged queries of two groups at least" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
