"""What the commands that look after a collection print."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from dataflow.cli.console.collection_state import (
    show_findings,
    show_migration,
    show_models,
    show_verification,
)
from dataflow.cli.doctor import Finding
from dataflow.ingestion.model_migration import ModelMigrationReport
from operators.embedding.minilm import ModelStatus


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


def test_a_failed_check_stands_out(capsys: pytest.CaptureFixture[str]) -> None:
    show_findings([Finding("model", True, "minilm"), Finding("server", False, "no answer")])
    assert capsys.readouterr().out.splitlines() == [
        "ok    model: minilm",
        "FAIL  server: no answer",
    ]


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


def test_what_was_repaired_comes_back_by_ingesting_its_source(
    capsys: pytest.CaptureFixture[str],
) -> None:
    columns = ("kind", "corpus", "repo", "document_id", "says", "repaired")
    row = ("lost_chunks", "wiki", "", "d", "has 2", True)
    show_verification(pl.DataFrame([row], schema=columns, orient="row"))
    assert "come back when their source is ingested again" in capsys.readouterr().out


def test_a_model_that_cannot_be_used_is_shown_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    damaged = ModelStatus("minilm", "damaged", Path("models") / "minilm", 22_000_000, "wrong hash")
    show_models([damaged])
    assert capsys.readouterr().out == "minilm: damaged, 22.0 MB (wrong hash)  models/minilm\n"
