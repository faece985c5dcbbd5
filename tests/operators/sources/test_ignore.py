"""What an ignore file leaves out, as git itself reads it."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from whole_scan import read_all

from operators.sources.folder import folder_source
from operators.sources.git.git_source import git_source
from operators.sources.ignore_file import NAME
from operators.sources.ignore_patterns import ignore_patterns
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


@pytest.mark.parametrize("pattern", ["**/" * 2000 + "x", "a*" * 200_000])
def test_a_hostile_pattern_is_refused(pages: Path, pattern: str) -> None:
    (pages / ("a" * 250)).write_text("x")
    (pages / NAME).write_text(pattern)
    with pytest.raises(SourceError, match=NAME):
        folder_source(pages)


@pytest.mark.parametrize("lines", ["[0-9a-f]*", "*\n!*.py"])
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


def test_a_file_in_utf16_is_read_as_text(pages: Path) -> None:
    (pages / NAME).write_text("drafts/\n*.md\n!a.md\n", encoding="utf-16")
    assert names(folder_source(pages)) == {"a.md"}


# No ** beside other characters: git's manual takes it for a star, git itself not always.
ATOMS = (
    *("a", "b", "é", "a.b", "?", "*", "[ab]", "[!a]", "[^b-d]", "[]a]", "[a-]", "[[:alpha:]]"),
    *("\\*", "\\a", "\\ ", " ", "!", "#"),
)
SEGMENT = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=3, unique=True).map("".join)
PATTERN = st.builds(
    lambda before, parts, after: before + "/".join(parts) + after,
    st.sampled_from(["", "!", "/", "#", "\\!"]),
    st.lists(SEGMENT | st.sampled_from(["**", "***", "*"]), min_size=1, max_size=4),
    st.sampled_from(["", "/", " ", "\\ ", "\r"]),
)
NAMES = ("a", "b", "ab", "aa", "abc", "a.b", "é", "a b", "*", "!a", "#b", "-", "]")
RAW_NAMES = (*(name.encode() for name in NAMES), b"a\xe9", b"\xff")
PATHS = st.lists(st.lists(st.sampled_from(RAW_NAMES), min_size=1, max_size=5).map(b"/".join))


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("git")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def ignored_by_git(root: Path, lines: bytes, paths: set[bytes]) -> set[bytes]:
    (root / ".gitignore").write_bytes(lines)
    command = ["git", "check-ignore", "--no-index", "-z", "--stdin"]
    given_paths = b"".join(path + b"\0" for path in paths)
    done = subprocess.run(command, cwd=root, input=given_paths, capture_output=True)
    assert done.returncode in (0, 1), done.stderr
    return set(done.stdout.split(b"\0")) - {b""}


@given(lines=st.lists(PATTERN, min_size=1, max_size=5), paths=PATHS)
def test_a_path_is_ignored_where_git_ignores_it(
    git: Path, lines: list[str], paths: list[bytes]
) -> None:
    text, named = "\n".join(lines).encode(), set(paths)
    ignored = ignore_patterns(text)
    assert {path for path in named if ignored(path)} == ignored_by_git(git, text, named)


@pytest.mark.parametrize(
    "text",
    [
        b"sub/\n!sub/c.md", b"sub/*\n!sub/c.md", b"*\n!*/\n!*.md", b"/*\n!/sub", b"caf\xe9.md",
        b"sub/**", b"!", b"sub/**/", b"\n\n#c.md\n\\#c.md",
    ],
)  # fmt: skip
def test_what_is_known_of_git_holds(git: Path, text: bytes) -> None:
    paths = {b"sub/c.md", b"sub/d/c.md", b"c.md", b"x.py", b"caf\xe9.md", "café.md".encode()}
    paths |= {b"#c.md", b"sub", b"a/b", b"c.md\x0c"}
    ignored = ignore_patterns(text)
    assert {path for path in paths if ignored(path)} == ignored_by_git(git, text, paths)


HOSTILE = st.lists(
    st.sampled_from(["**", "*a*a*a", "*" + "a*" * 20, "a*" * 30 + "b", "?*?*?", "[a]*[!b]*a*c"]),
    min_size=1,
    max_size=40,
).map(lambda parts: "/".join(parts) + "/*b")
LONG = st.sampled_from(["/".join(["a" * 200] * 20), "a/" * 2000 + "a", "a" * 4000, "aaaa/" * 800])


@settings(deadline=1000)
@given(HOSTILE.filter(lambda pattern: pattern.count("*") <= 100), LONG)
def test_no_pattern_takes_long_for_a_long_path(pattern: str, path: str) -> None:
    started = time.process_time()
    ignored = ignore_patterns(b"\n".join([pattern.encode()] * 20))
    ignored(path.encode())
    assert time.process_time() - started < 0.5


def test_a_folder_of_patterns_and_a_deep_path_take_little_time() -> None:
    started = time.process_time()
    ignored = ignore_patterns(b"**/" + b"a/" * 40_000 + b"\n*x*y*z" * 2000)
    assert not ignored(b"a/" * 10_000 + b"b")
    assert time.process_time() - started < 5


@pytest.mark.parametrize("line", ["[a", "a\\", "[z-a]", "[[:none:]]", "*a" * 101])
def test_what_is_no_pattern_is_refused_by_its_line(line: str) -> None:
    with pytest.raises(ValueError, match=r"^line 3, "):
        ignore_patterns(f"a\n\n{line}\n".encode())
