"""Exported listings: what belongs together is spread over files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from operators.sources.github.github_documents import reviews_source
from operators.sources.jsonl import SourceError
from operators.sources.protocol import Document, Item, ReadIssue

Export = Callable[..., Path]


def read(*paths: Path, **options: Any) -> list[Item]:
    return list(reviews_source(paths, **options).scan())


def only(items: list[Item]) -> Document:
    assert [str(item) for item in items if isinstance(item, ReadIssue)] == []
    (document,) = items
    assert isinstance(document, Document)
    return document


def test_of_a_comment_that_is_there_twice_the_later_version_counts(
    github: ModuleType, export: Export
) -> None:
    one = export(
        github.comment(1, body="new", updated_at=github.at(50)),
        github.comment(1, body="old", updated_at=github.at(40)),
        name="1.json",
    )
    assert only(read(one)).text.endswith("@octocat: new")
    two = export(github.comment(1, body="same second", updated_at=github.at(50)), name="2.json")
    assert only(read(one, two)).text.endswith("@octocat: same second")


def test_a_part_of_a_thread_does_not_take_its_place(github: ModuleType, export: Export) -> None:
    file = export(github.comment(2, reply_to=1), github.comment(7))
    fault, document = read(file)
    assert isinstance(fault, ReadIssue)
    assert not fault.failed
    assert "give the whole export" in fault.reason
    assert isinstance(document, Document)
    whole = read(file, whole=True)
    assert [item.document_id for item in whole] == [  # type: ignore[union-attr]
        "pull/1#discussion_r1", "pull/1#discussion_r7"
    ]  # fmt: skip


def test_a_name_of_ones_own_holds_for_one_repository(github: ModuleType, export: Export) -> None:
    file = export(github.comment(1), github.comment(2, repo="org/other"))
    assert [item.repo for item in read(file)] == ["org/app", "org/other"]  # type: ignore[union-attr]
    with pytest.raises(SourceError, match="of org/app and org/other: leave out --repo"):
        read(file, repo="mine")
    source = reviews_source([export(github.comment(1))], "mine")
    assert source.scopes == (("review", "mine"),)
    assert only(list(source.scan())).repo == "mine"
    assert source.fraction() == 1.0


def test_what_is_no_review_is_told(github: ModuleType, export: Export) -> None:
    file = export({"message": "Bad\ncredentials", "status": "401"}, github.issue(3), {"x": 1})
    reasons = [item.reason for item in read(file) if isinstance(item, ReadIssue)]
    assert reasons == [
        "an error that GitHub gave: Bad\\ncredentials",
        "an issue: `crosscorpus ingest issues` takes it",
        "neither a review comment, a review, a pull request, an issue nor a comment",
    ]


def test_a_missing_file_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        reviews_source([tmp_path / "none.json"])
