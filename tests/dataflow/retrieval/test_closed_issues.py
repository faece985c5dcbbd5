"""What an issue and the pull request that closes it say of each other, from exports to a list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import github_shapes as github
import polars as pl
import pytest

COLLECTION = "closed_issues"
QUESTION = "a deadlock when two writers flush the cache"


def write(folder: Path, name: str, *items: dict[str, Any]) -> str:
    file = folder / name
    file.write_text(json.dumps(items))
    return str(file)


@pytest.fixture(scope="module")
def driver(ingested: Any, tmp_path_factory: Any) -> Any:
    """Request 7 speaks of the question and closes #3, which does not; #4 and request 8 do a bit."""
    folder = tmp_path_factory.mktemp("exports")
    closing = {"title": "Two writers deadlock as they flush the cache", "body": "Fixes #3"}
    reviews = write(
        folder,
        "reviews.json",
        github.issue(7, pull=True, **closing),
        github.issue(8, pull=True, title="Writers queue", body="They wait in turn."),
        github.comment(70, 7, body="Release it earlier.", path="a.py"),
        github.comment(80, 8, body="Does the cache wait as well?", path="a.py"),
    )
    issues = write(
        folder,
        "issues.json",
        github.issue(3, title="The program hangs", body="It does nothing any more."),
        github.issue(4, title="Writers are slow", body="The cache helps them little."),
    )
    return ingested(COLLECTION, ["reviews", reviews], ["issues", issues])


def placed(driver: Any, question: str, by_pull_request: float = 0.7) -> pl.DataFrame:
    weights = {"signal_weights": {"by_pull_request": by_pull_request}}
    found: pl.DataFrame = driver.execute(["ranked"], {"query": question, **weights})["ranked"]
    return found


def source(driver: Any, question: str, document_id: str) -> str:
    """The label of the passage that a document gains from."""
    out = driver.execute(["ranked", "signals"], {"query": question})
    labels = dict(out["ranked"]["chunk_id", "source_label"].iter_rows())
    chunks = out["ranked"].filter(document_id=document_id)["chunk_id"].to_list()
    said = out["signals"].filter(pl.col("chunk_id").is_in(chunks), signal="by_pull_request")
    label: str = labels[said["source"][0]]
    return label


def documents(found: pl.DataFrame, corpus: str) -> list[str]:
    ids: list[str] = found.filter(corpus=corpus)["document_id"].to_list()
    return ids


def test_an_issue_comes_first_by_the_request_that_closes_it(driver: Any) -> None:
    found = placed(driver, QUESTION)
    assert documents(found, "issue") == ["issues/3", "issues/4"]
    assert "PR #7" in source(driver, QUESTION, "issues/3")
    without = placed(driver, QUESTION, by_pull_request=0.0)
    assert documents(without, "issue") == ["issues/4", "issues/3"]


def test_a_thread_comes_first_by_the_issue_that_its_request_closes(driver: Any) -> None:
    asked = "the program hangs, does nothing any more: does it wait"
    threads = ["pull/7#discussion_r70", "pull/8#discussion_r80"]
    for share, expected in ((0.7, threads), (0.0, threads[::-1])):
        found = placed(driver, asked, by_pull_request=share)
        assert [one for one in documents(found, "review") if one in threads] == expected
    assert "#3 The program hangs" in source(driver, asked, threads[0])
