"""What `crosscorpus ingest` leaves behind where there is nothing to read: nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dataflow.cli import app
from dataflow.cli.console import show_report
from dataflow.ingestion import IngestReport
from operators.errors import CrosscorpusError
from operators.postgres.store import collections


@pytest.mark.parametrize(
    "command",
    [
        ["ingest", "folder", "none"],
        ["ingest", "folder", "file"],
        ["ingest", "folder", "folder"],
        ["ingest", "folder", ".", "--corpus", "Team docs"],
        ["ingest", "git", "none"],
        ["ingest", "git", "folder"],
        ["ingest", "wiki", "none"],
        ["ingest", "wiki", "file"],
        ["ingest", "wiki", "folder"],
        ["ingest", "documents", "none"],
        ["ingest", "documents", "folder"],
        ["ingest", "reviews", "file", "none"],
        ["ingest", "issues", "none"],
        ["ingest", "memory", "none"],
        ["sync", "github", "no-owner"],
    ],
    ids=" ".join,
)
def test_an_input_that_cannot_be_read_makes_no_collection(
    command: list[str], tmp_path: Path, server_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSCORPUS_DSN", server_dsn)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("plain")
    done = CliRunner().invoke(app.app, [*command, "-C", "never-made"])
    assert isinstance(done.exception, CrosscorpusError), done.output
    assert command[-1] in str(done.exception)
    assert "never-made" not in collections(server_dsn)


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


def test_no_time_at_all_to_read_is_refused() -> None:
    done = CliRunner().invoke(app.app, ["ingest", "git", ".", "--stop-after", "0"])
    assert done.exit_code == 2
    assert "--stop-after" in done.output


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/org/app",
        "https://me:s3cret@git.example.org/org/app.git/",
        "ssh://git@host/org/app.git",
        "git@host:org/app.git",
        "git@host:app",
    ],
)
def test_a_repository_s_address_is_to_be_cloned_first(address: str) -> None:
    done = CliRunner().invoke(app.app, ["ingest", "git", address])
    assert isinstance(done.exception, CrosscorpusError), done.output
    said = str(done.exception)
    assert "`git clone` it" in said
    assert said.endswith("such as ./app")
    assert "s3cret" not in said


def test_a_folder_that_is_called_like_an_address_is_read_as_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "git@host:app").mkdir()
    done = CliRunner().invoke(app.app, ["ingest", "git", "git@host:app"])
    assert "clone" not in str(done.exception)
