"""A Ray of two machines gives what one process gives, bit for bit, also where an actor dies."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from ingesting import ingest_documents

from dataflow import build_driver, load_config
from dataflow.evaluation.answers import for_evaluation
from dataflow.evaluation.graph import evaluate
from operators.embedding.registry import load_embedder
from operators.postgres.store import Store, drop_collection, open_store

pytest.importorskip("ray", reason="it needs the extra ray: make test-ray")
import ray
from ray.cluster_utils import Cluster

ROOT = Path(__file__).parents[1]
CONFIGS = ("default", "rrf", "text_only")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[str]:
    """Two machines of one processor, as far as Ray knows; the address for its clients."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        made.add_node(num_cpus=1)
        environment.setenv("RAY_ADDRESS", made.address)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        server = ("-m", "ray.util.client.server", "--host", "127.0.0.1", "--port", port)
        of_cluster = ("--address", made.address, "--mode", "legacy")
        with subprocess.Popen([sys.executable, *server, *of_cluster]) as clients:
            yield f"ray://127.0.0.1:{port}"
            clients.terminate()
        ray.shutdown()
        made.shutdown()


@pytest.fixture(scope="module")
def store(server_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A collection of this project's own modules and pages."""
    rows = [
        {
            "doc_id": str(name),
            "path": str(name),
            "title": str(name),
            "text": path.read_text("utf-8"),
            "corpus": "docs" if path.suffix == ".md" else "code",
        }
        for pattern in ("docs/backup.md", "operators/ranking/*.py")
        for path in sorted(ROOT.glob(pattern))
        for name in [path.relative_to(ROOT)]
    ]
    documents = tmp_path_factory.mktemp("documents") / "documents.jsonl"
    documents.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_store(server_dsn, "ray", create=True) as opened:
        ingest_documents(opened, load_embedder("minilm"), documents)
        yield opened
    drop_collection(server_dsn, "ray")


def run(example: str, *arguments: object, dsn: str, folder: Path) -> None:
    """Run an example in ``folder``; no batch begins before all its actors are there."""
    # else one actor may have done everything before a busy machine has started the other
    both = {"RAY_DATA_DEFAULT_WAIT_FOR_MIN_ACTORS_S": "150"}
    settings = {"CROSSCORPUS_DSN": dsn, "PYTHONPATH": str(folder), **both}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / example), *map(str, arguments)],
        env=os.environ | settings,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Files of queries and judgements."""
    folder = tmp_path_factory.mktemp("judged")
    asked = ["how are lists fused?", "recency of a passage", "a total order", "normalised scores"]
    names = ("fusion", "recency", "total_order", "normalization")
    rows = [{"query_id": f"q{n}", "text": text} for n, text in enumerate(asked)]
    judgements = [f"q{n} 0 operators/ranking/{name}.py 1\n" for n, name in enumerate(names)]
    (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "q.tsv").write_text("".join(judgements))
    return folder / "q.jsonl", folder / "q.tsv"


def evaluate_command(
    store: Store, judged: tuple[Path, Path], out: Path, *more: str
) -> subprocess.CompletedProcess[str]:
    files = ("--queries", str(judged[0]), "--qrels", str(judged[1]), "--out", str(out))
    return subprocess.run(
        [sys.executable, "-m", "dataflow", "evaluate", *CONFIGS, "-C", "ray", *files, *more],
        env=os.environ | {"CROSSCORPUS_DSN": store.dsn},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.fixture(scope="module")
def here(store: Store, judged: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command writes without Ray."""
    folder = tmp_path_factory.mktemp("here")
    assert evaluate_command(store, judged, folder).returncode == 0
    assert (folder / f"runs/{CONFIGS[0]}.trec").read_text()
    return folder


@pytest.mark.parametrize("client", [False, True])
def test_the_command_writes_the_same_files_on_ray(
    store: Store, judged: tuple[Path, Path], here: Path, cluster: str, client: bool, tmp_path: Path
) -> None:
    done = evaluate_command(store, judged, tmp_path, "--on", cluster if client else "ray")
    assert done.returncode == 0, done.stderr
    for name in (*(f"runs/{one}.trec" for one in CONFIGS), "per_query.csv"):
        assert (tmp_path / name).read_bytes() == (here / name).read_bytes()


@pytest.mark.parametrize("address", ["ray://127.0.0.1:1", "elsewhere"])
def test_a_cluster_that_is_not_there_is_one_line(
    store: Store, judged: tuple[Path, Path], address: str, tmp_path: Path
) -> None:
    done = evaluate_command(store, judged, tmp_path, "--on", address)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert address in done.stderr


def reranker(folder: Path, *, fragile: bool) -> Callable[[list[tuple[str, str]]], list[float]]:
    """The longest passage first; where ``fragile``, the second call kills the first process."""
    calls = []

    def rerank(pairs: list[tuple[str, str]]) -> list[float]:
        calls.append(1)
        with (folder / "processes").open("a") as file:
            file.write(f"{os.getpid()}\n")
        if fragile and len(calls) == 2:
            try:
                (folder / "killed").touch(exist_ok=False)
            except FileExistsError:
                return [float(len(passage)) for _, passage in pairs]
            os.kill(os.getpid(), signal.SIGKILL)
        return [float(len(passage)) for _, passage in pairs]

    return rerank


def test_an_actor_that_is_killed_costs_its_batch_of_questions_which_is_asked_again(
    store: Store, judged: tuple[Path, Path], tmp_path: Path
) -> None:
    config = load_config({"extends": "default", "variants": {"reranked": "cross_encoder"}})
    found, processes = {}, {}
    for on in (None, "ray"):
        folder = tmp_path / str(on)
        folder.mkdir()
        inputs = {"reranker": reranker(folder, fragile=bool(on))}
        options = {"batch_size": 1, "retrieval_inputs": inputs, "on": on}
        found[on] = evaluate(store, {"own": config}, *judged, **options)
        processes[on] = (folder / "processes").read_text().split()
    assert (tmp_path / "ray" / "killed").exists()
    assert len({*processes["ray"]}) == 3
    assert len(processes["ray"]) == len(processes[None]) + 1
    for name in ("runs", "scores", "summary"):
        assert getattr(found["ray"], name).equals(getattr(found[None], name)), name


def asked_on_ray(store: Store, folder: Path, *more: str) -> pl.DataFrame:
    """What the example finds for 100 questions."""
    asked = ["how are lists fused?", "recency of a passage", "a total order", "normalised scores"]
    rows = [{"id": f"q{n}", "text": f"{asked[n % 4]} {n}"} for n in range(100)]
    (folder / "asked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ("-C", "ray", "--at-once", 8, *more)
    run("ray_ask.py", "asked.jsonl", folder / "out", *options, dsn=store.dsn, folder=folder)
    return pl.read_parquet(folder / "out" / "*.parquet").sort("id", "rank")


def test_the_example_asks_every_question_as_one_process_does(store: Store, tmp_path: Path) -> None:
    found = asked_on_ray(store, tmp_path)
    assert found["id"].n_unique() == 100
    texts = pl.read_ndjson(tmp_path / "asked.jsonl")
    with build_driver(for_evaluation(load_config("default")), "ray", dsn=store.dsn) as driver:
        for start in range(0, 100, 8):
            part = texts[start : start + 8].with_row_index("query_id")
            given = {"queries": part.select("query_id", "text")}
            results = driver.execute(["results"], overrides=given)["results"]
            here = results.join(part, on="query_id").sort("id", "rank")
            there = found.filter(pl.col("id").is_in(part["id"].implode()))
            assert here.select(there.columns).equals(there)
