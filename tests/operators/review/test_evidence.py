"""What of the passages found a reviewer is shown, and why."""

from __future__ import annotations

from typing import Any

import polars as pl

from operators.frames import SHOWN
from operators.review.evidence import MOST_DEFINED, by_section, evidence
from operators.review.review_questions import QUESTIONS

TEXT = """import cache


def run(size):
    pool = Pool(size)
    pool.flush_all()
    return pool
"""


def question(
    number: int, purpose: str, about: str | None = None, text: str = "x"
) -> dict[str, Any]:
    return {"query_id": number, "purpose": purpose, "about": about, "text": text}


def passage(chunk_id: int, text: str = TEXT, query_id: int = 0, **more: Any) -> dict[str, Any]:
    path = more.get("path", "src/run.py")
    first, lines = more.get("start_line", 1) or 0, text.rstrip("\n").count("\n")
    row = {"query_id": query_id, "chunk_id": chunk_id, "corpus": "code", "rank": 0, "text": text}
    row |= {"path": path, "document_id": path, "repo": "o/r", "score": 1.0, "start_line": first}
    row |= {"end_line": first + lines, "metadata": "{}", "alternate_sources": []}
    row["source_label"] = f"[code: {path}:{first}-{first + lines}]"
    return row | more


def found(
    passages: list[dict[str, Any]],
    questions: list[dict[str, Any]],
    touched: list[tuple[str, int, int]] | None = None,
) -> pl.DataFrame:
    frame = pl.DataFrame(passages, schema=SHOWN)
    asked = pl.DataFrame(questions, schema=QUESTIONS)
    return evidence(frame, asked, touched or [])


def test_an_entry_shows_the_lines_that_matter_and_says_why() -> None:
    entries = found([passage(7)], [question(0, "caller", "flush_all")])
    assert entries["text"].to_list() == [TEXT.split("\n\n\n")[1].rstrip("\n")]
    assert entries["source_label"].to_list() == [
        "[code: src/run.py:4-7; uses flush_all, which changes]"
    ]
    assert entries["start_line", "end_line", "section"].rows() == [(4, 7, "caller")]


def test_a_definition_is_no_use_of_itself() -> None:
    text = "def flush_all(self):\n    self.dirty.clear()\n"
    assert found([passage(7, text)], [question(0, "caller", "flush_all")]).is_empty()
    text = "int flush_all(int n) {\n  return n;\n}\n"
    assert found([passage(7, text)], [question(0, "caller", "flush_all")]).is_empty()


def test_a_single_common_word_counts_where_it_is_called() -> None:
    asked = [question(0, "caller", "flush")]
    assert found([passage(7, "# to flush is to write\n")], asked).is_empty()
    assert found([passage(7, "a.flush(now)\n")], asked).height == 1


def test_a_use_in_a_test_is_of_the_tests() -> None:
    test = passage(7, path="tests/test_run.py")
    entries = found([test], [question(0, "caller", "flush_all")])
    assert entries["section"].to_list() == ["test"]
    assert "tests flush_all" in entries["source_label"][0]


def test_a_name_that_many_define_says_nothing() -> None:
    several = [
        passage(n, "def run_all():\n    pass\n", path=f"src/{n}.py")
        for n in range(MOST_DEFINED + 1)
    ]
    assert found(several, [question(0, "definition", "run_all")]).is_empty()
    assert found(several[1:], [question(0, "definition", "run_all")]).height == MOST_DEFINED


def test_a_bare_name_says_something_where_one_passage_defines_it() -> None:
    several = [passage(n, "def close():\n    pass\n", path=f"src/{n}.py") for n in range(2)]
    assert found(several, [question(0, "definition", "close")]).is_empty()
    assert found(several[1:], [question(0, "definition", "close")]).height == 1


def test_the_use_of_a_bare_name_stands_near_its_owner() -> None:
    asked = [question(0, "caller", "Session.close")]
    assert found([passage(7, "file.close()\n")], asked).is_empty()
    entries = found([passage(7, "with open_session() as s:\n    s.close()\n")], asked)
    assert "uses Session.close, which changes" in entries["source_label"][0]


def test_an_example_is_no_test_of_the_like() -> None:
    asked = [question(0, "test", None)]
    assert found([passage(7, path="examples/run.py")], asked).is_empty()
    assert found([passage(7, path="tests/test_run.py")], asked).height == 1


def test_a_passage_that_implements_something_for_a_type_does_not_define_it() -> None:
    asked = [question(0, "definition", "Pool")]
    listed = {"metadata": '{"defines": ["Pool"]}'}
    assert found([passage(7, "impl Clone for Pool {\n}\n", **listed)], asked).is_empty()
    assert found([passage(7, "pub struct Pool {\n}\n", **listed)], asked).height == 1


def test_what_the_diff_shows_is_left_out() -> None:
    asked = [question(0, "caller", "flush_all")]
    assert found([passage(7)], asked, [("src/run.py", 3, 8)]).is_empty()
    assert found([passage(7)], asked, [("src/run.py", 1, 4)]).height == 1
    assert found([passage(7)], asked, [("src/other.py", 3, 8)]).height == 1


def remark(chunk_id: int, line: int | None, **more: Any) -> dict[str, Any]:
    text = "src/run.py\n+a\n+b\n+c\n+d\n+e\n\n@ann: never flush here\n\n@bob: why?\n"
    text = more.pop("text", text)
    held = f'{{"line": {"null" if line is None else line}{more.pop("held", "")}}}'
    whole = {"corpus": "review", "start_line": None, "end_line": None, "metadata": held}
    return passage(chunk_id, text, **whole, **more)


def test_a_passage_of_a_thread_that_has_only_code_is_no_remark() -> None:
    hunk = "src/run.py\n@@ -1,9 +1,9 @@ run\n" + "+    pool.flush()\n" * 20
    said = [remark(1, 12, text=hunk), remark(2, 12, text=f"{hunk}\n@ann (author): Why now?\n")]
    said += [remark(3, 12, text="Because nobody waits.\n")]
    entries = found(said, [question(0, "remark", "src/run.py")], [("src/run.py", 10, 20)])
    assert entries["chunk_id"].to_list() == [2, 3]
    assert entries["text"][0].split("\n")[-1] == "@ann (author): Why now?"


def test_remarks_on_the_lines_come_first_and_tell_what_became_of_them() -> None:
    remarks = [remark(1, 500), remark(2, 12, held=', "outdated": true', rank=1)]
    asked = [question(0, "remark", "src/run.py")]
    entries = found(remarks, asked, [("src/run.py", 10, 20)])
    assert entries["chunk_id"].to_list() == [2, 1]
    first, second = entries["source_label"]
    assert first.endswith("a remark on these lines, after which the line was changed]")
    assert second.endswith("a remark on this file]")
    assert entries["text"][0].startswith("+d\n+e\n\n@ann: never flush here")


def test_of_commits_those_that_touch_many_files_and_their_lists_are_left_out() -> None:
    def commit(number: int, files: int) -> dict[str, Any]:
        text = "Flush once\n\nTwice was slow.\n\nFiles:\nsrc/run.py\n"
        held = {"corpus": "history", "document_id": "c" * 40, "path": None}
        return passage(number, text, metadata=f'{{"files": {files}}}', **held)

    entries = found([commit(1, 2), commit(2, 300)], [question(0, "commit", "c" * 40)])
    assert entries["chunk_id", "text"].rows() == [(1, "Flush once\n\nTwice was slow.")]


def test_what_stands_around_a_hunk_takes_turns_with_the_pages() -> None:
    asked = [question(0, "page"), question(1, "caller", "flush_all")]
    pages = [passage(n, "words\n", corpus="docs", path=f"d/{n}.md", rank=n) for n in (1, 2)]
    rest = passage(21, "def run(size):\n...\n    return pool", start_line=4)
    frame = pl.DataFrame([*pages, passage(11, query_id=1)], schema=SHOWN)
    around = pl.DataFrame([rest | {"end_line": 7}], schema=SHOWN)
    entries = evidence(frame, pl.DataFrame(asked, schema=QUESTIONS), [], around)
    assert entries["chunk_id"].to_list() == [11, 21, 1, 2]
    shown = entries.filter(section="around")
    assert shown["text", "start_line", "end_line"].rows() == [(rest["text"], 4, 7)]
    assert shown["source_label"][0].endswith("; around lines that change]")
    kept = by_section(entries, pl.Series([1, 21, 11]))
    assert kept["chunk_id"].to_list() == [11, 21, 1]
