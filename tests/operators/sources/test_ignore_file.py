from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from whole_scan import read_all

from operators.sources.folder import folder_source
from operators.sources.git.git_source import git_source
from operators.sources.ignore_file import NAME
from operators.sources.jsonl import SourceError
from operators.sources.protocol import Document, ReadIssue, Source
from operators.sources.wiki.wiki_source import wiki_source

IGNORED = "# drafts stay home\ndrafts/\n*.env.md\n!keep.env.md\n/secret.md\n"


def names(source: Source) -> set[str]:
    return {item.document_id for item in read_all(source) if isinstance(item, Document)}


def notes(source: Source) -> list[ReadIssue]:
    return [item for item in read_all(source) if isinstance(item, ReadIssue)]


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    root = tmp_path / "pages"
    for name in ("a.md", "secret.md", "sub/secret.md", "drafts/x.md", "p.env.md", "keep.env.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\n\ntext")
    return root


def test_files_that_it_names_are_left_out_of_a_folder_and_are_no_surprise_when_they_go(
    pages: Path,
) -> None:
    every = {"a.md", "secret.md", "sub/secret.md", "drafts/x.md", "p.env.md", "keep.env.md"}
    assert names(folder_source(pages)) == every
    (pages / NAME).write_text(IGNORED)
    source = folder_source(pages)
    assert names(source) == {"a.md", "sub/secret.md", "keep.env.md"}
    assert notes(source) == [ReadIssue(NAME, "leaves out 3 files", failed=False)]
    assert source.left_out(("docs", "pages", "drafts/gone-since.md"))
    assert not source.left_out(("docs", "pages", "a.md"))


def test_a_wiki_and_a_working_tree_have_one_too(pages: Path, repo: Any) -> None:
    (pages / NAME).write_text(IGNORED)
    assert "secret.md" not in names(wiki_source(pages))
    repo.commit("first", **{"a.py": "1", "conf/prod.py": "2", NAME: "conf/"})
    assert set(repo.documents("code")) == {"a.py"}
    assert len(repo.documents("history")) == 1


@pytest.mark.parametrize("content", [b"\0\1", b"a" * 100_001])
def test_one_that_cannot_be_read_ends_the_run_before_anything_is_taken(
    pages: Path, content: bytes
) -> None:
    (pages / NAME).write_bytes(content)
    with pytest.raises(SourceError, match=NAME):
        folder_source(pages)


def test_one_that_is_a_link_is_not_followed(pages: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("*")
    (pages / NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SourceError, match=r"not a regular file|symbolic link"):
        folder_source(pages)


@pytest.mark.parametrize("pattern", ["**/" * 2000 + "x", "a*" * 400 + "b", "[z-a]", "a*" * 200_000])
def test_a_hostile_pattern_is_refused(pages: Path, pattern: str) -> None:
    (pages / ("a" * 250)).write_text("x")
    (pages / NAME).write_text(pattern)
    with pytest.raises(SourceError, match=NAME):
        folder_source(pages)


@pytest.mark.parametrize("lines", ["[0-9a-f]*", "*\n!*.py", "*"])
def test_no_pattern_leaves_out_a_commit(repo: Any, lines: str) -> None:
    repo.commit("first", **{"f.py": "1", "f.md": "2", NAME: lines})
    source = git_source(repo.path)
    (commit,) = [item for item in read_all(source) if getattr(item, "corpus", "") == "history"]
    assert isinstance(commit, Document)
    assert not source.left_out(commit.key)
    assert set(repo.documents("code")) == ({"f.py"} if "!" in lines else set())


def test_a_name_that_is_not_utf8_is_matched_by_its_bytes(pages: Path) -> None:
    for name in (b"caf\xe9.md", b"sub/x\xff.md", b"caf%E9.txt", b"caf\xe9.rst"):
        Path(os.fsdecode(os.path.join(os.fsencode(pages), name))).write_text("text")
    (pages / NAME).write_bytes(b"/*\n!/sub\n!/caf\xe9.*\n!caf%E9.txt\nsub/x?.md")
    assert names(folder_source(pages)) == {
        "caf%E9.md", "caf%E9.rst", "caf%E9.txt", "sub/secret.md"
    }  # fmt: skip


def test_a_file_below_a_folder_that_is_left_out_stays_out(pages: Path) -> None:
    (pages / NAME).write_text("drafts/\n*.md\n!a.md\n!drafts/x.md")
    assert names(folder_source(pages)) == {"a.md"}


def test_a_file_in_utf16_is_read_as_text(pages: Path) -> None:
    (pages / NAME).write_text("drafts/\n*.md\n!a.md\n", encoding="utf-16")
    assert names(folder_source(pages)) == {"a.md"}
