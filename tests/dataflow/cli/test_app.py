"""The command as a user runs it: real git, a real server, a real model."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest


def test_a_blank_value_of_an_option_is_told_as_wrong_usage(crosscorpus: Any) -> None:
    done = crosscorpus("drop", "--repo", "")
    assert done.returncode == 2
    assert "--repo" in done.stderr
    assert "it is blank" in done.stderr


def test_an_option_is_no_file_to_write(crosscorpus: Any) -> None:
    done = crosscorpus("query", "why?", "--explain", "-C", "clo")
    assert (done.returncode, "'-C' is an option" in done.stderr) == (2, True)
    assert "./-C" in done.stderr


def test_a_collection_may_have_capital_letters_and_dots_in_its_name(
    crosscorpus: Any, tmp_path: Path
) -> None:
    file, name = tmp_path / "documents.jsonl", "Team.Docs-2"
    file.write_text('{"doc_id": "a", "corpus": "wiki", "text": "flush the cache"}\n')
    for said in ("1 new", "1 unchanged"):
        done = crosscorpus("ingest", "documents", str(file), "-C", name)
        assert (done.returncode, said in done.stdout) == (0, True), done.stdout + done.stderr
    assert "[wiki: a]" in crosscorpus("query", "cache", "-C", name).stdout


@pytest.mark.parametrize(
    ("code", "arguments", "said"),
    [
        (2, ("query", "cache", "-C", "clo"), "did you mean 'cli'"),
        (2, ("query", "cache", "-C", "cli", "--corpus", "wki"), "did you mean 'wiki'"),
        (2, ("query", "-C", "cli"), "empty"),
        (1, ("ingest", "git", "/nowhere/at/all", "-C", "cli"), "/nowhere/at/all"),
        (1, ("render", "--out", "/nowhere/at/all.dot"), "/nowhere/at/all.dot: No such file"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(
    crosscorpus: Any, collection: str, code: int, arguments: tuple[str, ...], said: str
) -> None:
    done = crosscorpus(*arguments)
    assert done.returncode == code
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_no_server_is_one_line_without_the_password(crosscorpus: Any) -> None:
    done = crosscorpus("status", CROSSCORPUS_DSN="postgresql://me:s3cret@127.0.0.1:1/app")
    assert done.returncode == 1
    assert "127.0.0.1" in done.stderr
    assert "s3cret" not in done.stderr + done.stdout


def test_diff_names_the_variants_that_differ(crosscorpus: Any) -> None:
    assert crosscorpus("diff", "default", "default").stdout == "no difference\n\n"
    other = crosscorpus("diff", "default", "rrf")
    assert other.returncode == 0
    assert "rrf" in other.stdout


def test_the_command_says_its_version(crosscorpus: Any) -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))
    done = crosscorpus("--version")
    assert (done.returncode, done.stdout) == (0, f"crosscorpus {project['project']['version']}\n")


def test_the_command_starts_without_polars_and_what_runs_no_graph_without_hamilton() -> None:
    shown = (
        "import sys, dataflow.cli.app; print('polars' in sys.modules);"
        "import dataflow.cli.console.collection_state; print('hamilton' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    assert done.stdout == "False\nFalse\n"
