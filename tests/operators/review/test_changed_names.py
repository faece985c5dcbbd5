"""Which names a change is about."""

from __future__ import annotations

import polars as pl

from operators.review.changed_names import (
    MOST_LINES,
    changed_lines,
    changed_names,
    code_hunks,
    touched_lines,
    used_names,
)
from operators.review.changes import Change, read_change

OLD = """class Lock:
    def acquire(self):
        wait()
        self.held = True

    def release(self):
        self.held = False
        notify(self)
"""

FILE = "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"


def patch(path: str, *hunks: str) -> Change:
    return read_change(
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{''.join(hunks)}"
    )


def passages(path: str = "src/lock.py", text: str = OLD, names: str = "") -> pl.DataFrame:
    metadata = f'{{"defines": [{names}]}}' if names else None
    row = {"path": path, "start_line": 1, "text": text, "metadata": metadata}
    types = {"path": pl.String, "start_line": pl.UInt32, "text": pl.String, "metadata": pl.String}
    return pl.DataFrame([row], schema=types)


DEFINED = '"Lock", "Lock.acquire", "Lock.release"'
IN_RELEASE = (
    "@@ -6,3 +6,3 @@\n     def release(self):\n-        self.held = False\n"
    "+        drop(self)\n         notify(self)\n"
)


def test_a_bare_name_of_two_owners_is_of_none_of_them() -> None:
    """Also of two files: the function of the one is no method of the other."""
    text = "class Lock:\n    def close(self):\n        a()\n\n\n"
    both = f"{text}{text.replace('Lock', 'Pool')}"
    names = '"Lock", "Lock.close", "Pool", "Pool.close"'
    hunk = "@@ -3 +3 @@\n-        a()\n+        b()\n"
    assert changed_names(patch("a.py", hunk), passages("a.py", both, names)) == ["close"]
    function = "@@ -1 +1 @@\n-def close(): a()\n+def close(): b()\n"
    alone = passages("b.py", "def close(): a()\n", '"close"')
    beside = pl.concat([alone, passages("a.py", text, '"Lock", "Lock.close"')])
    assert changed_names(patch("b.py", function), beside) == ["close"]


def test_a_change_inside_a_definition_is_about_that_definition() -> None:
    change = patch("src/lock.py", IN_RELEASE)
    assert changed_names(change, passages(names=DEFINED)) == ["Lock.release"]


def test_without_a_syntax_the_heading_of_the_hunk_says_what_is_changed() -> None:
    hunk = IN_RELEASE.replace("@@\n", "@@ def release(self):\n", 1)
    assert changed_names(patch("src/lock.py", hunk), passages(names="")) == ["release"]


def test_a_definition_that_is_removed_is_changed_and_one_that_is_new_is_not() -> None:
    hunk = "@@ -1,2 +1,2 @@\n class Lock:\n-    def acquire(self):\n+    def take(self):\n"
    assert changed_names(patch("src/lock.py", hunk), passages(names=DEFINED)) == ["Lock.acquire"]


def test_code_counts_before_its_tests_and_prose_has_no_names() -> None:
    body = "@@ -1,3 +1,3 @@\n def test_lock():\n-    a = 1\n-    b = 2\n+    a = 2\n+    b = 1\n"
    parts = {"tests/test_lock.py": body, "def.md": body, "src/lock.py": IN_RELEASE}
    change = read_change("".join(FILE.format(path=path) + of for path, of in parts.items()))
    both = pl.concat(
        [
            passages(names=DEFINED),
            passages(
                "tests/test_lock.py", "def test_lock():\n    a = 1\n    b = 2\n", '"test_lock"'
            ),
        ]
    )
    assert changed_names(change, both) == ["Lock.release", "test_lock"]


def test_names_that_new_lines_call_or_write_as_types_are_used() -> None:
    hunk = (
        "@@ -1,1 +1,4 @@\n-old(kept(1))\n+kept(FreshPool(size))  # and a comment(x)\n"
        '+# NoType here\n+def fresh(pool: Pool) -> None: say("not_called(1)")\n+fresh(1)\n'
    )
    used = used_names(patch("src/a.py", hunk), ["size"])
    assert used == ["FreshPool", "Pool", "say", "kept"]


def test_names_that_only_tests_use_come_behind_those_that_sources_use() -> None:
    in_test = "@@ -1,1 +1,3 @@\n a\n+NewRecorder(NoBody)\n+NewRecorder(startServer())\n"
    in_code = "@@ -1,1 +1,2 @@\n a\n+startServer(newRouter())\n"
    parts = {"pkg/server_test.go": in_test, "pkg/server.go": in_code}
    change = read_change("".join(FILE.format(path=path) + of for path, of in parts.items()))
    assert used_names(change, []) == ["startServer", "newRouter", "NewRecorder", "NoBody"]


def test_a_file_that_is_new_has_no_old_lines() -> None:
    said = "new file mode 100644\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+a()\n"
    new = read_change(f"diff --git a/n.py b/n.py\n{said}")
    assert touched_lines(new) == changed_lines(new) == []
    assert used_names(new, []) == []


def test_lines_over_the_limit_are_left_out_also_within_a_hunk() -> None:
    new = "".join(f"+name_{n}(1)\n" for n in range(MOST_LINES + 500))
    hunk = f"@@ -1,1 +1,{MOST_LINES + 501} @@\n class Lock:\n{new}"
    change = read_change(FILE.format(path="a.py") + hunk + FILE.format(path="b.py") + hunk)
    assert sum(len(one.added) for _, one in code_hunks(change)) == MOST_LINES
    used = used_names(change, [])
    assert len(used) == MOST_LINES
    assert f"name_{MOST_LINES - 1}" in used
    assert f"name_{MOST_LINES}" not in used


def test_hunks_without_a_changed_line_are_limited_too() -> None:
    hunks = "".join(f"@@ -{n} +{n} @@\n a\n" for n in range(1, 2 * MOST_LINES))
    hunks += "@@ -9999 +9999 @@\n-a\n+b\n"
    assert sum(1 for _ in code_hunks(patch("a.py", hunks))) == MOST_LINES
