from __future__ import annotations

import io
import time
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.sources.chunking.chunker import chunk_documents
from operators.sources.git.commit_diffs import MAX_DIFF, parse_diffs
from operators.sources.git.git_source import git_source
from operators.sources.protocol import Document, document_frame
from operators.sources.secrets import without_secrets

EPOCH = 1_600_000_000
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
    ["uv.lock", "web/app.min.js", "vendor/lib.py", "a/third_party/b.c", "web/node_modules/x/i.js"],
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
    files: dict[str, Any] = {f"d/{n}.txt": f"{n}\n" for n in range(10_000)}
    files |= {"big.txt": b"line\n" * 10_000_000, "odd.py": b"caf\xe9 \0 \x1b[0m\n\0" + b"0" * 40}
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
        {item.document_id: item.text for item in source.scan() if isinstance(item, Document)}
        for mode in ("skip", "redact")
        for source in [without_secrets(git_source(repo.path, diffs=True), mode)]
    ]
    assert commit not in kept[0]
    assert "[secret: AWS access key]" in kept[1][commit]
    assert key not in kept[1][commit]


def test_metadata_of_other_documents_says_nothing_of_a_diff() -> None:
    for said in ('{"apart_from": "x"}', '{"apart_from": 99}', '{"apart_from": -1}'):
        document = Document("d", "notes", "", None, "one\ntwo\n", metadata=said)
        assert pl.Series(chunks(document)).str.join("").to_list() == ["one\ntwo\n"]
