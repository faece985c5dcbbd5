"""Old names of commands and options get one line with the new one."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from dataflow.cli import app
from dataflow.cli.renamed import RENAMED_COMMANDS, RENAMED_OPTIONS


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["lineage", "docs/a.md"], "`crosscorpus lineage` is called `crosscorpus versions list`"),
        (["changes", "--from", "1"], "`crosscorpus changes` is called `crosscorpus versions diff`"),
        (
            ["models", "switch", "static"],
            "`crosscorpus models switch` is called `crosscorpus models migrate`",
        ),
        (["ingest", "folder", "docs", "--moved"], "`--moved` is called `--relocated`"),
        (["sweep", "--blind", "--set", "rrf_k=1"], "`--blind` is called `--all-corpora`"),
    ],
)
def test_an_old_name_is_one_line_with_the_new_one(
    crosscorpus: Any, arguments: list[str], line: str
) -> None:
    done = crosscorpus(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"crosscorpus: {line} now\n"


@pytest.mark.parametrize(
    "arguments", [["query", "flush", "--moved"], ["ingest", "git", "--", "--moved"]]
)
def test_what_never_was_an_option_of_a_command_is_not_taken_for_an_old_one(
    crosscorpus: Any, arguments: list[str]
) -> None:
    done = crosscorpus(*arguments)
    assert done.returncode > 0
    assert "is called" not in done.stderr


def test_every_new_name_is_a_command_or_an_option_and_no_old_one_is_shown(crosscorpus: Any) -> None:
    group: Any = typer.main.get_command(app.app)
    for old, new in RENAMED_COMMANDS.items():
        outer, inner = new.split()
        assert inner in group.commands[outer].commands
        assert f" {old.split()[-1]} " not in crosscorpus(*old.split()[:-1], "--help").stdout
    shown = "".join(
        crosscorpus(*command, "--help").stdout for command in (["ingest", "git"], ["evaluate"])
    )
    for old, new in RENAMED_OPTIONS.items():
        assert new in shown
        assert old not in shown
