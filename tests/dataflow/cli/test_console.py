"""What a person sees of an answer and of an ingestion."""

from __future__ import annotations

import pytest

from dataflow.cli.console import other_places, show_report
from dataflow.ingestion import IngestReport


def test_each_other_place_of_a_result_is_named_once_and_many_become_a_number() -> None:
    own, twice = "[code: a.py:1-1]", ["[code: b.py:1-1]"] * 40
    others = [own, *twice, *(f"[code: {n}.py:1-1]" for n in range(9))]
    result = {
        "source_label": own,
        "alternate_sources": [{"source_label": label} for label in others],
    }
    shown = other_places(result)
    assert shown == [
        "[code: b.py:1-1]",
        *(f"[code: {n}.py:1-1]" for n in range(4)),
        "5 more places",
    ]
    assert other_places({"source_label": own, "alternate_sources": None}) == []


def test_a_run_over_what_failed_before_says_that_it_was_not_tried_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_report(IngestReport(documents_unchanged=7, known_failures=2))
    told = " ".join(capsys.readouterr().out.split())
    assert "2 of the unchanged could not be read before and were not tried again" in told


def test_a_run_that_stopped_says_how_far_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    show_report(IngestReport(documents_new=3, stopped_at=0.384))
    assert "stopped with 38% of the source read" in " ".join(capsys.readouterr().out.split())
    show_report(IngestReport(documents_new=3))
    assert "stopped" not in capsys.readouterr().out
