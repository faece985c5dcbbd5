import csv
import json

import polars as pl
import pytest
from trec_runs import read_run

from dataflow import load_config
from dataflow.evaluation.evaluation_files import named_configs, write_evaluation
from dataflow.evaluation.graph import evaluate
from operators.errors import CrosscorpusError


def test_configurations_are_called_by_their_names_or_files(tmp_path):
    own = tmp_path / "mine.yaml"
    own.write_text("extends: default\nparameters: {top_k: 3}\n")
    found = named_configs(["rrf", str(own)])
    assert list(found) == ["rrf", "mine"]
    assert found["mine"].parameters["top_k"] == 3
    with pytest.raises(CrosscorpusError, match="two configurations are called 'mine'"):
        named_configs([str(own), str(own)])
    spaced = tmp_path / "a b.yaml"
    spaced.write_text("extends: default\n")
    with pytest.raises(CrosscorpusError, match="'a b' is no plain name"):
        named_configs([str(spaced)])


def test_an_evaluation_is_runs_and_tables(judged, tmp_path):
    configs = {"default": load_config("default"), "rrf": load_config("rrf")}
    found = evaluate(
        judged.store,
        configs,
        judged.queries,
        judged.qrels,
        embedder=judged.embedder,
        depth=5,
    )
    files = write_evaluation(found, tmp_path / "new" / "out")
    assert [path.relative_to(tmp_path / "new" / "out").as_posix() for path in files] == [
        "runs/default.trec",
        "runs/rrf.trec",
        "per_query.csv",
        "evaluation.json",
    ]
    run = found.runs.filter(pl.col("config") == "rrf").drop("corpus")
    keys = ["query_id", "rank"]
    assert read_run(files[1], config="rrf").drop("corpus").sort(keys).equals(run.sort(keys))
    with files[2].open(newline="") as file:
        assert len(list(csv.reader(file))) == 1 + 2 * 18
    assert json.loads(files[3].read_text())["configs"] == ["default", "rrf"]
