"""Files below a folder."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pdf_maker import make_pdf
from whole_scan import read_all
from word_files import BODY, paragraph, word

from operators.sources.files import Skipped, read_file
from operators.sources.folder import folder_source, stated_release
from operators.sources.jsonl import SourceError
from operators.sources.protocol import Document, LazyDocument, ReadIssue

PAGE = "Foo Release 3.5.4\nfixes\n{}\n"


def write(root: Path, name: str | bytes, content: str | bytes) -> Path:
    file = Path(os.fsdecode(os.path.join(os.fsencode(root), os.fsencode(name))))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def documents(root: Path) -> dict[str, Document]:
    found = read_all(folder_source(root))
    return {item.document_id: item for item in found if isinstance(item, Document)}


def faults(root: Path) -> dict[str, ReadIssue]:
    return {
        item.where: item for item in read_all(folder_source(root)) if isinstance(item, ReadIssue)
    }


def test_every_format_gives_text_title_and_language(tmp_path: Path) -> None:
    write(tmp_path, "a.pdf", make_pdf(["One"], info={"Title": "The PDF"}))
    write(tmp_path, "b.md", "---\ntitle: The page\ndate: 2025-03-15\n---\n# Head\n")
    write(tmp_path, "c.adoc", "= The book\n:v: 2\n\nVersion {v}\n")
    write(tmp_path, "sub/d.html", "<title>The site</title><h1>Head</h1><p>text")
    write(tmp_path, "e.txt", "plain")
    write(tmp_path, "f.rst", "The guide\n=========\n\ntext\n")
    found = documents(tmp_path)
    assert {name: (d.title, d.language) for name, d in found.items()} == {
        "a.pdf": ("The PDF", "pdf"),
        "b.md": ("The page", "markdown"),
        "c.adoc": ("The book", "asciidoc"),
        "sub/d.html": ("The site", "html"),
        "e.txt": ("e.txt", "text"),
        "f.rst": ("The guide", "rst"),
    }
    assert found["c.adoc"].text.endswith("Version 2\n")
    assert found["b.md"].created_at == datetime(2025, 3, 15, tzinfo=UTC)
    assert {(d.corpus, d.repo) for d in found.values()} == {("docs", tmp_path.name)}


def test_folders_above_the_source_date_nothing_in_it(tmp_path: Path) -> None:
    root = tmp_path / "archive" / "2019" / "05"
    for name in ("guide.md", "2020-01-02-note.md", "2018/03/minutes.md"):
        write(root, name, "text")
    found = documents(root)
    assert found["guide.md"].date_source == "mtime"
    assert found["2020-01-02-note.md"].doc_date == datetime(2020, 1, 2, tzinfo=UTC)
    assert found["2018/03/minutes.md"].doc_date == datetime(2018, 3, 1, tzinfo=UTC)


def test_of_two_files_that_would_share_a_name_the_plain_one_is_read(tmp_path: Path) -> None:
    write(tmp_path, b"caf\xe9.md", "# Bytes\n")
    write(tmp_path, "caf%E9.md", "# Plain\n")
    assert documents(tmp_path)["caf%E9.md"].title == "Plain"
    assert not faults(tmp_path)["caf%E9.md"].failed


@pytest.mark.parametrize("path", [b"../../etc/cron.d/x", b"a/../../x", b"/etc/passwd"])
def test_a_path_that_leads_out_of_the_folder_is_refused(tmp_path: Path, path: bytes) -> None:  # H08
    with pytest.raises(Skipped, match="leads out of the folder"):
        read_file(os.fsencode(tmp_path), path, 100)


def test_the_hash_changes_with_the_content_and_with_nothing_else(tmp_path: Path) -> None:
    file = write(tmp_path, "a.md", "# A\n")
    os.utime(file, (1, 1))

    def hashes() -> list[str]:
        return [i.content for i in folder_source(tmp_path).scan() if isinstance(i, LazyDocument)]

    first = hashes()
    assert hashes() == first
    file.write_text("# B\n")
    os.utime(file, (1, 1))
    assert hashes() != first


def test_an_empty_folder_is_no_complete_scan(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is empty: is it mounted"):
        list(folder_source(tmp_path).scan())


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is it mounted"):
        folder_source(tmp_path / "none")
    with pytest.raises(SourceError, match="is not a folder"):
        folder_source(write(tmp_path, "a.md", ""))


@pytest.mark.skipif(os.geteuid() == 0, reason="root lists every folder")
def test_a_folder_that_cannot_be_listed_is_a_failure_without_a_key(tmp_path: Path) -> None:
    closed = write(tmp_path, "closed/a.md", "").parent
    closed.chmod(0)
    fault = faults(tmp_path)["closed"]
    closed.chmod(0o700)
    assert (fault.failed, fault.key) == (True, None)


def test_hidden_folders_and_other_files_are_left_out_with_a_reason(tmp_path: Path) -> None:
    write(tmp_path, ".git/readme.md", "x")
    write(tmp_path, "a.png", "x")
    write(tmp_path, "a.", "x")
    write(tmp_path, "b.txt", b"a\0b")
    os.mkfifo(tmp_path / "c.md")
    assert {name: (f.reason, f.failed) for name, f in faults(tmp_path).items()} == {
        ".git": ("hidden folder", False),
        "a.png": ("no known document type: .png", False),
        "a.": ("no known document type: no ending", False),
        "b.txt": ("binary", False),
        "c.md": ("not a regular file", False),
    }


def test_word_documents_and_notebooks_are_read_and_a_damaged_one_is_reported(
    tmp_path: Path,
) -> None:
    plan = word(BODY.format(paragraph("Plan", "Title")))
    write(tmp_path, "plan.docx", plan)
    write(tmp_path, "bad.docx", plan[:50])
    cell = {"cell_type": "markdown", "source": "# Notes\n\nof caches"}
    write(tmp_path, "notes.ipynb", json.dumps({"cells": [cell]}))
    write(tmp_path, "theory.tex", "\\section{Bees}\n\nhum")
    bad, notes, read, theory = read_all(folder_source(tmp_path))
    assert "not a readable .docx" in bad.reason
    assert (notes.title, notes.text) == ("Notes", "# Notes\n\nof caches")
    assert (read.title, read.language) == ("Plan", "docx")
    assert (theory.title, theory.text, theory.language) == ("Bees", "# Bees\n\nhum", "tex")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_of_a_pdf_that_is_cut_the_text_is_incomplete_or_the_report_says_it_is_lost(
    tmp_path: Path, share: float
) -> None:
    whole = make_pdf([f"Page {n} of the guide" for n in range(9)])
    at = int(share * whole.index(b"\nxref\n"))
    write(tmp_path, "a.pdf", whole[:at])
    [found] = read_all(folder_source(tmp_path))
    if isinstance(found, ReadIssue):
        assert (found.failed, "its text is lost" in found.reason) == (True, True)
    else:
        assert json.loads(found.metadata)["incomplete"] is True
        assert found.note


@pytest.mark.parametrize(
    ("news", "found"),
    [
        ("Foo 3.5.4 released (/news/3-5-4.html) (Dec 20, 2024)", "Dec 20, 2024"),
        ("3.5.4 is released (2024-12-20)", "2024-12-20"),
        ("Foo 3.5.4.1 released (Dec 20, 2024)", None),
        ("3.5.4 released (Dec 20, 2024)\nFoo 3.5.4 released (Dec 21, 2024)", None),
        ("3.5.4 released\n(Dec 20, 2024)", None),
    ],
)
def test_the_day_is_that_of_the_page_s_own_release(news: str, found: str | None) -> None:
    assert stated_release(PAGE.format(news), "3.5.4") == found


def test_a_page_that_does_not_begin_with_the_release_is_not_dated_by_it() -> None:
    news = "Foo 3.5.4 released (Dec 20, 2024)"
    assert stated_release("x" * 2000 + PAGE.format(news), "3.5.4") is None
    assert stated_release(PAGE.format(news), None) is None


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")


@pytest.mark.parametrize("size", [0, 100])
def test_a_file_of_up_to_the_limit_is_read_whole(tmp_path: Path, size: int) -> None:
    (tmp_path / "page").write_bytes(b"x" * size)
    assert read_file(bytes(tmp_path), b"page", 100).data == b"x" * size


def test_a_larger_file_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "page").write_bytes(b"x" * 101)
    with pytest.raises(Skipped, match="larger than 100 bytes"):
        read_file(bytes(tmp_path), b"page", 100)


@linux
def test_a_file_that_has_more_than_its_size_says_is_read_whole_or_skipped() -> None:
    whole = Path("/proc/version").read_bytes()  # its size is said to be 0
    assert read_file(b"/proc", b"version", len(whole)).data == whole
    with pytest.raises(Skipped, match=f"larger than {len(whole) - 1} bytes"):
        read_file(b"/proc", b"version", len(whole) - 1)
