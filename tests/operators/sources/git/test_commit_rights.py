"""A commit shows each reader its message, and of its files those that he may see."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation.principals import ALLOWED, EVERYONE
from operators.frames import CHANGED_PATHS
from operators.sources.chunking.chunker import chunk_documents
from operators.sources.git.commit_log import Commit, history_document
from operators.sources.git.commit_rights import chunks_by_readers
from operators.sources.git.repository import Repository
from operators.sources.protocol import document_frame
from operators.sources.rights_rules import read_rights, with_rights

REPOSITORY: Any = Repository(None, "0" * 40, "app", None, ())  # type: ignore[arg-type]
PATHS = ("payroll/bonus.md", "payroll/a b.py", "src/a.py", "docs/a.md", "b.py", "Files:", "@@ x")


def commit(paths: list[str], *, files: int | None = None, diff: str = "", message: str = "") -> Any:
    """A commit as a document."""
    names = tuple(path.encode() for path in paths)
    made = Commit(
        "c" * 40, (), None, None, "Ann", "Subject", message or "Subject\n\nBody", names,
        len(names) if files is None else files, names, diff,
    )  # fmt: skip
    return history_document(REPOSITORY, made)


def chunks(document: Any, rules: str, budget: int = 40) -> pl.DataFrame:
    """Its chunks by the rules."""
    rights = read_rights(rules)
    documents = with_rights(document_frame([document]), rights)

    def count(texts: Any) -> list[int]:
        return [len(text.split()) for text in texts]

    cut = chunk_documents(documents.drop("allowed", "allowed_by"), count, budget)
    return chunks_by_readers(cut, documents, rights)


def seen(frame: pl.DataFrame, caller: set[str]) -> str:
    """All that a caller sees of it, whom the commit's own rule allows."""
    shown = ""
    for text, metadata in frame.select("text", "metadata").iter_rows():
        known = json.loads(metadata)
        readers = known.pop(ALLOWED, None)
        if readers is None or caller & {*readers, EVERYONE} & ({*readers}):
            shown += f"{text}{json.dumps(known)}"
    return shown


HIDDEN = "rules: [{allow: everyone}, {allow: [hr], path: payroll/}]"
DIFF = "@@ payroll/bonus.md Bonus list\n+48,750 euros\n@@ b.py def b():\n-old()\n+new()\n"


def test_a_guest_sees_the_message_the_other_files_and_their_changes_alone() -> None:
    found = chunks(commit(["payroll/bonus.md", "b.py"], diff=DIFF), HIDDEN)
    guest, hr = seen(found, {"guest"}), seen(found, {"hr"})
    assert "Body" in guest
    assert "b.py" in guest
    assert "new()" in guest
    for word in ("payroll", "bonus", "Bonus", "48,750", "euros"):
        assert word not in guest
        assert word in hr
    assert '"files"' not in guest


def test_a_commit_of_hidden_files_alone_shows_its_message_and_no_trace_of_a_list() -> None:
    found = chunks(commit(["payroll/bonus.md"]), HIDDEN)
    assert "Body" in (guest := seen(found, {"guest"}))
    assert "Files" not in guest
    assert CHANGED_PATHS not in guest


def test_without_a_rule_by_path_or_a_hidden_file_the_chunks_are_as_before() -> None:
    document = commit(["src/a.py", "b.py"], diff="@@ b.py\n+new()\n")
    plain = chunks(document, "{}")
    assert chunks(document, HIDDEN).equals(plain)
    assert chunks(document, "rules: [{allow: [hr], corpus: history}]").equals(plain)


def test_a_rule_of_the_file_s_corpus_counts_and_a_part_needs_the_commit_s_readers() -> None:
    rules = "rules: [{allow: [dev]}, {allow: [hr, dev], corpus: docs, path: payroll/}]"
    found = chunks(commit(["payroll/bonus.md", "payroll/a b.py"]), rules)
    assert not found["metadata"].str.contains(ALLOWED).any()  # who sees the commit sees both
    rules = "rules: [{allow: [dev]}, {allow: [hr], corpus: docs, path: payroll/}]"
    found = chunks(commit(["payroll/bonus.md", "payroll/a b.py"]), rules)
    assert "bonus" not in seen(found, {"dev", "hr"})  # none is both by name
    assert "a b.py" in seen(found, {"dev"})


def test_what_a_list_leaves_out_or_a_diff_does_not_tell_is_for_those_who_see_all() -> None:
    many = [f"src/{n}.py" for n in range(100)]
    diff = "@@ payroll/bonus.md\n+secret one\n@@ src/1.py f\n+plain two\n"
    found = chunks(commit(many, files=120, diff=diff), HIDDEN, budget=400)
    guest = seen(found, {"guest"})
    assert "secret" not in guest
    assert "20 more" not in guest
    assert "plain two" in guest
    assert "secret one" in seen(found, {"hr"})
    assert "and 20 more" in seen(found, {"hr"})


def test_a_message_that_looks_like_a_list_or_a_diff_hides_nothing_and_opens_nothing() -> None:
    message = "Subject\n\nFiles:\nsrc/a.py\n@@ src/a.py\n+said in the message"
    diff = "@@ payroll/bonus.md\n+secret\n"
    found = chunks(commit(["payroll/bonus.md"], diff=diff, message=message), HIDDEN)
    guest = seen(found, {"guest"})
    assert "said in the message" in guest
    assert "secret" not in guest
    assert "payroll" not in guest


@given(
    st.lists(st.sampled_from(PATHS), min_size=1, unique=True),
    st.lists(st.tuples(st.sampled_from(PATHS), st.integers(0, 9)), max_size=6),
    st.sampled_from(["payroll/", "*.py", "docs/", "Files:", "src/"]),
    st.integers(5, 60),
)
def test_each_reader_sees_each_line_of_his_files_and_none_of_another(
    paths: list[str], hunks: list[tuple[str, int]], hidden: str, budget: int
) -> None:
    diff = "".join(f"@@ {path} f\n+marks{n} {path}\n" for path, n in hunks if path in paths)
    rules = f"rules: [{{allow: everyone}}, {{allow: [hr], path: '{hidden}'}}]"
    found = chunks(commit(paths, diff=diff), rules, budget)
    rule = read_rights(rules).rules[1]
    secret = [path for path in paths if rule.matches("code", "app", path)]
    guest, hr = seen(found, {"guest"}), seen(found, {"hr"})
    assert "Body" in guest
    for path in paths:
        lines = [f"{path}\n", *(f"+marks{n} {path}\n" for of, n in hunks if of == path)]
        for line in lines:
            assert line in hr
            if path != "Files:":
                assert (line in guest) == (path not in secret)
    assert sorted(found["chunk_id"].to_list()) == sorted(set(found["chunk_id"].to_list()))
    everything = "".join(found["text"].to_list()).replace("\n", "").replace(" ", "")
    whole = commit(paths, diff=diff).text.replace("\n", "").replace(" ", "")
    assert sorted(everything) == sorted(whole)
