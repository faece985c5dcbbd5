from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operators.sources.git.tracked_files import is_excluded
from operators.sources.ignore_patterns import ignore_patterns

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


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        b"sub/\n!sub/c.md", b"sub/*\n!sub/c.md", b"*\n!*.md", b"*\n!*/\n!*.md", b"/*\n!/sub",
        b"caf\xe9.md", b"caf?.md", b"caf??.md", b"sub/**", b"**/c.md/", b"**", b"/", b"//", b"!",
        b"a//b", b"sub/**/", b"\n\n#c.md\n\\#c.md", b"c.md\x0c", b"sub/\\c.md",
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


@settings(max_examples=150, deadline=1000)
@given(HOSTILE.filter(lambda pattern: pattern.count("*") <= 100), LONG)
def test_no_pattern_takes_long_for_a_long_path(pattern: str, path: str) -> None:
    started = time.process_time()
    ignored = ignore_patterns(b"\n".join([pattern.encode()] * 20))
    ignored(path.encode())
    is_excluded(path, pattern)
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
