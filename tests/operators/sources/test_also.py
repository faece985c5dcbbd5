"""Endings that a source reads because somebody chose them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from whole_scan import read_all

from operators.errors import CrosscorpusError
from operators.sources.folder import folder_source
from operators.sources.git.git_source import git_source
from operators.sources.protocol import Document, Item, ReadIssue

FILES = {"a.xyz": "alpha\n", "b.tpl": "beta\n", "c.py": "pass\n", "requirements.txt": "x==1\n"}


def _kinds(items: list[Item]) -> dict[str, tuple[str, str | None]]:
    found = [item for item in items if isinstance(item, Document) and item.corpus != "history"]
    return {item.document_id: (item.corpus, item.language) for item in found}


def test_a_working_tree_reads_a_chosen_ending_as_code_of_its_name_or_as_the_kind_given(
    repo: Any,
) -> None:
    repo.commit("first", **FILES, **{"d.note": "gamma\n", "e.h": "int f();\n"})
    usual = {"c.py": ("code", "python"), "requirements.txt": ("code", "ini")}
    usual |= {"b.tpl": ("code", "go_template")}
    assert _kinds(list(git_source(repo.path).scan())) == usual | {"e.h": ("code", "c")}
    chosen = [".xyz", "tpl=html", ".NOTE=markdown", ".txt", ".h=cpp"]
    assert _kinds(list(git_source(repo.path, also=chosen).scan())) == usual | {
        "a.xyz": ("code", "xyz"),
        "b.tpl": ("code", "html"),
        "d.note": ("docs", "markdown"),
        "e.h": ("code", "cpp"),
    }


def test_a_folder_reads_a_chosen_ending_into_its_corpus(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert _kinds(read_all(folder_source(tmp_path))) == {}
    found = _kinds(read_all(folder_source(tmp_path, also=[".py", ".xyz", ".txt=text"])))
    assert found == {
        "a.xyz": ("docs", "xyz"),
        "c.py": ("docs", "python"),
        "requirements.txt": ("docs", "text"),
    }


@pytest.mark.parametrize(
    ("nonsense", "said"),
    [
        ("*.log", "is no ending"),
        (".tar.gz", "is no ending"),
        ("src/", "is no ending"),
        (".log=markdwon", "did you mean 'markdown'"),
        (".log=zzzz", "give a language, markdown or text"),
        (".docx=text", "no text"),
    ],
)
def test_nonsense_is_refused_in_one_line_that_says_what_to_give(
    nonsense: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(CrosscorpusError, match=said) as refused:
        folder_source(tmp_path, also=[nonsense])
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 120


def test_what_is_left_out_for_its_ending_names_it(repo: Any, tmp_path: Path) -> None:
    repo.commit("first", **{"a.xyz": "alpha\n", "c.blob": b"\1\0\2"})
    for items in (git_source(repo.path).scan(), read_all(folder_source(repo.path))):
        issues = [item for item in items if isinstance(item, ReadIssue) and item.ending]
        assert {i.where: i.ending for i in issues} == {"a.xyz": ".xyz", "c.blob": ".blob"}
