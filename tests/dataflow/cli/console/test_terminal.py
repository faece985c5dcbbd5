"""What a person sees of an answer and of an ingestion."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from io import StringIO

import polars as pl
import pytest
from rich.console import Console
from rich.table import Column, Table

from dataflow.cli.console.terminal import (
    draw_ingestion,
    event_display,
    fetch_progress,
    print_table,
    report_as_json,
    show_answer,
    show_report,
)
from dataflow.ingestion.run import IngestReport, Progress
from operators.context.citations import citation
from operators.context.templates import short_label
from operators.sources.github.github_mirror import Fetched
from operators.sources.protocol import ReadIssue


def test_a_reason_that_many_have_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    why = "no `key` in a record"
    many = [ReadIssue(f"export.json item {n}", why) for n in range(3)]
    show_report(IngestReport(failed=[*many, ReadIssue("a.md", "no text")]), "team")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == ["4 failed", f"  export.json item 0: {why} (and 2 more)", "  a.md: no text"]


def test_the_report_counts_what_is_left_out_by_ending_and_says_what_reads_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    counts = {".png": 12, ".xyz": 3, ".abc": 1} | {f".b{n:02}": 2 for n in range(12)}
    left = [
        ReadIssue(f"{n}{ending}", "?", False, ending=ending)
        for ending, count in counts.items()
        for n in range(count)
    ]
    report = IngestReport(skipped=left)
    show_report(report, "team")
    binary = ", ".join(f"2 .b{n:02}" for n in range(10))
    assert capsys.readouterr().out.splitlines()[1:] == [
        "40 left out",
        f"  unknown endings: 12 .png, 3 .xyz, {binary}, 5 more; --also .ENDING reads one as text",
    ]
    assert report_as_json(report)["left_out_by_ending"] == counts


def test_each_command_of_the_report_is_for_its_collection(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_report(IngestReport(unembedded=2, known_failures=1, hidden=1), "team")
    commands = re.findall("`(.*?)`", capsys.readouterr().out.replace("\n", " "))
    assert [command.split()[-2:] for command in commands] == [["-C", "team"]] * 3


EVENT = Progress("scan", 5, 3, 0, 0, 0, 9, 9, 3.0, 0.5, 1.0)


def test_code_keeps_its_lines_and_the_time_is_one_number(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = "    def f(x):\n\n        return x\x1b[31m\n" + "    pass\n" * 9
    answer = {
        "results": pl.DataFrame(
            {
                "source_label": ["[code: a.py:1-9]"],
                "source_url": [None],
                "score": [0.5],
                "text": [code],
                "alternate_sources": [[]],
            }
        ),
        "citations": pl.DataFrame({"citation": []}),
        "evidence_level": pl.DataFrame({"evidence": []}),
        "notes": pl.DataFrame({"note": []}),
        "provenance": {"timings": {"fused": 1.5}, "searched": {}},
    }
    show_answer(answer, "cache", seconds=0.214)
    shown = capsys.readouterr().out
    assert "\n    def f(x):\n        return x [31m\n    pass\n" in shown
    assert shown.endswith("…\n0.21 s\n")
    show_answer(answer, "cache", seconds=0.214, with_timings=True)
    assert capsys.readouterr().out.endswith("0.21 s; fused 1.5 ms\n")


HOSTILE = {
    "title by OSC": "\x1b]0;pwn\x07",
    "title by C1": "\x9d0;pwn\x9c",
    "clear by CSI": "\x1b[2J\x1b[H",
    "report by CSI": "\x1b[6n\x1b[c\x1b[21t",
    "tmux passthrough": "\x1bPtmux;\x1b\x1b]0;x\x07\x1b\\",
    "reset": "\x1bc",
    "carriage return": "safe\rhidden",
    "backspaces": "abc\b\b\bxyz",
    "bell, shift and form feed": "\x07\x0e\x0f\x0c\x0b",
    "right to left": "\u202egnp.exe\u202c",
    "zero width": "a\u200bb\ufeffc\u2060d",
    "tags": "".join(chr(0xE0000 + ord(c)) for c in "ignore"),
    "soft hyphen and filler": "a\u00adb\u3164c\u2800d",
    "line separators": "a\u2028b\u2029c\x85d",
    "rich markup": "[bold]a[/bold] [link=https://evil]x[/link]",
}
UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufeff\U000e0000-\U000e0fff]"
)


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
def test_no_name_and_no_text_of_a_corpus_commands_the_terminal(
    said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    label = f"[docs: {short_label(said)}]"
    result = {"source_label": label, "source_url": None, "score": 0.5, "text": said}
    answer = {
        "results": pl.DataFrame([{**result, "alternate_sources": []}]),
        "citations": pl.DataFrame({"citation": [citation(label, None, [])]}),
        "evidence_level": pl.DataFrame({"evidence": []}),
        "notes": pl.DataFrame({"note": []}),
        "provenance": {"timings": {}, "searched": {}, "parameters": {}},
    }
    show_answer(answer, "cache", seconds=0.2)
    show_report(
        IngestReport(failed=[ReadIssue(said, said)], notes=[ReadIssue("a.md", said)]), "team"
    )
    shown = capsys.readouterr().out
    assert not UNSEEN.search(shown)
    assert ("[bold]" in shown) == ("[bold]" in said)


def test_progress_is_json_lines_for_a_program_and_only_a_wait_is_told_without_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fetched = Fetched("issues", 7, 1, datetime(2024, 5, 1, tzinfo=UTC))
    for as_json in (False, True):
        with event_display(as_json, draw_ingestion) as on_event:
            on_event(EVENT)
        on_fetched, on_wait = fetch_progress(as_json)
        on_fetched(fetched)
        on_wait(61.4, "rate limit")
        out, err = capsys.readouterr()
        assert out == ""
        if not as_json:
            assert err == "rate limit: waiting 61 s\n"
    scan, fetch, wait = map(json.loads, err.splitlines())
    assert (scan["stage"], scan["fraction"]) == ("scan", 0.5)
    assert (fetch["stage"], fetch["until"]) == ("fetch", "2024-05-01 00:00:00+00:00")
    assert wait == {"stage": "wait", "seconds": 61, "reason": "rate limit"}


def wide_table() -> Table:
    numbers = (Column(name, justify="right") for name in ("documents", "chunks"))
    table = Table("corpus", *numbers, "last run")
    table.add_row("documentation" * 3, "10,123,456", "23,456,789", "git org/application " * 3)
    return table


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_table_on_a_terminal_folds_its_texts_and_never_cuts_a_number(width: int) -> None:
    out = Console(file=StringIO(), force_terminal=True, color_system=None, width=width)
    print_table(wide_table(), out)
    written = out.file.getvalue()  # type: ignore[attr-defined]
    for whole in ("documents", "chunks", "10,123,456", "23,456,789"):
        assert whole in written
    assert "…" not in written
    assert width < 80 or max(map(len, written.splitlines())) <= width
