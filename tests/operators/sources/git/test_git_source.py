from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import astuple
from datetime import UTC, datetime
from pathlib import Path

import pytest

from operators.sources.git.git_source import git_source
from operators.sources.git.repository import GitError, open_repository, parse_origin
from operators.sources.git.tracked_files import MAX_FILE, prose_title
from operators.sources.protocol import Document, Item, ReadIssue

Git = Callable[..., str]
EPOCH = 1_600_000_000


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    path = tmp_path / "app"
    path.mkdir()
    run(path, "init", "-q", "-b", "main")
    return path


def run(path: Path, *arguments: str, when: int = EPOCH) -> str:
    """Git as a person would run it, at a fixed time."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
        "GIT_AUTHOR_NAME": "Ann",
        "GIT_AUTHOR_EMAIL": "ann@example.org",
        "GIT_COMMITTER_NAME": "Cy",
        "GIT_COMMITTER_EMAIL": "cy@example.org",
        "GIT_AUTHOR_DATE": f"{when} +0200",
        "GIT_COMMITTER_DATE": f"{when + 60} +0000",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    return subprocess.run(
        ["git", *arguments], cwd=path, env=env, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(path: Path, message: str, when: int = EPOCH, **files: str | bytes) -> str:
    for name, content in files.items():
        write(path, name, content)
    run(path, "add", "-A")
    run(path, "commit", "-q", "--allow-empty", "--allow-empty-message", "-m", message, when=when)
    return run(path, "rev-parse", "HEAD")


def write(path: Path, name: str | bytes, content: str | bytes) -> None:
    file = Path(os.fsdecode(os.path.join(os.fsencode(path), os.fsencode(name))))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def scan(path: Path, repo: str | None = None, exclude: Sequence[str] = ()) -> list[Item]:
    return list(git_source(path, repo, exclude=exclude).scan())


def documents(path: Path, corpus: str) -> dict[str, Document]:
    return {
        item.document_id: item
        for item in scan(path)
        if isinstance(item, Document) and item.corpus == corpus
    }


def faults(path: Path) -> dict[str, str]:
    return {item.where: item.reason for item in scan(path) if isinstance(item, ReadIssue)}


def moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_sources_commits_and_prose_go_to_their_corpora(repo: Path) -> None:
    commit(repo, "first", **{"src/a.py": "x = 1\n", "Makefile": "all:\n", "README.md": "# App\n"})
    assert set(documents(repo, "code")) == {"src/a.py", "Makefile"}
    assert [d.title for d in documents(repo, "history").values()] == ["first"]
    assert {d.path: d.title for d in documents(repo, "docs").values()} == {"README.md": "App"}


def test_prose_is_read_before_sources_and_after_commits(repo: Path) -> None:
    files = {"A.py": "1", "a.md": "a", "docs/z.md": "z", "z.py": "1"}
    commit(repo, "first", **files)
    read = [(item.corpus, item.path) for item in scan(repo) if isinstance(item, Document)]
    assert read[0][0] == "history"
    assert [path for _, path in read[1:]] == ["a.md", "docs/z.md", "A.py", "z.py"]


def test_only_tracked_files_are_read(repo: Path) -> None:
    commit(repo, "first", **{"a.py": "1"})
    write(repo, "secret.py", "untracked")
    assert set(documents(repo, "code")) == {"a.py"}


def test_a_file_bears_the_date_of_its_last_commit_and_a_link_there(repo: Path) -> None:
    run(repo, "remote", "add", "origin", "git@github.com:org/app.git")
    old = commit(repo, "old", EPOCH, **{"a b#.py": "1", "c.py": "1"})
    commit(repo, "new", EPOCH + 1000, **{"c.py": "2"})
    got = documents(repo, "code")
    assert got["a b#.py"].created_at == moment(EPOCH + 60)
    assert got["a b#.py"].date_source == "git"
    assert got["a b#.py"].uri == f"https://github.com/org/app/blob/{old}/a%20b%23.py"
    assert got["c.py"].created_at == moment(EPOCH + 1060)
    assert got["c.py"].repo == "org/app"
    assert json.loads(got["a b#.py"].metadata) == {"commit": old, "short_commit": old[:7]}


def test_what_a_page_says_of_its_date_is_believed_before_the_commit(repo: Path) -> None:
    files = {
        "a.md": "---\ndate: 2019-03-04\ntitle: The Guide\n---\ntext\n",
        "b.adoc": "= B\nAnn\nv1.2, 2018-01-02\n\ntext\n",
        "2017-05-06-post.md": "# Post\n",
        "d.md": "---\ndate: 2999-01-01\n---\n# D\n",
    }
    commit(repo, "one", **files)
    found = documents(repo, "docs")
    assert {name: (d.doc_date, d.date_source) for name, d in found.items()} == {
        "a.md": (datetime(2019, 3, 4, tzinfo=UTC), "explicit"),
        "b.adoc": (datetime(2018, 1, 2, tzinfo=UTC), "explicit"),
        "2017-05-06-post.md": (moment(EPOCH + 60), "git"),
        "d.md": (moment(EPOCH + 60), "git"),
    }
    # A question as of a moment asks for what was there then: what the commit left.
    assert {d.created_at for d in found.values()} == {moment(EPOCH + 60)}
    assert found["a.md"].title == "The Guide"
    assert json.loads(found["a.md"].metadata)["date_trust"] == 1.0


def test_a_page_that_was_never_committed_bears_the_date_in_its_name(repo: Path) -> None:
    commit(repo, "one", **{"a.py": "1"})
    write(repo, "2017-05-06-post.md", "# Post\n")
    run(repo, "add", ".")
    post = documents(repo, "docs")["2017-05-06-post.md"]
    assert (post.doc_date, post.date_source) == (datetime(2017, 5, 6, tzinfo=UTC), "name")
    assert post.created_at is None


def test_versions_of_one_page_share_a_lineage_and_code_has_none(repo: Path) -> None:
    files = {
        "docs/v1.2/guide.md": "# Guide\n",
        "docs/v1.10/guide.md": "# Guide\n",
        "docs/next/guide.md": "---\nversion: 2.0\n---\n# Guide\n",
        "v1.2/a.py": "x = 1\n",
    }
    commit(repo, "one", **files)
    found = documents(repo, "docs")
    assert {name: d.version for name, d in found.items()} == {
        "docs/v1.2/guide.md": "1.2",
        "docs/v1.10/guide.md": "1.10",
        "docs/next/guide.md": "2.0",
    }
    assert found["docs/v1.2/guide.md"].lineage_id == found["docs/v1.10/guide.md"].lineage_id
    [code] = documents(repo, "code").values()
    assert (code.version, code.lineage_id) == (None, None)


def test_a_new_commit_changes_only_the_documents_it_touched(repo: Path) -> None:
    run(repo, "remote", "add", "origin", "git@github.com:org/app.git")
    commit(repo, "one", **{"a.py": "1", "b.py": "1"})
    before = {astuple(item) for item in scan(repo)}
    commit(repo, "two", EPOCH + 10, **{"b.py": "2"})
    after = {astuple(item) for item in scan(repo)}
    assert sorted(row[4] for row in after - before) == ["2", "two\n\nFiles:\nb.py\n"]


def test_a_merge_does_not_date_the_files_it_brings_in(repo: Path) -> None:
    commit(repo, "base", EPOCH, **{"a.py": "1"})
    run(repo, "checkout", "-q", "-b", "side")
    commit(repo, "side", EPOCH + 100, **{"b.py": "1"})
    run(repo, "checkout", "-q", "main")
    commit(repo, "main", EPOCH + 200, **{"c.py": "1"})
    run(repo, "merge", "-q", "--no-ff", "-m", "Merge side", "side", when=EPOCH + 300)
    assert documents(repo, "code")["b.py"].created_at == moment(EPOCH + 160)
    merge = next(d for d in documents(repo, "history").values() if d.title == "Merge side")
    assert json.loads(merge.metadata)["merge"] is True


def test_the_last_commit_is_the_one_whose_content_the_merge_kept(repo: Path) -> None:
    commit(repo, "base", EPOCH, **{"a.py": "0"})
    run(repo, "checkout", "-q", "-b", "side")
    commit(repo, "later, dropped", EPOCH + 500, **{"a.py": "side"})
    run(repo, "checkout", "-q", "main")
    commit(repo, "earlier, kept", EPOCH + 100, **{"a.py": "main"})
    run(repo, "merge", "-q", "-s", "ours", "-m", "Merge", "side", when=EPOCH + 600)
    assert documents(repo, "code")["a.py"].created_at == moment(EPOCH + 160)


def test_a_conflict_is_dated_by_the_merge_that_settled_it(repo: Path) -> None:
    commit(repo, "base", EPOCH, **{"a.py": "0"})
    run(repo, "checkout", "-q", "-b", "side")
    commit(repo, "side", EPOCH + 100, **{"a.py": "side"})
    run(repo, "checkout", "-q", "main")
    commit(repo, "main", EPOCH + 200, **{"a.py": "main"})
    with pytest.raises(subprocess.CalledProcessError):
        run(repo, "merge", "-q", "side")
    merge = commit(repo, "Merge side", EPOCH + 300, **{"a.py": "both"})
    assert documents(repo, "code")["a.py"].created_at == moment(EPOCH + 360)
    assert documents(repo, "history")[merge].text == "Merge side\n\nFiles:\na.py\n"


def test_an_uncommitted_change_is_read_but_not_linked(repo: Path) -> None:
    run(repo, "remote", "add", "origin", "https://github.com/org/app")
    commit(repo, "first", **{"a.py": "1"})
    write(repo, "a.py", "2")
    got = documents(repo, "code")["a.py"]
    assert (got.text, got.uri, got.created_at) == ("2", None, moment(EPOCH + 60))
    assert json.loads(got.metadata)["uncommitted"] is True


def test_a_checkout_with_other_line_ends_is_no_change(repo: Path) -> None:
    run(repo, "remote", "add", "origin", "https://github.com/org/app")
    commit(repo, "first", **{"a.py": "1\n2\n"})
    write(repo, "a.py", "1\r\n2\r\n")
    assert documents(repo, "code")["a.py"].uri is not None


def test_a_commit_is_its_message_and_its_files(repo: Path) -> None:
    run(repo, "remote", "add", "origin", "https://gitlab.example.org/group/team/app.git")
    sha = commit(repo, "Fix the cache\n\nIt was flushed\ntwice.", **{"src/c.py": "1", "d.md": "d"})
    got = documents(repo, "history")[sha]
    assert got.title == "Fix the cache"
    assert got.text == "Fix the cache\n\nIt was flushed\ntwice.\n\nFiles:\nd.md\nsrc/c.py\n"
    assert got.created_at == got.doc_date == moment(EPOCH)
    assert got.uri == f"https://gitlab.example.org/group/team/app/-/commit/{sha}"
    assert got.repo == "group/team/app"
    assert json.loads(got.metadata) == {
        "author": "Ann",
        "commit": sha,
        "committed_at": moment(EPOCH + 60).isoformat(),
        "files": 2,
        "short_commit": sha[:7],
        "subject": "Fix the cache",
    }


def test_a_message_cannot_forge_a_commit_or_a_file(repo: Path) -> None:
    fake = ":100644 100644 " + "0" * 40 + " " + "1" * 40 + " M\n\nfake.py\n" + "2" * 40
    shas = [commit(repo, fake, **{":100644 x.py": "1"}), commit(repo, "", EPOCH + 1)]
    got = documents(repo, "history")
    assert list(got) == shas[::-1]
    assert got[shas[0]].text == fake + "\n\nFiles:\n:100644 x.py\n"
    assert got[shas[1]].title == "(no message)"


def test_a_commit_of_many_files_names_the_first_hundred(repo: Path) -> None:
    sha = commit(repo, "all", **{f"f{n:03}.py": str(n) for n in range(130)})
    assert documents(repo, "history")[sha].text.endswith("f099.py\nand 30 more\n")


def test_what_is_left_out_says_why(repo: Path) -> None:
    commit(
        repo, "first",
        **{
            "a.png": b"\x89PNG\0", "b.py": b"x\0y", "big.sql": b"-" * (MAX_FILE + 1),
            "yarn.lock": "x", "plain": "no shebang", "tool": "#!/bin/sh\n", "gone.py": "1",
        },
    )  # fmt: skip
    (repo / "gone.py").unlink()
    assert faults(repo) == {
        "a.png": "no known text type: .png",
        "b.py": "binary",
        "big.sql": f"larger than {MAX_FILE} bytes",
        "yarn.lock": "dependency lock or generated file",
        "plain": "no known text type",
        "gone.py": "not in the working tree",
    }
    assert not any(item.failed for item in scan(repo) if isinstance(item, ReadIssue))
    assert documents(repo, "code")["tool"].language == "bash"


def test_a_script_whose_name_ends_with_a_dot_is_told_by_its_first_line(repo: Path) -> None:
    commit(repo, "first", **{"tool.": "#!/bin/sh\n"})
    assert documents(repo, "code")["tool."].language == "bash"


def test_symbolic_links_are_never_followed(repo: Path, tmp_path: Path) -> None:
    write(tmp_path, "outside/secret.py", "SECRET")
    commit(repo, "first", **{"d/secret.py": "tracked", "e.py": "tracked"})
    (repo / "link.py").symlink_to(tmp_path / "outside" / "secret.py")
    (repo / "loop").symlink_to(".")
    commit(repo, "links")
    (repo / "d" / "secret.py").unlink()
    (repo / "d").rmdir()
    (repo / "d").symlink_to(tmp_path / "outside")
    (repo / "e.py").unlink()
    (repo / "e.py").symlink_to(tmp_path / "outside" / "secret.py")
    assert documents(repo, "code") == {}
    assert faults(repo) == {
        "link.py": "symbolic link",
        "loop": "symbolic link",
        "d/secret.py": "symbolic link on the way",
        "e.py": "symbolic link",
    }


def test_a_file_that_cannot_be_read_is_a_failure_that_names_it(repo: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads every file")
    commit(repo, "first", **{"a.py": "1", "b.py": "2"})
    (repo / "a.py").chmod(0)
    [fault] = [item for item in scan(repo) if isinstance(item, ReadIssue)]
    assert (fault.failed, fault.key) == (True, ("code", "app", "a.py"))


def test_a_huge_sparse_file_is_left_out_without_being_read(repo: Path) -> None:
    commit(repo, "first", **{"big.md": "x"})
    os.truncate(repo / "big.md", 20 * 1024**3)
    assert faults(repo) == {"big.md": f"larger than {MAX_FILE} bytes"}


def test_a_file_is_read_in_its_encoding_and_damaged_places_are_replaced(repo: Path) -> None:
    damaged = "é and ".encode() + b"\xff"
    utf16 = "\ufeffé".encode("utf-16-le")
    commit(repo, "first", **{"a.py": b"caf\xe9", "b.sql": utf16, "c.py": damaged})
    got = {name: document.text for name, document in documents(repo, "code").items()}
    assert got == {"a.py": "café", "b.sql": "é", "c.py": "é and \ufffd"}


def test_odd_file_names_keep_distinct_ids(repo: Path) -> None:
    names = [b"caf\xe9.md", b"a\nb.md", "é.md".encode(), "e\u0301.md".encode(), b"-- .md", b":a.md"]
    for name in names:
        write(repo, name, "text")
    commit(repo, "odd")
    found = documents(repo, "docs")
    assert set(found) == {"caf%E9.md", "a\nb.md", "é.md", "e\u0301.md", "-- .md", ":a.md"}
    assert all(d.created_at == moment(EPOCH + 60) for d in found.values())


def test_nothing_of_the_repository_runs(repo: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    script = repo / "trap.sh"
    commit(
        repo, "first",
        **{
            "trap.sh": f"#!/bin/sh\ntouch {trap}\ncat\n", "a.py": "1",
            ".gitattributes": "*.py filter=evil diff=evil\n",
        },
    )  # fmt: skip
    script.chmod(0o755)
    for key in (
        "core.fsmonitor", "core.pager", "pager.log", "pager.ls-files", "filter.evil.smudge",
        "filter.evil.clean", "diff.evil.textconv", "diff.evil.command", "diff.external",
        "gpg.program", "core.sshCommand", "core.askPass", "alias.log", "alias.ls-files",
    ):  # fmt: skip
        run(repo, "config", key, str(script))
    run(repo, "config", "log.showSignature", "true")
    for hook in ("post-index-change", "post-checkout", "reference-transaction"):
        (repo / ".git" / "hooks" / hook).write_text(script.read_text())
        (repo / ".git" / "hooks" / hook).chmod(0o755)
    write(repo, "a.py", "2")
    index = hashlib.sha256((repo / ".git" / "index").read_bytes()).hexdigest()
    assert set(documents(repo, "code")) == {"trap.sh", "a.py", ".gitattributes"}
    assert not trap.exists()
    assert hashlib.sha256((repo / ".git" / "index").read_bytes()).hexdigest() == index


def test_the_log_is_read_the_same_whatever_the_configuration_says(repo: Path) -> None:
    commit(repo, "first", **{"a.py": "1"})
    commit(repo, "second", EPOCH + 9, **{"b.py": "1"})
    plain = scan(repo)
    for key, value in {
        "log.showRoot": "false", "diff.renames": "copies", "log.date": "relative",
        "log.diffMerges": "separate", "diff.noprefix": "true", "color.ui": "always",
        "format.pretty": "oneline", "log.abbrevCommit": "true", "log.follow": "true",
        "diff.relative": "true", "core.abbrev": "4",
    }.items():  # fmt: skip
        run(repo, "config", key, value)
    assert scan(repo) == plain


def test_callers_git_environment_does_not_lead_elsewhere(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(repo, "first", **{"a.py": "1"})
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert set(documents(repo, "code")) == {"a.py"}


def test_the_folder_names_the_repo_without_a_remote_and_an_option_names_it_anyhow(
    repo: Path,
) -> None:
    commit(repo, "first", **{"a.py": "1"})
    assert documents(repo, "code")["a.py"].repo == "app"
    source = git_source(repo, "org/other")
    assert {d.repo for d in source.scan() if isinstance(d, Document)} == {"org/other"}
    assert source.scopes == tuple((c, "org/other") for c in ("code", "history", "docs"))


@pytest.mark.parametrize(
    ("url", "name", "forge"),
    [
        ("https://github.com/o/r.git", "o/r", "https://github.com/o/r"),
        ("https://user:token@github.com/o/r", "o/r", "https://github.com/o/r"),
        ("ssh://git@github.com:22/o/r.git", "o/r", "https://github.com/o/r"),
        ("git@github.example.com:o/r", "o/r", "https://github.example.com/o/r"),
        ("git@gitlab.com:g/s/r.git", "g/s/r", "https://gitlab.com/g/s/r/-"),
        ("https://codeberg.org/o/r.git", "o/r", None),
        ("https://notgithub.com/o/r.git", "o/r", None),
        ("../elsewhere", None, None),
        ("file:///srv/git/r.git", None, None),
        ("https://[bad/x", None, None),
    ],
)
def test_origin_gives_name_and_forge(url: str, name: str | None, forge: str | None) -> None:
    assert parse_origin(url) == (name, forge)


def test_what_is_no_working_tree_is_one_clear_line(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(GitError, match="has no commits yet"):
        open_repository(repo)
    commit(repo, "first", **{"sub/a.py": "1"})
    with pytest.raises(GitError, match=r"lies inside the git working tree .*app; give"):
        open_repository(repo / "sub")
    run(tmp_path, "clone", "-q", "--bare", "app", "bare.git")
    with pytest.raises(GitError, match="is a bare repository"):
        open_repository(tmp_path / "bare.git")
    with pytest.raises(GitError, match="is not a folder"):
        open_repository(tmp_path / "none")
    (tmp_path / "plain").mkdir()
    with pytest.raises(GitError, match="is not a git working tree"):
        open_repository(tmp_path / "plain")


def test_somebody_elses_repository_says_how_to_trust_it(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another user")
    commit(repo, "first", **{"a.py": "1"})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    os.chown(repo, 12345, 12345)
    os.chown(repo / ".git", 12345, 12345)
    with pytest.raises(GitError, match=r"git config --global --add safe.directory '.*app'"):
        open_repository(repo)


def test_a_missing_git_is_said(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GitError, match="git is not installed"):
        open_repository(repo)


def test_a_log_that_is_left_early_leaves_no_process(repo: Path) -> None:
    for number in range(30):
        commit(repo, f"c{number}", EPOCH + number, **{"a.py": str(number)})
    items = git_source(repo).scan()
    next(items)
    items.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: x\n# not this\n---\n# Real\n", "Real"),
        ("```\n# not a heading\n```\n## Two\n", "Two"),
        ("```\n# never closed\n", None),
        ("Setext\n======\n", "Setext"),
        ("# Trailing #\r\n", "Trailing"),
        ("no heading", None),
        ("#hashtag\n", None),
    ],
)
def test_the_title_of_a_page_is_its_first_heading(text: str, title: str | None) -> None:
    assert prose_title(text, "a.md") == title


def test_the_title_of_restructured_text_is_its_first_heading() -> None:
    assert prose_title("Guide\n=====\n\nMore\n----\n", "a.rst") == "Guide"


@pytest.mark.parametrize(
    ("exclude", "left", "told"),
    [
        (["tests"], {"README.md", "app.py", "lib/a_snap.py", "lib/tests.py"}, {"tests": "2"}),
        (["tests/"], {"README.md", "app.py", "lib/a_snap.py", "lib/tests.py"}, {"tests/": "2"}),
        (
            ["*_snap.py", "app.py"],
            {"README.md", "lib/tests.py", "tests/deep/b.py", "tests/test_app.py"},
            {"*_snap.py": "1", "app.py": "1"},
        ),
        (["."], set[str](), {".": "6"}),
        (
            ["vendor"],
            {"README.md", "app.py", "lib/a_snap.py", "lib/tests.py"}
            | {"tests/deep/b.py", "tests/test_app.py"},
            {"vendor": "matches no tracked file"},
        ),
    ],
)
def test_what_is_excluded_is_left_out_and_counted_and_its_commits_stay(
    repo: Path, exclude: list[str], left: set[str], told: dict[str, str]
) -> None:
    names = ["README.md", "app.py", "lib/a_snap.py", "lib/tests.py"]
    names += ["tests/deep/b.py", "tests/test_app.py"]
    commit(repo, "all of it", **dict.fromkeys(names, "x = 1\n"))
    items = scan(repo, exclude=exclude)
    found = {item.document_id for item in items if isinstance(item, Document)}
    (whole,) = [i for i in items if isinstance(i, Document) and i.corpus == "history"]
    assert found - {whole.document_id} == left
    assert all(name in whole.text for name in names)
    left_out = git_source(repo, exclude=exclude).left_out
    assert {name for name in names if not left_out(("code", "", name))} == left
    assert not left_out(whole.key)
    faults = {item.where: item.reason for item in items if isinstance(item, ReadIssue)}
    assert faults.keys() == told.keys()
    assert all(faults[pattern].endswith(said) for pattern, said in told.items())
    assert not any(item.failed for item in items if isinstance(item, ReadIssue))


@pytest.mark.parametrize("pattern", ["", ":!a.py", "\0", "../other", "/elsewhere"])
def test_a_pattern_that_excludes_nothing_of_the_tree_is_refused(repo: Path, pattern: str) -> None:
    commit(repo, "one", **{"a.py": "x = 1\n"})
    with pytest.raises(GitError, match=r"no pattern of files|is outside repository"):
        git_source(repo, exclude=[pattern])
