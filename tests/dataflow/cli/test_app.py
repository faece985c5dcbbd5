"""The command as a user runs it: real git, a real server, a real model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dataflow.configuration.catalog import retrieval_catalog
from dataflow.configuration.json_schema import json_schema
from dataflow.configuration.loader import shipped


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "cache", "--languages", " "),
        ("status", "-C", ""),
        ("drop", "--repo", ""),
        ("sync", "github", "org/app", "--repo", " "),
    ],
    ids=" ".join,
)
def test_a_blank_value_of_an_option_is_told_as_wrong_usage(
    crosscorpus: Any, arguments: tuple[str, ...]
) -> None:
    done = crosscorpus(*arguments)
    assert done.returncode == 2
    assert arguments[-2] in done.stderr
    assert "it is blank" in done.stderr


def test_a_collection_may_have_capital_letters_and_dots_in_its_name(
    crosscorpus: Any, tmp_path: Path
) -> None:
    file, name = tmp_path / "documents.jsonl", "Team.Docs-2"
    file.write_text('{"doc_id": "a", "corpus": "wiki", "text": "flush the cache"}\n')
    for said in ("1 new", "1 unchanged"):
        done = crosscorpus("ingest", "documents", str(file), "-C", name)
        assert (done.returncode, said in done.stdout) == (0, True), done.stdout + done.stderr
    assert "[wiki: a]" in crosscorpus("query", "cache", "-C", name).stdout
    for command in ("status", "verify", "doctor"):
        done = crosscorpus(command, "-C", name)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("code", "arguments", "said"),
    [
        (2, ("query", "cache", "-C", "clo"), "did you mean 'cli'"),
        (2, ("query", "cache", "-C", "cli", "--trigger", "pr_reviw"), "did you mean 'pr_review'"),
        (2, ("query", "cache", "-C", "cli", "--corpus", "wki"), "did you mean 'wiki'"),
        (2, ("query", " ", "-C", "cli"), "empty"),
        (2, ("query", "", "-C", "cli"), "empty"),
        (2, ("query", "-C", "cli"), "empty"),
        (
            1,
            ("query", "-C", "cli", "--regex", "a("),
            "--regex 'a(': invalid regular expression: parent",
        ),
        (2, ("query", "cache", "-C", "cli", "--config", "defualt"), "did you mean 'default'"),
        (1, ("ingest", "git", "/nowhere/at/all", "-C", "cli"), "/nowhere/at/all"),
        (1, ("status", "-C", "no/such"), "letters, digits"),
        (1, ("render", "--out", "/nowhere/at/all.dot"), "/nowhere/at/all.dot: No such file"),
        (1, ("render", "--out", "x.gif"), "x.gif: write a name that ends in .png, .svg"),
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


def test_a_number_behind_context_is_no_second_question(crosscorpus: Any, collection: str) -> None:
    done = crosscorpus("query", "why?", "--context", "5", "--collection", collection)
    assert done.returncode == 2
    assert "--top-k 5" in done.stderr


def test_a_shell_can_complete_the_commands() -> None:
    asked = {"_CROSSCORPUS_COMPLETE": "complete_bash", "COMP_WORDS": "crosscorpus coll"}
    done = subprocess.run(
        [Path(sys.executable).with_name("crosscorpus")],
        env=os.environ | asked | {"COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["collections"]


def test_the_schema_is_printed_with_the_stages_of_the_configuration(crosscorpus: Any) -> None:
    done = crosscorpus("config", "schema", "--config", str(shipped()["rrf"]))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(json.dumps(json_schema(retrieval_catalog())))
