"""What is shown of a result can be asked for, and leads."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dataflow import build_driver, load_config
from operators.postgres.store import drop_collection, open_store

COLLECTION = "named-places"
ANN = {"NAME": "Ann Smith", "EMAIL": "ann@example.org", "DATE": "2024-05-01T10:00:00Z"}
BY_ANN = {
    f"GIT_{role}_{name}": value for role in ("AUTHOR", "COMMITTER") for name, value in ANN.items()
}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env={**os.environ, **BY_ANN},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def commit(crosscorpus: Any, server_dsn: str, tmp_path_factory: Any) -> Iterator[str]:
    """The last commit of a repository that is ingested."""
    folder = tmp_path_factory.mktemp("repository")
    (folder / "src").mkdir()
    functions = [f"def step_{n}(value):\n    return value * {n} + {n * n}\n\n" for n in range(300)]
    (folder / "src/steps.py").write_text("".join(functions))
    (folder / "src/lines.py").write_text("def line(home):\n    '''A line of the app at home.'''\n")
    for n in range(12):
        page = f"# Page {n}\n\nPage number {n} of the guide says which line of an app fails.\n"
        (folder / f"p{n}.md").write_text(page)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Add the guide")
    (folder / "more.md").write_text("# More\n\nMore to read.\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Tidy the pages (#42)")
    done = crosscorpus("ingest", "git", str(folder), "--repo", "app", "-C", COLLECTION)
    assert done.returncode == 0, done.stderr
    yield git(folder, "rev-parse", "HEAD")
    drop_collection(server_dsn, COLLECTION)


@pytest.fixture(scope="module", params=["default", "words"])
def first(request: Any, commit: str, server_dsn: str, minilm: Any) -> Iterator[Any]:
    """The first result of a question, by all searches and by words alone."""
    config = load_config("default")
    if request.param == "words":
        config = config.with_changes({"variants": {"merged": "text_only"}})
    with (
        open_store(server_dsn, COLLECTION) as store,
        build_driver(config, COLLECTION, store=store, embedder=minilm) as driver,
    ):
        yield lambda question: driver.execute(["results"], {"query": question})["results"].row(
            0, named=True
        )


@pytest.mark.parametrize(
    "question",
    [
        "src/steps.py:620",
        'File "/home/ann/app/src/steps.py", line 620, in step_206',
        "why does src/steps.py:620 fail in the app at home?",
    ],
)
def test_the_passage_with_the_line_that_a_tool_prints_leads(first: Any, question: str) -> None:
    result = first(question)
    assert result["path"] == "src/steps.py"
    assert result["start_line"] <= 620 <= result["end_line"]


@pytest.mark.parametrize(
    ("question", "length"), [("{}", 7), ("what did commit {} change", 10), ("is it in {}?", 40)]
)
def test_a_commit_leads_for_any_beginning_of_its_id(
    first: Any, commit: str, question: str, length: int
) -> None:
    assert first(question.format(commit[:length]))["title"] == "Tidy the pages (#42)"


def test_a_commit_is_found_by_its_author_and_by_its_number(first: Any) -> None:
    assert first("commits by Ann")["corpus"] == "history"
    assert first("Smith")["corpus"] == "history"
    assert first("PR 42")["title"] == "Tidy the pages (#42)"
