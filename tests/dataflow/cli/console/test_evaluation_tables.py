"""What the commands that try configurations print."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from dataflow.cli.console.evaluation_tables import batch_progress, show_sweep
from dataflow.evaluation.sweep import Sweep


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


def test_a_sweep_that_changed_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    show_sweep(sweep(0.0, 0.0), [])
    assert "note: no combination changed a measure" in capsys.readouterr().out


def test_progress_is_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with batch_progress(["default"], 3) as on_batch:
        on_batch("default", 2)
    assert capsys.readouterr() == ("", "")
