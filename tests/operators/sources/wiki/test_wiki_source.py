""""""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from wiki_pages import documents, faults

from operators.sources.jsonl import SourceError
from operators.sources.protocol import ReadIssue
from operators.sources.wiki.wiki_source import page_name, wiki_address, wiki_source

EPOCH = 1_600_000_000


def git(path: Path, *arguments: str, when: int = EPOCH) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
        "GIT_AUTHOR_NAME": "Ann",
        "GIT_AUTHOR_EMAIL": "ann@example.org",
        "GIT_COMMITTER_NAME": "Ann",
        "GIT_COMMITTER_EMAIL": "ann@example.org",
        "GIT_AUTHOR_DATE": f"{when} +0000",
        "GIT_COMMITTER_DATE": f"{when} +0000",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    subprocess.run(["git", *arguments], cwd=path, env=env, check=True, capture_output=True)


def test_pages_of_a_folder_have_names_namespaces_and_text(tmp_path: Path) -> None:
    (tmp_path / "guides").mkdir()
    (tmp_path / "guides/How-to-start.md").write_text("# Start\n")
    (tmp_path / "Help:Editing.mediawiki").write_text("== A ==\n'''b''' [[Category:C]]\n")
    found = documents(tmp_path)
    assert {(d.title, d.text, d.language) for d in found.values()} == {
        ("How to start", "# Start\n", "markdown"),
        ("Editing", "== A ==\nb\n", "mediawiki"),
    }
    editing = json.loads(found["Help:Editing.mediawiki"].metadata)
    assert (editing["namespace"], editing["categories"]) == ("Help", ["C"])
    assert json.loads(found["guides/How-to-start.md"].metadata)["namespace"] == "guides"
    assert {(d.corpus, d.repo) for d in found.values()} == {("wiki", tmp_path.name)}


def test_a_clone_dates_a_page_by_its_last_commit_and_links_to_the_forge(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "remote", "add", "origin", "https://github.com/org/app.wiki.git")
    for name, when in (("Home.md", EPOCH), ("Set up.md", EPOCH + 1000)):
        (tmp_path / name).write_text("# A\n")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", "m", when=when)
    found = documents(tmp_path)
    home = found["Home.md"]
    assert home.created_at == datetime.fromtimestamp(EPOCH, UTC)
    assert (home.date_source, home.repo) == ("git", "org/app")
    assert json.loads(home.metadata)["last_modified"].startswith("2020-09-13")
    assert {d.uri for d in found.values()} == {
        "https://github.com/org/app/wiki/Home",
        "https://github.com/org/app/wiki/Set%20up",
    }


def test_the_oldest_commit_of_a_shallow_clone_dates_no_page(tmp_path: Path) -> None:
    wiki, clone = tmp_path / "wiki", tmp_path / "clone"
    wiki.mkdir()
    git(wiki, "init", "-q")
    for name, when in (("Old.md", EPOCH), ("Home.md", EPOCH + 1000), ("New.md", EPOCH + 2000)):
        (wiki / name).write_text("# A\n")
        git(wiki, "add", "-A")
        git(wiki, "commit", "-q", "-m", "m", when=when)
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{wiki}", str(clone))
    found = documents(clone)
    dated = {name: page.created_at for name, page in found.items()}
    new = datetime.fromtimestamp(EPOCH + 2000, UTC)
    assert dated == {"Old.md": None, "Home.md": None, "New.md": new}
    assert {name for name, page in found.items() if page.date_source == "git"} == {"New.md"}
    git(clone, "fetch", "-q", "--unshallow")
    assert documents(clone)["Old.md"].created_at == datetime.fromtimestamp(EPOCH, UTC)


def test_a_page_of_a_clone_is_known_again_whatever_the_clocks_of_its_files(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "Home.md").write_text("# A\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "m")
    [first] = documents(tmp_path).values()
    os.utime(tmp_path / "Home.md", (5, 5))
    assert documents(tmp_path)["Home.md"].source_hash == first.source_hash


def test_what_is_no_page_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "Home.md").write_text("x")
    (tmp_path / "_Sidebar.md").write_text("x")
    (tmp_path / "a.png").write_text("x")
    (tmp_path / "a.").write_text("x")
    (tmp_path / "b.wiki").write_text("#REDIRECT [[Home]]")
    (tmp_path / "c.md").symlink_to("/etc/passwd")
    assert faults(tmp_path) == {
        "_Sidebar.md": ("part of every page, no page of its own", False),
        "a.png": ("no wiki page: .png", False),
        "a.": ("no wiki page: no ending", False),
        "b.wiki": ("redirect to Home", False),
        "c.md": ("symbolic link", False),
    }
    assert list(documents(tmp_path)) == ["Home.md"]


def test_a_page_that_became_a_redirect_is_no_document_any_more(tmp_path: Path) -> None:
    (tmp_path / "a.wiki").write_text("#REDIRECT [[B]]")
    [item] = wiki_source(tmp_path).scan()
    assert isinstance(item, ReadIssue)  # so that the run takes it out


def test_an_empty_or_missing_wiki_is_no_complete_scan(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is it mounted"):
        list(wiki_source(tmp_path).scan())
    with pytest.raises(SourceError, match="does not exist"):
        wiki_source(tmp_path / "none")


def test_names_and_addresses_of_wikis() -> None:
    assert page_name("A_b-c.md") == ("A b-c", None)
    assert wiki_address("git@github.com:org/app.wiki.git") == (
        "org/app",
        "https://github.com/org/app/wiki",
    )
    assert wiki_address("https://git.example.org/a/b") == ("a/b", None)
