"""What `crosscorpus versions list` and `crosscorpus versions diff` print."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from dataflow.cli.console.version_tables import diff_as_json, show_diff, show_topics, show_versions
from operators.postgres.inspect.version_history import COUNTED, VersionDiff
from operators.versions.version_diff import Change

MEMBER = {
    "document_id": "a", "path": "docs/a.md", "title": "A",
    "released_at": datetime(2024, 5, 1, tzinfo=UTC),
}  # fmt: skip
CHANGES = [
    Change("revised", "Limits", "At most 100 entries.", "At most 250 entries."),
    Change("added", "Limits", None, "The oldest go first."),
]


@pytest.fixture
def diff() -> VersionDiff:
    return VersionDiff("docs/a.md", MEMBER | {"version": "1"}, MEMBER | {"version": None}, CHANGES)


def test_a_diff_marks_what_went_and_came_under_its_heading_once(
    diff: VersionDiff, capsys: pytest.CaptureFixture[str]
) -> None:
    show_diff(diff)
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert lines == [
        "docs/a.md: 1 -> none",
        "Limits",
        "revised",
        "At most [-100-]{+250+} entries.",
        "added",
        "{+The oldest go first.+}",
        "1 added, 0 removed, 1 revised",
    ]


def test_a_diff_as_json_has_the_words_of_revised_paragraphs_alone(diff: VersionDiff) -> None:
    revised, added = diff_as_json(diff)["changes"]
    assert ["-", "100"] in revised["words"]
    assert added["words"] is None


def test_characters_that_steer_a_terminal_are_not_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row: dict[str, Any] = {**MEMBER, "lineage_id": "a\x1b[2J", "corpus": "docs", "version": "1"}
    row |= {"date_source": "explicit", "passages": 3, "newest": True} | dict.fromkeys(COUNTED)
    show_versions(pl.DataFrame([row]))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "1 newest" in out
    assert "2024-05-01 (explicit)" in out


def test_no_topic_at_all_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    show_topics(pl.DataFrame())
    assert capsys.readouterr().out == "no document has a second version here\n"
