"""Authors go by the names that their repository's `.mailmap` gives them now."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest


def _author(repo: Any) -> str:
    (document,) = repo.documents("history").values()
    return str(json.loads(document.metadata)["author"])


def test_a_commit_bears_the_present_name_of_its_author(repo: Any) -> None:
    repo.commit("Weigh", **{"a.txt": "1", ".mailmap": "Present Name <ann@example.org>\n"})
    assert _author(repo) == "Present Name"


@pytest.mark.parametrize("kind", ["missing", "pipe", "link", "setting"])
def test_only_a_file_of_the_repository_gives_names(repo: Any, tmp_path: Path, kind: str) -> None:
    repo.commit("Weigh", **{"a.txt": "1"})
    (tmp_path / "far").write_text("Eve <ann@example.org>\n")
    if kind == "pipe":
        os.mkfifo(repo.path / ".mailmap")
    elif kind == "link":
        (repo.path / ".mailmap").symlink_to(tmp_path / "far")
    elif kind == "setting":
        repo.git("config", "mailmap.file", str(tmp_path / "far"))
    assert _author(repo) != "Eve"
