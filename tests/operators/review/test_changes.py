"""Patches as git and diff write them, whole and broken."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.errors import CrosscorpusError
from operators.review.changes import ChangedFile, read_change

HUNK = "@@ -1 +1 @@ def f():\n-a\n+b\n"
GIT = "diff --git a/f b/f\nindex 1111111..2222222 100644\n--- a/f\n+++ b/f\n"
REST = "diff --git a/last b/last\n--- a/last\n+++ b/last\n" + HUNK


def only(patch: str | bytes) -> ChangedFile:
    change = read_change(patch)
    assert not change.notes
    (file,) = change.files
    return file


def test_a_hunk_has_its_place_section_and_lines() -> None:
    file = only(GIT + "@@ -3,2 +3,3 @@ def f():\n x\n-a\n+b\n+c\n")
    (hunk,) = file.hunks
    assert (file.path, file.old_path, file.kind) == ("f", "f", "modified")
    assert hunk[:5] == (3, 2, 3, 3, "def f():")
    assert (hunk.removed, hunk.added) == (((4, "a"),), ((4, "b"), (5, "c")))
    assert hunk.lines == " x\n-a\n+b\n+c"


@pytest.mark.parametrize(
    ("header", "path", "old", "kind"),
    [
        ("diff --git a/f b/f\nnew file mode 100644\nindex 0..1\n", "f", None, "added"),
        ("diff --git a/f b/f\ndeleted file mode 100644\nindex 1..0\n", "f", "f", "deleted"),
        ("diff --git a/x y b/z w\nrename from x y\nrename to z w\n", "z w", "x y", "renamed"),
        ("diff --git a/x b/y\ncopy from x\ncopy to y\n", "y", "x", "copied"),
        ("diff --git a/a b/c b/a b/c\nold mode 100644\nnew mode 100755\n", *["a b/c"] * 2, "mode"),
        ("diff --git a/m b/m\nindex 1111111..2222222 160000\n", "m", "m", "submodule"),
        ("diff --git a/p b/p\nindex 1..2\nBinary files a/p and b/p differ\n", "p", "p", "binary"),
    ],
)
def test_a_file_without_lines_has_its_kind_and_paths(
    header: str, path: str, old: str | None, kind: str
) -> None:
    for more in ("", REST):
        files = read_change(header + more).files
        assert files[0] == ChangedFile(path, old, kind, ())  # type: ignore[arg-type]
        assert [file.path for file in files[1:]] == ["last"] * bool(more)


def test_the_data_of_a_binary_file_is_passed_over() -> None:
    data = "GIT binary patch\nliteral 3\nKcmZQzU|?i`00961\n\nliteral 0\nHcmV?d00001\n\n"
    change = read_change("diff --git a/x b/x\nindex 1..2 100644\n" + data + REST)
    assert [(file.path, file.kind) for file in change.files] == [
        ("x", "binary"),
        ("last", "modified"),
    ]


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ('diff --git "a/a/\\303\\244.txt" "b/a/\\303\\244.txt"\n', "a/ä.txt"),
        ("diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n", "a b"),
        ("diff --git f f\n--- f\n+++ f\n", "f"),
        ("--- src/my f.c\t2026-01-01 00:00:00.0 +0000\n+++ src/my f.c\t2026-01-02\n", "src/my f.c"),
        ("diff -ru old/d/f new/d/f\n--- old/d/f\tx\n+++ new/d/f\tx\n", "d/f"),
    ],
)
def test_a_path_is_read_however_it_is_written(header: str, path: str) -> None:
    assert only(header + HUNK)[:3] == (path, path, "modified")


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "a/../../x", "/etc/passwd", "C:/x", "..\\x", ".git/config"]
)
def test_a_path_that_leaves_the_tree_is_left_out_with_a_note(path: str) -> None:
    for patch in (
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{HUNK}",
        f"diff --git a/ok b/{path}\nrename from ok\nrename to {path}\n",
        f"--- {path}\n+++ {path}\n{HUNK}",
    ):
        change = read_change(patch + REST)
        assert [file.path for file in change.files] == ["last"]
        assert "out of the tree" in change.notes[0]


def test_lines_of_a_patch_with_crlf_have_no_carriage_return_and_those_of_a_file_keep_it() -> None:
    (hunk,) = only((GIT + HUNK).replace("\n", "\r\n")).hunks
    assert (hunk.removed, hunk.added, hunk.section) == (((1, "a"),), ((1, "b"),), "def f():")
    (hunk,) = only(GIT + "@@ -1 +1 @@\n-a\r\n+a\n").hunks
    assert (hunk.removed, hunk.added) == (((1, "a\r"),), ((1, "a"),))


def test_a_missing_newline_at_the_end_is_no_line() -> None:
    end = "\\ No newline at end of file\n"
    (hunk,) = only(GIT + f"@@ -1 +1 @@\n-a\n{end}+b\n{end}").hunks
    assert (hunk.removed, hunk.added) == (((1, "a"),), ((1, "b"),))


def test_removed_lines_that_look_like_headers_stay_lines() -> None:
    body = "@@ -1,2 +1,2 @@\n--- a/x\n-@@ -1 +1 @@\n+++ b/x\n+diff --git a/x b/x\n"
    (hunk,) = only(GIT + body).hunks
    assert hunk.removed == ((1, "-- a/x"), (2, "@@ -1 +1 @@"))
    assert hunk.added == ((1, "++ b/x"), (2, "diff --git a/x b/x"))
    hunks = only(GIT + "@@ -1 +1 @@\n--- a/x\n+++ b/x\n@@ -9 +9 @@\n-q\n+r\n").hunks
    assert [hunk.removed for hunk in hunks] == [((1, "-- a/x"),), ((9, "q"),)]


@pytest.mark.parametrize("counts", ["-1,9 +1,9", "-1 +1,7"])
@pytest.mark.parametrize("rest", ["", REST, REST.partition("\n")[2]])
def test_a_hunk_that_counts_too_many_lines_ends_where_the_next_file_begins(
    counts: str, rest: str
) -> None:
    change = read_change(GIT + f"@@ {counts} @@\n-a\n+b\n" + rest)
    assert [file.path for file in change.files] == ["f", *["last"] * bool(rest)]
    assert (change.files[0].hunks[0].removed, change.files[0].hunks[0].added) == (
        ((1, "a"),),
        ((1, "b"),),
    )
    assert "cut or edited" in change.notes[0]


def test_lines_that_a_header_does_not_count_are_read_with_a_note() -> None:
    change = read_change(GIT + "@@ -1 +1 @@\n-a\n+b\n+c\n x\n-y\n" + REST)
    assert [file.path for file in change.files] == ["f", "last"]
    assert change.files[0].hunks[0].added == ((1, "b"), (2, "c"))
    assert change.files[0].hunks[0].removed == ((1, "a"), (3, "y"))
    assert "cut or edited" in change.notes[0]


@given(st.integers(0, len(GIT + HUNK)))
def test_a_patch_that_is_cut_anywhere_gives_what_is_there(end: int) -> None:
    try:
        change = read_change((GIT + HUNK)[:end])
    except CrosscorpusError:
        return
    assert change.notes or change.files[0].hunks[0].removed == ((1, "a"),)


def test_the_combined_diff_of_a_merge_is_left_out_with_a_note() -> None:
    merge = "diff --cc f\nindex 1,2..3\n--- a/f\n+++ b/f\n@@@ -1,1 -1,1 +1,1 @@@\n- a\n -b\n++c\n"
    change = read_change(merge + REST)
    assert [file.path for file in change.files] == ["last"]
    assert "combined diff" in change.notes[0]


@pytest.mark.parametrize("patch", ["", b"", "Hello\nworld\n", "-a\n+b\n", HUNK, b"\xff\xfe"])
def test_what_is_no_diff_is_refused_in_one_line_that_says_what_to_give(patch: str | bytes) -> None:
    with pytest.raises(CrosscorpusError, match=r"give the output of `git diff`") as refused:
        read_change(patch)
    assert "\n" not in str(refused.value)


def git_diff(old: str, new: str, *options: str) -> bytes:
    """What git says of the file f of these two texts."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("a", old), ("b", new)):
            Path(folder, name).mkdir()
            Path(folder, name, "f").write_bytes(text.encode())
        command = ["git", "diff", "--no-index", "--no-prefix", *options, "a", "b"]
        return subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout


def test_a_diff_of_words_is_refused_and_told_the_option() -> None:
    old, new = "def f(a):\n    return a\n", "def f(a, b):\n    return a\n"
    with pytest.raises(CrosscorpusError, match="without --word-diff") as refused:
        read_change(git_diff(old, new, "--word-diff"))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("header", ["@@ ... @@", "@@ def f(): @@", "@@ -,+ @@"])
@pytest.mark.parametrize("start", [GIT, "--- a/f\n+++ b/f\n", "*** Update File: f\n"])
def test_a_hunk_without_line_numbers_is_refused_and_told_what_to_give(
    start: str, header: str
) -> None:
    with pytest.raises(
        CrosscorpusError, match=r"has no line numbers.*: give the output"
    ) as refused:
        read_change(start + header + "\n x\n-a\n+b\n")
    assert "\n" not in str(refused.value)
    assert "no line numbers" in read_change(GIT + header + "\n-a\n+b\n" + REST).notes[0]


def test_bytes_that_are_no_text_are_replaced_and_noted() -> None:
    change = read_change((GIT + "@@ -1 +1 @@\n-").encode() + b"a\xff\n+b\0\n")
    (hunk,) = change.files[0].hunks
    assert (hunk.removed, hunk.added) == (((1, "a\ufffd"),), ((1, "b\ufffd"),))
    assert "U+FFFD" in change.notes[0]


def test_a_series_of_mails_is_read_as_its_patches() -> None:
    mail = "From 1234567 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\nWhy.\n---\n f | 2 +-\n\n"
    end = "-- \n2.39.5\n\n"
    change = read_change(mail + GIT + HUNK + end + mail + REST + end)
    assert [file.path for file in change.files] == ["f", "last"]
    assert not change.notes


PARTS = [
    "+\n",
    "+" + "x" * 48 + "\n",
    "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
    " b/",
    '"\\',
]
STARTS = [
    (4_000_000, GIT + "@@ -0,0 +1,999999999 @@\n"),
    (2_000_000, "diff --git a/"),
    (2_000_000, "--- "),
]
PROGRAM = """
import sys, time
from operators.errors import CrosscorpusError
from operators.review.changes import read_change
starts, parts = eval(sys.stdin.read())
for size, start in starts:
    seconds = []
    open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
    for part in parts:
        patch = (start + part * (size // len(part))).encode()
        tries = []
        while not tries or (len(tries) < 3 and tries[-1] > size / 2_000_000):  # a busy machine
            began = time.process_time()
            try:
                change = read_change(patch)
            except CrosscorpusError:
                pass
            else:
                assert 0 < len(change.notes) <= 101
            tries.append(time.process_time() - began)
        seconds.append(min(tries))
    status = open("/proc/self/status").read()
    print(max(seconds), int(status.partition("VmHWM:")[2].split()[0]) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory was in use")
def test_megabytes_of_anything_are_read_in_seconds_and_300_mb() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=repr([STARTS, PARTS]),
        env=os.environ | {"PYTHONPATH": os.getcwd()},
        check=True,
        capture_output=True,
        text=True,
    )
    for (size, start), line in zip(STARTS, done.stdout.splitlines(), strict=True):
        seconds, megabytes = line.split()
        assert float(seconds) < 30 * size / 50_000_000, start
        assert int(megabytes) < 300, start


def test_after_a_file_that_is_too_long_the_others_are_read() -> None:
    lines = "+" + "x" * 48 + "\n"
    change = read_change(GIT + "@@ -0,0 +1,1000000 @@\n" + lines * 1_000_000 + REST)
    assert [file.path for file in change.files] == ["f", "last"]
    assert change.notes == ("f: what follows its first 1000000 bytes was left out",)


TEXTS = st.lists(
    st.sampled_from(
        ["a", "b", "-- a/x", "++ b/x", "@@ -1 +1 @@", "", " ", "\r", "\\ x", "-- ", "\f\u2028ä"]
    ),
    max_size=12,
)


def changed_lines(old: list[str], new: list[str], file: ChangedFile | None) -> None:
    """Check that the lines are those of the texts, and that they make one of the other."""
    removed = dict(line for hunk in file.hunks for line in hunk.removed) if file else {}
    added = dict(line for hunk in file.hunks for line in hunk.added) if file else {}
    assert all(old[number - 1] == text for number, text in removed.items())
    assert all(new[number - 1] == text for number, text in added.items())
    kept = [line for number, line in enumerate(old, 1) if number not in removed]
    assert kept == [line for number, line in enumerate(new, 1) if number not in added]


@given(TEXTS, TEXTS)
def test_every_line_of_a_diff_of_git_is_read(old: list[str], new: list[str]) -> None:
    patch = git_diff(*("".join(f"{one}\n" for one in text) for text in (old, new)))
    changed_lines(old, new, only(patch) if old != new else None)


PIECES = st.sampled_from(
    [
        *(GIT + HUNK + REST).encode().splitlines(keepends=True),
        *(b"diff --cc f\n", b"rename to ../x\n", b"rename from \xff\n", b"GIT binary patch\n"),
        *(b"Binary files a and b differ\n", b"new file mode 160000\n", b"@@ -1,2 +1 @@\n"),
        *(b'"', b"\0", b"@@", b"\x1b[m"),
    ]
)


@given(st.lists(PIECES | st.binary(max_size=8), max_size=30).map(b"".join))
def test_random_bytes_raise_nothing_but_an_error_for_a_person(patch: bytes) -> None:
    for given_patch in (patch, patch.decode("utf-8", "surrogateescape")):
        try:
            read_change(given_patch)
        except CrosscorpusError:
            continue
