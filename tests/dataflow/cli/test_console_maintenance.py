"""What the commands that look after a collection print."""

from __future__ import annotations

import pytest

from dataflow.cli.console_maintenance import show_migration
from dataflow.ingestion.model_migration import ModelMigrationReport


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
