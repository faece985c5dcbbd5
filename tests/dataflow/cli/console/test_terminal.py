"""What a person sees of an answer and of an ingestion."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import polars as pl
import pytest

from dataflow.cli.console.terminal import (
    answer_as_json,
    fetch_progress,
    ingest_progress,
    other_places,
    print_json,
    show_answer,
    show_report,
)
from dataflow.ingestion import IngestReport, Progress
from operators.sources.github.github_mirror import Fetched


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
    report = " ".join(capsys.readouterr().out.split())
    assert "2 of the unchanged could not be read before and were not tried again" in report


def test_a_run_that_stopped_says_how_far_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    show_report(IngestReport(documents_new=3, stopped_at=0.384))
    assert "stopped with 38% of the source read" in " ".join(capsys.readouterr().out.split())
    show_report(IngestReport(documents_new=3))
    assert "stopped" not in capsys.readouterr().out


def test_json_has_times_in_iso_8601_and_frames_as_rows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    moment = datetime(2024, 5, 1, tzinfo=UTC)
    print_json({"at": moment, "rows": pl.DataFrame({"name": ["äh"]})})
    shown = capsys.readouterr().out
    assert json.loads(shown) == {"at": "2024-05-01T00:00:00+00:00", "rows": [{"name": "äh"}]}
    assert "äh" in shown


def test_progress_is_json_lines_for_a_program_and_silent_without_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    event = Progress("scan", 3, 0, 0, 0, 9, 9, 1.0, 3.0, 0.5, 1.0)
    fetched = Fetched("issues", 7, 1, datetime(2024, 5, 1, tzinfo=UTC))
    for as_json in (False, True):
        with ingest_progress(as_json) as on_event:
            on_event(event)
        on_fetched, on_wait = fetch_progress(as_json)
        on_fetched(fetched)
        on_wait(61.4, "rate limit")
        out, err = capsys.readouterr()
        assert out == ""
        if not as_json:
            assert err == ""
    scan, fetch, wait = map(json.loads, err.splitlines())
    assert (scan["stage"], scan["fraction"]) == ("scan", 0.5)
    assert (fetch["stage"], fetch["until"]) == ("fetch", "2024-05-01 00:00:00+00:00")
    assert wait == {"stage": "wait", "seconds": 61, "reason": "rate limit"}


@pytest.mark.parametrize(("most", "shown", "rest"), [(8, 8, 4), (0, 0, 12), (12, 12, 0)])
def test_a_terminal_shows_some_citations_and_says_how_many_more_there_are(
    capsys: pytest.CaptureFixture[str], most: int, shown: int, rest: int
) -> None:
    provenance = {"searched": {}, "timings": {}, "parameters": {"max_citations": most}}
    answer = {
        "results": pl.DataFrame({"source_label": []}),
        "citations": pl.DataFrame({"citation": [f"[docs: {n}]" for n in range(12)]}),
        "context_window": pl.DataFrame({"text": ["c"]}),
        "notes": pl.DataFrame({"note": []}),
        "provenance": provenance,
    }
    show_answer(answer, seconds=0.1)
    out = capsys.readouterr().out
    assert out.count("[docs: ") == shown
    assert (f"... and {rest} more (--json" in out) == (rest > 0)
    empty = {**answer, "results": pl.DataFrame({"rank": [], "metadata": []})}
    assert len(answer_as_json(empty)["citations"]) == 12
