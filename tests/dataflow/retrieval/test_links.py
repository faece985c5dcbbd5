"""What commits say of files, from a real repository to the explanation of a score."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from lxml import html

from dataflow import build_driver, load_config
from operators.explain.waterfall import waterfall
from operators.postgres.store import drop_collection, open_store
from operators.report.explanation import explanation_page

COLLECTION = "links"
QUESTION = "a deadlock when two writers flush the cache"
PAGE = ["queries", "results", "explain", "dispositions", "outcomes", "provenance"]


def commit(folder: Path, subject: str, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    ann = {"NAME": "Ann", "EMAIL": "ann@example.org", "DATE": "2024-05-01T10:00:00Z"}
    by = {f"GIT_{role}_{n}": value for role in ("AUTHOR", "COMMITTER") for n, value in ann.items()}
    for arguments in (["add", "-A"], ["commit", "-qm", subject]):
        subprocess.run(["git", "-C", folder, *arguments], env={**os.environ, **by}, check=True)


@pytest.fixture(scope="module")
def driver(crosscorpus: Any, server_dsn: str, minilm: Any, tmp_path_factory: Any) -> Iterator[Any]:
    """``turns.py`` and ``waits.py`` read alike; the fault is named by two commits of the first."""
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", folder], check=True)
    both = {name: f"def {name}(queue):\n    return queue.writers\n" for name in ("turns", "waits")}
    commit(folder, "Queue the writers", **both)
    commit(folder, "Fix a deadlock when two writers flush", turns=f"{both['turns']}\n# 1\n")
    commit(folder, "No deadlock of writers on the cache", turns=f"{both['turns']}\n# 2\n")
    done = crosscorpus("ingest", "git", str(folder), "--repo", "app", "-C", COLLECTION)
    assert done.returncode == 0, done.stderr
    with (
        open_store(server_dsn, COLLECTION) as store,
        build_driver(load_config("default"), COLLECTION, store=store, embedder=minilm) as driver,
    ):
        yield driver
    drop_collection(server_dsn, COLLECTION)


def gain(told: pl.DataFrame, path: str) -> tuple[float, str | None]:
    """What the file gains by commits, and what the explanation says of it."""
    names = told.filter(pl.col("source_label").str.contains(path, literal=True))["chunk_id"]
    own = told.filter(pl.col("chunk_id").is_in(names.implode()))
    (score,) = own.filter(stage="related", quantity="by_commits")["value"]
    steps = {step.factor: step.formula for step in waterfall(own)}
    return score, steps.get("related")


def test_a_file_gains_by_the_commits_that_speak_of_the_question_and_its_explanation_names_them(
    driver: Any,
) -> None:
    out = driver.execute(["explain", "dispositions"], {"query": QUESTION})
    labels = out["dispositions"].select("chunk_id", "source_label")
    told = out["explain"].join(labels, on="chunk_id", maintain_order="left")
    by_two, said = gain(told, "turns.py")
    by_one, _ = gain(told, "waits.py")
    assert by_two > by_one
    assert said is not None
    assert "by commits (" in said
    assert "Fix a deadlock when two writers flush (2024-05-01)] and 1 more)" in said


def test_the_page_of_an_explanation_names_them_and_says_in_sentences_what_each_factor_is(
    driver: Any,
) -> None:
    page = explanation_page(driver.execute(PAGE, {"query": QUESTION}))
    text = " ".join(html.document_fromstring(page).text_content().split())
    assert "Fix a deadlock when two writers flush (2024-05-01)] and 1 more)" in text
    assert "related: The list where commits and reviews raise files" in text
    assert ".;" not in text


def test_without_the_stage_nothing_is_gained(driver: Any) -> None:
    found = driver.execute(["related"], {"query": QUESTION, "by_commits": 0.0})["related"]
    assert found["by_commits"].to_list() == [0.0] * found.height
