"""Items of the API as records."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from operators.sources.github.github_documents import reviews_source
from operators.sources.protocol import Document, Item, ReadIssue

Export = Callable[..., Path]


def read(*paths: Path, **options: Any) -> list[Item]:
    return list(reviews_source(paths, **options).scan())


def only(items: list[Item]) -> Document:
    assert [str(item) for item in items if isinstance(item, ReadIssue)] == []
    (document,) = items
    assert isinstance(document, Document)
    return document


def test_hostile_shapes_are_stored(github: ModuleType, export: Export) -> None:
    longest = "x" * 65_535 + "é"
    file = export(
        github.comment(1, body=longest),
        github.comment(2, body=None, user=None),
        github.comment(3, position=None, line=None, original_line=17, path="old/name.py"),
        github.comment(4, reply_to=3, path="new/name.py", body="a\x00b\ud800"),
        github.comment(5, subject_type="file", line=None, original_line=None, position=1),
        github.comment(6, diff_hunk="", html_url=None, position=None, line=None,
                       original_line=None),
    )  # fmt: skip
    long, ghost, outdated, on_file, bare = read(file)
    assert isinstance(long, Document)
    assert longest in long.text
    assert isinstance(ghost, Document)
    assert ghost.text.endswith("\n\n@ghost:")
    assert isinstance(outdated, Document)
    assert json.loads(outdated.metadata)["line"] == 17
    assert json.loads(outdated.metadata)["outdated"] is True
    assert outdated.path == "old/name.py"
    assert "a\ufffdb\ufffd" in outdated.text
    assert isinstance(on_file, Document)
    assert "outdated" not in json.loads(on_file.metadata)
    assert isinstance(bare, Document)
    assert bare.text == "src/app.py\n\n@octocat: Remark 6."


def test_only_the_last_lines_of_a_long_hunk_are_kept(github: ModuleType, export: Export) -> None:
    hunk = "@@ -0,0 +1,900 @@\n" + "\n".join(f"+line {n}" for n in range(900))
    text = only(read(export(github.comment(1, diff_hunk=hunk)))).text
    assert text.startswith("src/app.py\n+line 888\n")
    assert "+line 899\n\n@octocat" in text


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"id": None}, "id is missing"),
        ({"id": True}, "id is no whole number"),
        ({"body": 7}, "body is no string"),
        ({"user": {"id": 1}}, "user has no login"),
        ({"created_at": None}, "created_at is missing"),
        ({"created_at": None, "createdAt": "2024-01-01T00:00:00Z"}, "give what `gh api` writes"),
        ({"created_at": "yesterday"}, "created_at 'yesterday' is no ISO 8601 moment"),
        ({"pull_request_url": "https://x/pulls/"}, "pull_request_url does not end in a number"),
        ({"pull_request_url": f"https://x/pulls/{'9' * 400}"}, "does not end in a number"),
    ],
)
def test_a_broken_item_is_a_fault_and_the_others_are_read(
    github: ModuleType, export: Export, change: dict[str, Any], reason: str
) -> None:
    fault, document = read(export({**github.comment(1), **change}, github.comment(2)))
    assert isinstance(fault, ReadIssue)
    assert fault.failed
    assert fault.where == "export.json: line 1"
    assert reason in fault.reason
    assert isinstance(document, Document)
