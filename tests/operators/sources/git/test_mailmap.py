"""Authors go by the names that their repository's `.mailmap` gives them now."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from operators.sources.git.mailmap import present_names, with_present_names

MAP = """\
# a comment <one@example.org>
Present Name <one@example.org>
Jane Doe <jane@example.org> <jane@laptop.(none)>
<boss@example.org> <other@example.org>
Joe R. <joe@example.org> Joe <bugs@example.org>
Sue <sue@example.org> sue-x <BUGS@example.org>
\u00dcmit <u@example.org>   trailing words
<<>> nonsense
no address
"""
ASKED = [
    ("Former Name", "One@Example.org"), ("jd", "jane@laptop.(none)"), ("jd", "jane@example.org"),
    ("Kept", "other@example.org"), ("joe", "bugs@example.org"), ("SUE-X", "bugs@example.org"),
    ("Zoe", "bugs@example.org"), ("u", "u@example.org"), ("Kim", "kim@example.org"),
]  # fmt: skip


def test_names_are_those_that_git_gives(repo: Any) -> None:
    repo.write(".mailmap", MAP)
    said = [repo.git("check-mailmap", f"{name} <{address}>") for name, address in ASKED]
    present = present_names(repo.path)
    assert [present(*one) for one in ASKED] == [one.rpartition(" <")[0] for one in said]


def test_a_commit_and_its_trailers_bear_the_present_name_alone(repo: Any) -> None:
    message = "Weigh parcels\n\nSigned-off-by: Former Name <ann@example.org>"
    repo.commit(message, **{"a.txt": "1", ".mailmap": "Present Name <ann@example.org>\n"})
    (document,) = repo.documents("history").values()
    assert json.loads(document.metadata)["author"] == "Present Name"
    assert "Signed-off-by: Present Name <ann@example.org>" in document.text
    assert "Former" not in document.text


@pytest.mark.parametrize("kind", ["missing", "pipe", "link"])
def test_without_a_file_of_names_each_name_stays(repo: Any, tmp_path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(repo.path / ".mailmap")
    elif kind == "link":
        (tmp_path / "far").write_text("Eve <ann@example.org>\n")
        (repo.path / ".mailmap").symlink_to(tmp_path / "far")
    assert present_names(repo.path)("Ann", "ann@example.org") == "Ann"


def test_hostile_maps_and_messages_take_no_time(repo: Any) -> None:
    began = time.monotonic()
    repo.write(".mailmap", "a<" * 500_000 + "\n" + " " * 500_000 + "\n" + "x <y> " * 100_000)
    present = present_names(repo.path)
    with_present_names("Signed-off-by: " + " " * 500_000 + "\n" + "a-" * 200_000, present)
    assert time.monotonic() - began < 5
