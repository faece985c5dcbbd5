"""What stands around the hunks of a change and not in them."""

from __future__ import annotations

import json

import polars as pl

from operators.frames import SHOWN
from operators.review.around import NEAR, around_hunks
from operators.review.changes import Change, read_change

OLD = """def first(size):
    return size


def flush(disk, pages):
    disk.open()
    count = 0
    for page in pages:
        disk.write(page)
        count += 1
    disk.sync()
    disk.close()
    log(count)
    return count


def last(size):
    return size
"""
LINES = OLD.rstrip("\n").split("\n")
HUNK = (
    "@@ -{0},3 +{0},3 @@\n         disk.write(page)\n-        count += 1\n"
    "+        count += page.size\n     disk.sync()\n"
)


def patch(path: str, *hunks: str) -> Change:
    return read_change(f"--- a/{path}\n+++ b/{path}\n{''.join(hunks)}")


def around(change: Change, text: str = OLD, **more: object) -> pl.DataFrame:
    first = 21
    row = {"query_id": 0, "chunk_id": 7, "corpus": "code", "rank": 0, "path": "src/disk.py"}
    row |= {"text": text, "start_line": first, "end_line": first + text.count("\n") - 1}
    row |= {"metadata": json.dumps({"defines": ["first", "flush", "last"]}), "score": 1.0}
    row["source_label"] = f"[code: src/disk.py:{first}-{row['end_line']} flush]"
    return around_hunks(change, pl.DataFrame([row | more], schema=SHOWN))


def test_the_rest_of_a_function_is_shown_without_the_lines_of_the_diff() -> None:
    rest = around(patch("src/disk.py", HUNK.format(29)))
    assert rest["text"].to_list() == [
        "def flush(disk, pages):\n    disk.open()\n    count = 0\n    for page in pages:\n...\n"
        "    disk.close()\n    log(count)\n    return count"
    ]
    assert rest["start_line", "end_line"].rows() == [(25, 34)]
    assert rest["source_label"].to_list() == ["[code: src/disk.py:25-34 flush]"]


def test_a_head_that_is_far_above_stands_before_the_lines() -> None:
    far = OLD.replace("    count = 0\n", "    count = 0\n" + "    disk.wait()\n" * NEAR)
    (text,) = around(patch("src/disk.py", HUNK.format(29 + NEAR)), far)["text"]
    assert text.startswith("def flush(disk, pages):\n...\n    disk.wait()\n")


def test_a_head_outside_of_the_passage_is_told_by_its_signature() -> None:
    tail, held = "\n".join(LINES[6:14]) + "\n", json.dumps({"signatures_above": "class Disk:"})
    (text,) = around(patch("src/disk.py", HUNK.format(23)), tail, metadata=held)["text"]
    assert text.startswith("class Disk:\n...\n    count = 0\n")


def test_a_hunk_is_found_by_its_text_where_its_lines_moved() -> None:
    moved = around(patch("src/disk.py", HUNK.format(500)))
    assert moved["start_line", "end_line"].rows() == [(25, 34)]


def test_a_passage_that_has_the_change_already_shows_nothing() -> None:
    new = OLD.replace("count += 1", "count += page.size")
    assert around(patch("src/disk.py", HUNK.format(29)), new).is_empty()
    assert around(patch("src/other.py", HUNK.format(29))).is_empty()


def test_functions_come_before_their_tests_and_imports_last() -> None:
    parts = ("src/imports.py", "tests/test_disk.py", "src/disk.py")
    change = read_change("".join(f"--- a/{p}\n+++ b/{p}\n{HUNK.format(29)}" for p in parts))
    rows = []
    for number, path in enumerate(parts):
        held = {"defines": ["flush"] if path != "src/imports.py" else []}
        row = {"query_id": 0, "chunk_id": number, "corpus": "code", "rank": number, "path": path}
        row |= {"text": OLD, "start_line": 21, "end_line": 38, "metadata": json.dumps(held)}
        rows.append(row)
    found = around_hunks(change, pl.DataFrame(rows, schema=SHOWN))
    assert found["path"].to_list() == ["src/disk.py", "tests/test_disk.py", "src/imports.py"]
