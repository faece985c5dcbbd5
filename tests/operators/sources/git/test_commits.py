"""Commits of a real repository, with and without their diffs."""

from __future__ import annotations

import io
import json
import subprocess
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from whole_scan import read_all

from operators.sources.chunking.chunker import chunk_documents
from operators.sources.git.commit_diffs import MAX_DIFF, parse_diffs
from operators.sources.git.commit_log import moves
from operators.sources.git.git_source import git_source
from operators.sources.protocol import Document, document_frame
from operators.sources.secrets import without_secrets

EPOCH = 1_600_000_000


def moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_a_merge_does_not_date_the_files_it_brings_in(repo: Any) -> None:
    repo.commit("base", EPOCH, **{"a.py": "1"})
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side", EPOCH + 100, **{"b.py": "1"})
    repo.git("checkout", "-q", "main")
    repo.commit("main", EPOCH + 200, **{"c.py": "1"})
    repo.git("merge", "-q", "--no-ff", "-m", "Merge side", "side", when=EPOCH + 300)
    assert repo.documents("code")["b.py"].created_at == moment(EPOCH + 160)
    merge = next(d for d in repo.documents("history").values() if d.title == "Merge side")
    assert json.loads(merge.metadata)["merge"] is True


def test_a_conflict_is_dated_by_the_merge_that_settled_it(repo: Any) -> None:
    repo.commit("base", EPOCH, **{"a.py": "0"})
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side", EPOCH + 100, **{"a.py": "side"})
    repo.git("checkout", "-q", "main")
    repo.commit("main", EPOCH + 200, **{"a.py": "main"})
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("merge", "-q", "side")
    merge = repo.commit("Merge side", EPOCH + 300, **{"a.py": "both"})
    assert repo.documents("code")["a.py"].created_at == moment(EPOCH + 360)
    assert repo.documents("history")[merge].text == "Merge side\n\nFiles:\na.py\n"


def test_a_commit_is_its_message_and_its_files(repo: Any) -> None:
    repo.git("remote", "add", "origin", "https://gitlab.example.org/group/team/app.git")
    sha = repo.commit("Fix the cache\n\nIt was flushed\ntwice.", **{"src/c.py": "1", "d.md": "d"})
    got = repo.documents("history")[sha]
    assert got.title == "Fix the cache"
    assert got.text == "Fix the cache\n\nIt was flushed\ntwice.\n\nFiles:\nd.md\nsrc/c.py\n"
    assert got.created_at == got.doc_date == moment(EPOCH)
    assert got.uri == f"https://gitlab.example.org/group/team/app/-/commit/{sha}"
    assert got.repo == "group/team/app"
    assert json.loads(got.metadata) == {
        "author": "Ann",
        "changed_paths": ["d.md", "src/c.py"],
        "commit": sha,
        "committed_at": moment(EPOCH + 60).isoformat(),
        "files": 2,
        "short_commit": sha[:7],
        "subject": "Fix the cache",
    }


def test_a_message_cannot_forge_a_commit_or_a_file(repo: Any) -> None:
    fake = ":100644 100644 " + "0" * 40 + " " + "1" * 40 + " M\n\nfake.py\n" + "2" * 40
    shas = [repo.commit(fake, **{":100644 x.py": "1"}), repo.commit("", EPOCH + 1)]
    got = repo.documents("history")
    assert list(got) == shas[::-1]
    assert got[shas[0]].text == fake + "\n\nFiles:\n:100644 x.py\n"
    assert got[shas[1]].title == "(no message)"


def test_a_commit_of_many_files_is_linked_to_none_of_them(repo: Any) -> None:
    shas = [
        repo.commit(f"all {many}", **{f"{many}/f{n:02}.py": "1" for n in range(many)})
        for many in (20, 21)
    ]
    held = [json.loads(repo.documents("history")[sha].metadata) for sha in shas]
    assert held[0]["changed_paths"] == [f"20/f{n:02}.py" for n in range(20)]
    assert "changed_paths" not in held[1]


def paths_today(repo: Any, sha: str) -> list[str]:
    document = repo.documents("history")[sha]
    paths: list[str] = json.loads(document.metadata)["changed_paths"]
    return paths


def move(repo: Any, *pairs: tuple[str, str], edit: bool = False) -> str:
    for old, new in pairs:
        (repo.path / new).parent.mkdir(parents=True, exist_ok=True)
        repo.git("mv", old, new)
        if edit:
            repo.write(new, f"edited {new}")
    sha: str = repo.commit("Move")
    return sha


def test_a_commit_links_to_files_by_what_they_are_called_today(repo: Any) -> None:
    first = repo.commit("Begin", **{"app/a.py": "a", "app/b.py": "b", "c.md": "c"})
    moved = move(repo, ("app/a.py", "lib/x.py"), ("app/b.py", "lib/b.py"))
    again = move(repo, ("lib/b.py", "src/lib/b.py"), edit=True)
    assert paths_today(repo, first) == ["lib/x.py", "src/lib/b.py", "c.md"]
    assert paths_today(repo, moved) == ["lib/x.py", "src/lib/b.py"]
    assert paths_today(repo, again) == ["src/lib/b.py"]
    assert "app/a.py\napp/b.py\n" in repo.documents("history")[first].text


def test_a_file_that_takes_the_name_of_one_that_moved_is_another(repo: Any) -> None:
    first = repo.commit("Begin", **{"a.py": "a"})
    move(repo, ("a.py", "b.py"))
    second = repo.commit("Another", **{"a.py": "new"})
    third = repo.commit("Edit both", **{"a.py": "newer", "b.py": "newer too"})
    assert paths_today(repo, first) == ["b.py"]
    assert paths_today(repo, second) == ["a.py"]
    assert paths_today(repo, third) == ["a.py", "b.py"]


def test_a_move_that_did_not_last_changes_no_name(repo: Any) -> None:
    first = repo.commit("Begin", **{"a.py": "a"})
    repo.git("checkout", "-q", "-b", "side")
    move(repo, ("a.py", "b.py"))
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-s", "ours", "-m", "Decline it", "side", when=EPOCH + 300)
    assert paths_today(repo, first) == ["a.py"]


NAMES = st.sampled_from([b"a.py", b"x/a.py", b"y/a.py", b"b.py", b"x/b.py"])
FILES = st.dictionaries(NAMES, st.sampled_from([b"1", b"2", b"3"]), max_size=5)


@given(FILES, FILES)
def test_no_two_files_move_to_one_and_each_has_its_content_or_its_name(
    gone: dict[bytes, bytes], new: dict[bytes, bytes]
) -> None:
    moved = moves(gone, new)
    assert moved.keys() <= gone.keys()
    assert set(moved.values()) <= new.keys()
    assert len(set(moved.values())) == len(moved)
    for old, now in moved.items():
        assert gone[old] == new[now] or old.split(b"/")[-1] == now.split(b"/")[-1]


def test_the_log_is_read_the_same_whatever_the_configuration_says(repo: Any) -> None:
    repo.commit("first", **{"a.py": "1"})
    repo.commit("second", EPOCH + 9, **{"b.py": "1"})
    plain = repo.scan()
    for key, value in {
        "log.showRoot": "false", "diff.renames": "copies", "log.date": "relative",
        "log.diffMerges": "separate", "diff.noprefix": "true", "color.ui": "always",
        "format.pretty": "oneline", "log.abbrevCommit": "true", "log.follow": "true",
        "diff.relative": "true", "core.abbrev": "4",
    }.items():  # fmt: skip
        repo.git("config", key, value)
    assert repo.scan() == plain


def merge(repo: Any, message: str, *subjects: str) -> list[str]:
    """The titles of the history after a branch with these commits was merged with ``message``."""
    repo.commit("base", EPOCH, **{"a.py": "1"})
    repo.git("checkout", "-q", "-b", "side")
    for number, subject in enumerate(subjects, 1):
        repo.commit(subject, EPOCH + number, **{"b.py": str(number)})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", message, "side", when=EPOCH + 60)
    return [document.title for document in repo.documents("history").values()]


@pytest.mark.parametrize(
    "message",
    [
        "Merge branch 'fix/a b' of host.example:ann/app into main",
        "Merge remote-tracking branch 'origin/side'\n\nConflicts:\n\ta.py\n\n# Conflicts:\n#\ta.py",
        "Merge pull request #12 from ann/side",
        "Merge branch 'main' into OPS-41-x",
        "Merge branch 'side' into 'main'\n\nSee merge request ann/app!12",
    ],
)
def test_a_merge_without_a_text_of_its_own_is_no_document(repo: Any, message: str) -> None:
    assert merge(repo, message, "fix") == ["fix", "base"]


def test_a_merge_that_says_more_than_git_does_is_a_document(repo: Any) -> None:
    message = "Merge branch 'side' (keeps ours)"
    assert merge(repo, message, "fix") == ["fix", "base", message]


def test_a_merge_bears_the_title_of_its_pull_request(repo: Any) -> None:
    message = "Merge pull request #12 from ann/side\n\nKeep the cache warm\n\nIt was flushed."
    assert merge(repo, message, "wip", "tests") == ["tests", "wip", "base", "Keep the cache warm"]
    assert list(repo.documents("history").values())[-1].text == message + "\n"


@pytest.mark.parametrize(
    "message",
    ["Merge pull request #12 from ann/side\n\nfix  the cache", "Fix the cache (#12)"],
)
def test_a_merge_does_not_stand_beside_the_commit_that_says_the_same(
    repo: Any, message: str
) -> None:
    assert merge(repo, message, "Fix the cache", "tests") == ["tests", "Fix the cache", "base"]
    fix = list(repo.documents("history").values())[1]
    assert fix.text == f"Fix the cache\n\n{message.splitlines()[0]}\n\nFiles:\nb.py\n"


@pytest.mark.parametrize(
    "message",
    ["Merge branch 'feature/OPS-41-x' into main", "Merge pull request #12 from ann/ops-41_x"],
)
def test_the_last_commit_of_a_branch_names_the_ticket_that_only_the_merge_does(
    repo: Any, message: str
) -> None:
    assert merge(repo, message, "wip", "fix") == ["fix", "wip", "base"]
    assert (
        next(iter(repo.documents("history").values())).text == f"fix\n\n{message}\n\nFiles:\nb.py\n"
    )


CODE = "import os\n\n\ndef flush(cache):\n    a = 1\n    cache.clear()\n    return a\n"


def history(repo: Any, *, diffs: bool | None) -> dict[str, Document]:
    items = git_source(repo.path, diffs=diffs).scan()
    every = [i for i in items if isinstance(i, Document) and i.corpus == "history"]
    return {document.document_id: document for document in every}


def chunks(document: Document) -> list[str]:
    frame = document_frame([document])
    cut = chunk_documents(frame, lambda texts: [len(text.split()) for text in texts])
    return cut["text"].to_list()


def diff(repo: Any, commit: str) -> str:
    """What the option adds to a commit; the rest of the document is as it is without."""
    plain, whole = (history(repo, diffs=one)[commit].text for one in (False, True))
    assert whole.startswith(plain)
    return whole.removeprefix(plain)


def test_a_commit_bears_the_function_and_the_lines_that_it_changed(repo: Any) -> None:
    repo.commit("first", **{"src/c.py": CODE})
    commit = repo.commit("Flush", **{"src/c.py": CODE.replace("clear()", "clear(now=True)")})
    said = "@@ src/c.py def flush(cache):\n-    cache.clear()\n+    cache.clear(now=True)\n"
    assert diff(repo, commit) == said
    assert history(repo, diffs=None) == history(repo, diffs=False)


def test_the_passages_of_the_message_are_the_same_with_its_diff(repo: Any) -> None:
    for n, message in enumerate(
        ["one line", "# A title\n\n---\nlong " + "word " * 400, "---", "..."]
    ):
        commit = repo.commit(message, EPOCH + n, **{"c.py": f"# {n}\n" + "x = 1\n" * (n + 1)})
        before, after = (chunks(history(repo, diffs=one)[commit]) for one in (False, True))
        assert after[: len(before)] == before
        assert after[len(before)].startswith("@@ c.py")
        assert "".join(after).endswith(diff(repo, commit).rstrip("\n") + "\n")


def test_a_root_commit_adds_all_a_rename_what_it_changed_and_a_merge_nothing(repo: Any) -> None:
    root = repo.commit("root", **{"a.py": CODE})
    assert diff(repo, root) == "@@ a.py\n" + "".join(f"+{one}\n" for one in CODE.splitlines())
    repo.git("mv", "a.py", "b ü.py")
    renamed = repo.commit("rename", EPOCH + 10, **{"b ü.py": CODE.replace("a = 1", "a = 2")})
    assert diff(repo, renamed) == "@@ b ü.py def flush(cache):\n-    a = 1\n+    a = 2\n"
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side", EPOCH + 20, **{"c.py": "1\n"})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "Take both sides", "side", when=EPOCH + 30)
    assert diff(repo, repo.git("rev-parse", "HEAD")) == ""


@pytest.mark.parametrize(
    "name",
    ["uv.lock", "web/app.min.js", "vendor/lib.py"],
)
def test_what_nobody_wrote_is_left_out(repo: Any, name: str) -> None:
    commit = repo.commit("first", **{name: "x\n", "picture.png": b"\x89PNG\0\1", "z.py": "1\n"})
    assert diff(repo, commit) == "@@ z.py\n+1\n"


def test_a_diff_holds_whole_hunks_and_at_most_so_many_characters(repo: Any) -> None:
    files = {f"{n}.py": f"{n}" * 900 + "\n" for n in range(9)}
    commit = repo.commit("first", **files, **{"0a.py": "long line " * 1000, "last.py": "x\n"})
    found = diff(repo, commit)
    assert len(found) <= MAX_DIFF
    whole = [f"@@ {n}.py\n+{files[f'{n}.py']}" for n in range(4)]
    assert found == "".join(whole) + "@@ last.py\n+x\n"


def test_a_hostile_diff_is_bounded_and_read_in_no_time(repo: Any) -> None:
    repo.write(".gitattributes", "* diff\n")
    files: dict[str, Any] = {f"d/{n}.txt": f"{n}\n" for n in range(300)}
    files |= {"big.txt": b"line\n" * 1_000_000, "odd.py": b"caf\xe9 \0 \x1b[0m\n\0" + b"0" * 40}
    commit = repo.commit("first", **files)
    began = time.monotonic()
    text = diff(repo, commit)
    assert time.monotonic() - began < 60
    assert len(text) <= MAX_DIFF
    assert "\0" not in text
    assert "\x1b" not in text
    assert "line\nline" not in text


LIKE_STRUCTURE = ["-- a/x.py", "++ b/x.py", "@@ -1 +1 @@", "diff --git a/x b/x", "\0" + "0" * 40]


@given(st.lists(st.sampled_from([*LIKE_STRUCTURE, "\\ No newline", "", "é"]), max_size=9))
def test_no_line_of_a_file_is_taken_for_structure(lines: list[str]) -> None:
    patch = "".join(f"+{line}\n" for line in lines)
    log = f"\0{'1' * 40}\n\ndiff --git a/a b/a\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@ f()\n{patch}"
    ((commit, text),) = parse_diffs(io.BytesIO(log.encode()))
    assert commit == "1" * 40
    assert text.replace("\ufffd", "\0").count("\n") == 1 + len(lines)
    assert text.startswith("@@ a f()\n")


def test_a_secret_in_a_diff_is_one_of_the_document(repo: Any) -> None:
    key = "AKIA" + "Q3EGB7VFTOWXYZ5M"
    commit = repo.commit("first", **{"a.py": f"key = '{key}'\n"})
    kept = [
        {item.document_id: item.text for item in read_all(source) if isinstance(item, Document)}
        for mode in ("skip", "redact")
        for source in [without_secrets(git_source(repo.path, diffs=True), mode)]
    ]
    assert commit not in kept[0]
    assert "[secret: AWS access key]" in kept[1][commit]
    assert key not in kept[1][commit]
