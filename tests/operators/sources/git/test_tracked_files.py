from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from word_files import BODY, paragraph, word

from operators.sources.git.tracked_files import MAX_FILE
from operators.sources.protocol import ReadIssue

EPOCH = 1_600_000_000


def moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_only_tracked_files_are_read(repo: Any) -> None:
    repo.commit("first", **{"a.py": "1"})
    repo.write("secret.py", "untracked")
    assert set(repo.documents("code")) == {"a.py"}


def test_a_file_bears_the_date_of_its_last_commit_and_a_link_there(repo: Any) -> None:
    repo.git("remote", "add", "origin", "git@github.com:org/app.git")
    old = repo.commit("old", EPOCH, **{"a b#.py": "1", "c.py": "1"})
    repo.commit("new", EPOCH + 1000, **{"c.py": "2"})
    got = repo.documents("code")
    assert got["a b#.py"].created_at == moment(EPOCH + 60)
    assert got["a b#.py"].date_source == "git"
    assert got["a b#.py"].uri == f"https://github.com/org/app/blob/{old}/a%20b%23.py"
    assert got["c.py"].created_at == moment(EPOCH + 1060)
    assert got["c.py"].repo == "org/app"
    assert json.loads(got["a b#.py"].metadata) == {"commit": old, "short_commit": old[:7]}


def test_what_a_page_says_of_its_date_is_believed_before_the_commit(repo: Any) -> None:
    files = {
        "a.md": "---\ndate: 2019-03-04\ntitle: The Guide\n---\ntext\n",
        "b.adoc": "= B\nAnn\nv1.2, 2018-01-02\n\ntext\n",
        "2017-05-06-post.md": "# Post\n",
        "d.md": "---\ndate: 2999-01-01\n---\n# D\n",
    }
    repo.commit("one", **files)
    found = repo.documents("docs")
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


def test_a_page_that_was_never_committed_bears_the_date_in_its_name(repo: Any) -> None:
    repo.commit("one", **{"a.py": "1"})
    repo.write("2017-05-06-post.md", "# Post\n")
    repo.git("add", ".")
    post = repo.documents("docs")["2017-05-06-post.md"]
    assert (post.doc_date, post.date_source) == (datetime(2017, 5, 6, tzinfo=UTC), "name")
    assert post.created_at is None


def test_versions_of_one_page_share_a_lineage_and_code_has_none(repo: Any) -> None:
    files = {
        "docs/v1.2/guide.md": "# Guide\n",
        "docs/v1.10/guide.md": "# Guide\n",
        "docs/next/guide.md": "---\nversion: 2.0\n---\n# Guide\n",
        "v1.2/a.py": "x = 1\n",
    }
    repo.commit("one", **files)
    found = repo.documents("docs")
    assert {name: d.version for name, d in found.items()} == {
        "docs/v1.2/guide.md": "1.2",
        "docs/v1.10/guide.md": "1.10",
        "docs/next/guide.md": "2.0",
    }
    assert found["docs/v1.2/guide.md"].lineage_id == found["docs/v1.10/guide.md"].lineage_id
    [code] = repo.documents("code").values()
    assert (code.version, code.lineage_id) == (None, None)


def test_an_uncommitted_change_is_read_but_not_linked(repo: Any) -> None:
    repo.git("remote", "add", "origin", "https://github.com/org/app")
    repo.commit("first", **{"a.py": "1"})
    repo.write("a.py", "2")
    got = repo.documents("code")["a.py"]
    assert (got.text, got.uri, got.created_at) == ("2", None, moment(EPOCH + 60))
    assert json.loads(got.metadata)["uncommitted"] is True


def test_a_checkout_with_other_line_ends_is_no_change(repo: Any) -> None:
    repo.git("remote", "add", "origin", "https://github.com/org/app")
    repo.commit("first", **{"a.py": "1\n2\n"})
    repo.write("a.py", "1\r\n2\r\n")
    assert repo.documents("code")["a.py"].uri is not None


def test_what_is_left_out_says_why(repo: Any) -> None:
    repo.commit("first",
        **{
            "a.png": b"\x89PNG\0", "b.py": b"x\0y", "big.sql": b"-" * (MAX_FILE + 1),
            "yarn.lock": "x", "plain": "no shebang", "tool": "#!/bin/sh\n", "gone.py": "1",
        },
    )  # fmt: skip
    (repo.path / "gone.py").unlink()
    assert repo.issues() == {
        "a.png": "no known text type: .png",
        "b.py": "binary",
        "big.sql": f"larger than {MAX_FILE} bytes",
        "yarn.lock": "dependency lock or generated file",
        "plain": "no known text type",
        "gone.py": "not in the working tree",
    }
    assert not any(item.failed for item in repo.scan() if isinstance(item, ReadIssue))
    assert repo.documents("code")["tool"].language == "bash"


def test_settings_with_a_leading_dot_are_code_and_what_a_program_wrote_is_not(
    repo: Any,
) -> None:
    texts = {".editorconfig": "root = true\n", "vector.control": "relocatable = true\n"}
    texts |= {".env.example": "PORT=8080\n"}
    left = {"a.out": b"\x7fELF\0", "expected/hnsw.out": " count\n", ".env": "PORT=8080\n"}
    repo.commit("first", **texts, **left)
    assert {path: document.text for path, document in repo.documents("code").items()} == texts
    assert repo.issues().keys() == left.keys()


def test_notebooks_and_word_documents_are_read_as_prose_and_damaged_ones_say_why(repo: Any) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Ingest\n", "how"]},
        {"cell_type": "code", "source": "go()", "outputs": [{"text": "x" * MAX_FILE}]},
    ]
    repo.commit("first",
        **{
            "a.ipynb": json.dumps({"cells": cells}).encode(), "b.ipynb": "{", "c.docx": b"PK\0",
            "d.docx": word(BODY.format(paragraph("Plan", "Heading1") + paragraph("First."))),
        },
    )  # fmt: skip
    read = repo.documents("docs")
    assert {name: (found.title, found.text, found.language) for name, found in read.items()} == {
        "a.ipynb": ("Ingest", "# Ingest\nhow\n\n```python\ngo()\n```", "ipynb"),
        "d.docx": ("Plan", "# Plan\n\nFirst.", "docx"),
    }
    failed = {item.where: item.key for item in repo.scan() if isinstance(item, ReadIssue)}
    assert {name: key and key[0] for name, key in failed.items()} == {
        "b.ipynb": "docs",
        "c.docx": "docs",
    }


def test_a_script_whose_name_ends_with_a_dot_is_known_by_its_first_line(repo: Any) -> None:
    repo.commit("first", **{"tool.": "#!/bin/sh\n"})
    assert repo.documents("code")["tool."].language == "bash"


def test_symbolic_links_are_never_followed(repo: Any, working_tree: Any, tmp_path: Path) -> None:
    working_tree.write(tmp_path, "outside/secret.py", "SECRET")
    repo.commit("first", **{"d/secret.py": "tracked", "e.py": "tracked"})
    (repo.path / "link.py").symlink_to(tmp_path / "outside" / "secret.py")
    (repo.path / "loop").symlink_to(".")
    repo.commit("links")
    (repo.path / "d" / "secret.py").unlink()
    (repo.path / "d").rmdir()
    (repo.path / "d").symlink_to(tmp_path / "outside")
    (repo.path / "e.py").unlink()
    (repo.path / "e.py").symlink_to(tmp_path / "outside" / "secret.py")
    assert repo.documents("code") == {}
    assert repo.issues() == {
        "link.py": "symbolic link",
        "loop": "symbolic link",
        "d/secret.py": "symbolic link on the way",
        "e.py": "symbolic link",
        "files that git does not track": "1 (such as d): `git add` them and run this again, or have"
        " git ignore them",
    }


def test_a_file_that_cannot_be_read_is_a_failure_that_names_it(repo: Any) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads every file")
    repo.commit("first", **{"a.py": "1", "b.py": "2"})
    (repo.path / "a.py").chmod(0)
    [issue] = [item for item in repo.scan() if isinstance(item, ReadIssue)]
    assert (issue.failed, issue.key) == (True, ("code", "app", "a.py"))


def test_a_huge_sparse_file_is_left_out_without_being_read(repo: Any) -> None:
    repo.commit("first", **{"big.md": "x"})
    os.truncate(repo.path / "big.md", 20 * 1024**3)
    assert repo.issues() == {"big.md": f"larger than {MAX_FILE} bytes"}


def test_a_file_is_read_in_its_encoding_and_damaged_places_are_replaced(repo: Any) -> None:
    damaged = "é and ".encode() + b"\xff"
    utf16 = "\ufeffé".encode("utf-16-le")
    repo.commit("first", **{"a.py": b"caf\xe9", "b.sql": utf16, "c.py": damaged})
    got = {name: document.text for name, document in repo.documents("code").items()}
    assert got == {"a.py": "café", "b.sql": "é", "c.py": "é and \ufffd"}


def test_odd_file_names_keep_distinct_ids(repo: Any) -> None:
    names = [b"caf\xe9.md", b"a\nb.md", "é.md".encode(), "e\u0301.md".encode(), b"-- .md", b":a.md"]
    for name in names:
        repo.write(name, "text")
    repo.commit("odd")
    found = repo.documents("docs")
    assert set(found) == {"caf%E9.md", "a\nb.md", "é.md", "e\u0301.md", "-- .md", ":a.md"}
    assert all(d.created_at == moment(EPOCH + 60) for d in found.values())
