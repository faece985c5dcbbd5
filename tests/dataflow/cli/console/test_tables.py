"""What the commands print, draw and reply."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dataflow import build_driver, load_config
from dataflow.cli.console import evaluation_tables, terminal
from dataflow.cli.console.asking import reply_to
from dataflow.cli.console.collection_state import (
    show_migration,
    show_verification,
)
from dataflow.cli.console.evaluation_tables import batch_progress, show_sweep
from dataflow.cli.console.graphs import draw_graph
from dataflow.cli.console.version_tables import show_versions
from dataflow.evaluation.sweep import Sweep
from dataflow.ingestion.model_migration import ModelMigrationReport
from dataflow.visualization.dot import to_dot
from dataflow.visualization.png import RenderError
from operators.errors import CrosscorpusError
from operators.postgres.inspect.version_history import COUNTED
from operators.postgres.store import open_store

NOTHING = ("trigger", "repos", "language", "state", "path", "pattern", "as_of", "versions")
ASKED: dict[str, Any] = {
    "question": {"query": ["cache"], **dict.fromkeys(NOTHING), "corpora": ["code"], "top_k": 1},
    "changes": {},
    **dict.fromkeys(("words", "context", "timings", "json", "page", "explained"), False),
    **{"width": 80, "terminal": False, "colour": True},
}


def test_a_reply_is_plain_data_in_the_shape_that_was_asked_for(
    server_dsn: str, collection: str
) -> None:
    settings = load_config("default")
    with open_store(server_dsn, collection) as store:
        ask = partial(
            reply_to, settings=settings, store=store, driver_of=partial(build_driver, store=store)
        )
        told = ask(json.loads(json.dumps(ASKED)))
        assert json.loads(json.dumps(told)) == told
        assert told["out"].startswith(" 1  [code: src/cache.py:1-3 flush_cache]")
        assert "\x1b" not in told["out"]
        assert (told["page"], told["degraded"]) == (None, False)
        coloured = ask({**ASKED, "terminal": True})["out"]
        assert "\x1b[" in coloured
        assert len(json.loads(ask({**ASKED, "json": True})["out"])["results"]) == 1
        page = ask({**ASKED, "page": True, "explained": True})["page"]
        assert page.startswith("<!doctype html>")
        typed = {**ASKED["question"], "repos": ["ORG/APP"]}
        assert "taken for 'org/app'" in ask({**ASKED, "question": typed})["out"]
        with pytest.raises(CrosscorpusError, match="--regex"):
            ask({**ASKED, "question": {**ASKED["question"], "pattern": "("}})


@pytest.mark.parametrize(
    ("model", "in_use", "told"),
    [
        ("minilm", True, []),
        ("onnx:my model", False, []),
        (
            "onnx:my model",
            True,
            [
                "from now on: query ... --config FILE.yaml",
                "             ingest ... --model 'onnx:my model'",
                "FILE.yaml has two lines: extends: default, and embedding: onnx:my model",
            ],
        ),
    ],
)
def test_a_migration_tells_what_names_a_model_that_is_not_the_default_one(
    model: str, in_use: bool, told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    show_migration(ModelMigrationReport(model, in_use=in_use), model)
    assert capsys.readouterr().out.splitlines()[1:] == told


def test_what_verify_found_is_one_line_each_and_many_are_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    columns = ("kind", "corpus", "repo", "document_id", "says", "repaired")
    rows = [("lost_chunks", "wiki", "", f"d{n}", "has\n2", False) for n in range(23)]
    show_verification(pl.DataFrame(rows, schema=columns, orient="row"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == r"found     lost_chunks  wiki d0: has\n2"
    assert lines[20:] == [
        "... and 3 more (--json lists all)",
        "put it right with: crosscorpus verify --repair",
    ]


def sweep(*differences: float) -> Sweep:
    rows = [
        {"rrf_k": k, "measure": "nDCG@10", "mean": 0.5 + d, "low": 0.4, "high": 0.6,
         "difference": d, "p_corrected": 0.01 if d else 1.0}
        for k, d in enumerate(differences)
    ]  # fmt: skip
    return Sweep(("rrf_k",), 7, pl.DataFrame(rows), pl.DataFrame(), {"nDCG@10": 0.5})


def test_a_sweep_is_a_table_for_each_measure_with_a_star_where_the_change_is_no_luck(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_sweep(sweep(0.0, 0.1), [Path("sweep.csv")])
    out = capsys.readouterr().out
    assert "nDCG@10, 7 queries; as configured 0.500" in out
    assert "+.100 *" in out
    assert "no combination changed" not in out
    assert out.rstrip().endswith("sweep.csv")


def test_a_long_run_says_without_a_terminal_how_far_it_is_and_how_long_it_takes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    for module in (terminal, evaluation_tables):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    with batch_progress(["default", "rrf"], 4) as on_batch:
        for now[0], name, more in ((20.0, "default", 4), (22.0, "rrf", 2), (35.0, "rrf", 1)):
            on_batch(name, more)
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        "default 50%: 4 of 4 queries, about 20 s left",
        "rrf 88%: 3 of 4 queries, about 5 s left",
    ]
    assert out == ""


@pytest.mark.parametrize(
    ("name", "node"),
    [("retrieval", "fused"), ("ingestion", "chunks"), ("evaluation", "comparison")],
)
def test_each_of_the_three_graphs_is_drawn_by_its_name(name: str, node: str) -> None:
    assert f'"{node}"' in to_dot(draw_graph(name, load_config("default")))


def test_only_the_graph_of_evaluation_needs_the_extra_that_measures() -> None:
    program = """
import sys

sys.modules["ir_measures"] = None
from dataflow import load_config
from dataflow.cli.console.graphs import draw_graph

for name in ("retrieval", "ingestion", "evaluation"):
    draw_graph(name, load_config("default"))
    print(name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["retrieval", "ingestion"]
    assert "ir_measures" in done.stderr


def test_another_graph_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(RenderError, match="did you mean 'retrieval'"):
        draw_graph("retreival", load_config("default"))


MEMBER = {
    "document_id": "a", "path": "docs/a.md", "title": "A",
    "released_at": datetime(2024, 5, 1, tzinfo=UTC),
}  # fmt: skip


def test_characters_that_steer_a_terminal_are_not_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row: dict[str, Any] = {**MEMBER, "lineage_id": "a\x1b[2J", "corpus": "docs", "version": "1"}
    row |= {"date_source": "explicit", "passages": 3, "newest": True} | dict.fromkeys(
        (*COUNTED, "continues")
    )
    show_versions(pl.DataFrame([row]))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "1 newest" in out
    assert "2024-05-01 (explicit)" in out
