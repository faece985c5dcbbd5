from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from operators.sources.findings import memory_source
from operators.sources.jsonl import SourceError
from operators.sources.protocol import Document, Item, ReadIssue

FINDING = {
    "repo": "org/app", "file_path": "src/pool.py", "finding": "Close the pool before a fork.",
    "severity": "high", "category": "concurrency", "outcome": "Fixed", "line": 12,
}  # fmt: skip


@pytest.fixture
def findings(tmp_path: Path) -> Callable[..., list[Item]]:
    def read(*lines: Any, repo: str | None = None) -> list[Item]:
        file = tmp_path / "findings.jsonl"
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return list(memory_source(file, repo).scan())

    return read


def test_a_finding_is_a_document_of_its_file(findings: Callable[..., list[Item]]) -> None:
    (document,) = findings(FINDING)
    assert isinstance(document, Document)
    assert (document.corpus, document.repo) == ("memory", "org/app")
    assert document.document_id.startswith("src/pool.py#")
    assert (document.path, document.title) == ("src/pool.py", "src/pool.py")
    assert document.text == "Close the pool before a fork."
    assert document.state == "fixed"
    assert json.loads(document.metadata) == {
        "severity": "high", "category": "concurrency", "outcome": "Fixed", "line": 12
    }  # fmt: skip


def test_other_names_of_the_fields_are_known(findings: Callable[..., list[Item]]) -> None:
    (document,) = findings(
        {"path": "a.py", "text": "x", "id": 7, "created_at": "2024-02-03", "url": "https://e.org"},
        repo="org/b",
    )
    assert isinstance(document, Document)
    assert (document.document_id, document.repo, document.uri) == ("7", "org/b", "https://e.org")
    assert document.created_at is not None
    assert document.date_source == "explicit"


def test_of_two_findings_of_one_name_the_last_counts(findings: Callable[..., list[Item]]) -> None:
    again = {**FINDING, "outcome": "rejected"}
    other = {**FINDING, "category": "style"}
    documents = findings(FINDING, other, again)
    assert [item.state for item in documents] == ["fixed", "rejected"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"file_path": None}, "file_path is missing"),
        ({"finding": "  "}, "finding is missing"),
        ({"outcome": 3}, "outcome is a number, not a string"),
        ({"repo": ["a"]}, "repo is a list, not a string"),
        ({"id": {}}, "id is neither a string nor a whole number"),
        ({"created_at": "soon"}, "created_at 'soon' is no ISO 8601 date"),
    ],
)
def test_a_broken_finding_is_a_fault(
    findings: Callable[..., list[Item]], change: dict[str, Any], reason: str
) -> None:
    fault, document = findings({**FINDING, **change}, FINDING)
    assert isinstance(fault, ReadIssue)
    assert str(fault) == f"findings.jsonl: line 1: {reason}"
    assert isinstance(document, Document)


def test_a_missing_file_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        memory_source(tmp_path / "none.jsonl")
