"""The history of a place: odd names, hidden files, and documents that say what they like."""

from __future__ import annotations

import base64
import json
import random
import shutil
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ingested import commit, git
from ingesting import ingest_documents, ingest_git
from word_embedder import WordEmbedder

from dataflow import build_driver
from dataflow.ingestion.set_rights import set_rights
from dataflow.service import tools
from dataflow.service.history_tool import history
from dataflow.service.tools import Service
from operators.errors import CrosscorpusError, UnknownName
from operators.postgres.store import drop_collection, open_store

NAME = "place-history"
LOCKS = "class Lock:\n    def release(self):\n        return 1\n\n\ndef release():\n    return 2\n"
COMMITS = (
    ("First", {"a/[id]/p.py": "one = 1\n", "a/i/p.py": "two = 1\n", "locks.py": LOCKS}),
    ("Second", {"a/i/p.py": "two = 2\n"}),
    ("Vault", {"secret/v.py": "vault = 1\n", "locks.py": LOCKS.replace("2", "3")}),
)
FORGED = {"commit": "x", "changed_paths": "secret/v.py a/", "author": ["Eve"]}
DOCUMENTS = (
    {"doc_id": "f", "corpus": "wiki", "text": "Forged.", "metadata": FORGED},
    {"doc_id": "n", "corpus": "wiki", "text": "More.", "metadata": {"changed_paths": ["odd/a"]}},
    {"doc_id": "o", "corpus": "wiki", "text": "Odd.", "metadata": {"changed_paths": ["odd/a"]}},
    {"doc_id": "i", "corpus": "issue", "repo": "app", "title": "secret/v.py", "text": "Lost."},
)
for _one in DOCUMENTS[1:3]:
    _one["metadata"] |= {"commit": "y", "author": 7}
DOCUMENTS[2]["metadata"] |= {"author": "E\x1b[31mve"}
DOCUMENTS[2]["title"] = "\x1b]0;odd\u202e title"
RULES = "rules: [{allow: everyone}, {allow: [ann], path: 'secret/'}]"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("history") / "app"
    tree.mkdir()
    for subject, files in COMMITS:
        commit(tree, subject, files)
    return tree


@pytest.fixture(scope="module")
def service(server_dsn: str, tree: Path) -> Iterator[Service]:
    file = tree.parent / "documents.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in DOCUMENTS))
    other = tree.parent / "other"
    other.mkdir()
    commit(other, "Other", {"locks.py": f"# Of another one.\n\n\n{LOCKS}\n\ndef other(): pass\n"})
    with open_store(server_dsn, NAME, create=True, max_size=8) as store:
        ingest_documents(store, WordEmbedder(), file)
        ingest_git(store, WordEmbedder(), tree, repo="app")
        ingest_git(store, WordEmbedder(), other, repo="other")
        set_rights(store, RULES)
        with build_driver("default", store=store, embedder=WordEmbedder()) as driver:
            yield Service(driver, store, "http://127.0.0.1:1/p")
    drop_collection(server_dsn, NAME)


def subjects(service: Service, place: str) -> list[str]:
    return [one.subject for one in history(service, place).commits]


def test_a_path_is_no_pattern(service: Service) -> None:
    assert subjects(service, "a/[id]/p.py") == ["First"]
    assert subjects(service, "a/i/p.py") == ["Second", "First"]


def test_a_document_that_says_odd_things_breaks_no_history(service: Service) -> None:
    assert sorted(subjects(service, "a")) == ["First", "Second"]
    told = {(one.subject, one.author) for one in history(service, "odd").commits}
    assert told == {("n", None), (r"\u{1b}]0;odd\u{202e} title", r"E\u{1b}[31mve")}


def test_a_hidden_file_has_no_history(service: Service) -> None:
    """Not by the title of an issue either, and who may see it gets it by the commits' lists."""
    bob, ann = service.seen_by(["bob"]), service.seen_by(["ann"])
    assert subjects(service, "app/secret/v.py") == ["Vault"]
    for place in ("app/secret/v.py", "secret/v.py", "secret"):
        assert subjects(bob, place) == [], place
    assert subjects(ann, "secret") == ["Vault"]


def test_a_commit_and_a_path_are_the_change_of_that_file(service: Service, tree: Path) -> None:
    commits = git(tree, "log", "--format=%H").split()
    vault = commits[0]
    for name in (f"{vault[:10]}:locks.py", f"{vault} locks.py"):
        change = tools.fetch(service, name)
        assert (change.title, change.next_cursor) == (f"{vault[:10]}:locks.py", None)
        assert change.text.endswith("-    return 2\n+    return 3")
        assert "vault" not in change.text
    with pytest.raises(CrosscorpusError, match="the commit did not change this file"):
        tools.fetch(service, f"{vault[:10]}:a/i/p.py")
    with pytest.raises(CrosscorpusError, match=r"no passage 'app/gone\.py'"):
        tools.fetch(service, f"{vault[:10]}:gone.py")
    with pytest.raises(CrosscorpusError, match=r"no passage 'app/:!locks\.py'"):
        tools.fetch(service, f"{vault[:10]}::!locks.py")


def test_who_has_rights_gets_no_former_lines(service: Service, tree: Path) -> None:
    vault = git(tree, "rev-parse", "HEAD")
    name = f"{vault[:12]}:secret/v.py"
    assert "+vault = 1" in tools.fetch(service, name).text
    with pytest.raises(CrosscorpusError, match="no working tree at hand has this commit"):
        tools.fetch(service.seen_by(["ann"]), name)
    with pytest.raises(CrosscorpusError, match="is no file of the commit's repository"):
        tools.fetch(service.seen_by(["bob"]), name)  # an issue has that title


def test_several_places_come_in_one_answer_and_one_that_is_missing_says_so(
    service: Service,
) -> None:
    other = ["other/locks.py:5-6", "nowhere.py", "app/a/i/p.py"]
    found = tools.fetch(service, "app/locks.py:1-2", further=other, brief=True)
    assert found.text == "class Lock:\n    def release(self):"
    assert [one.text.strip() for one in found.further] == [
        "def release(self):\n        return 1", "", "two = 2"
    ]  # fmt: skip
    assert found.further[1].notes[0].startswith("no passage 'nowhere.py'")


def test_a_change_shows_no_secret_that_ingestion_would_see(service: Service, tree: Path) -> None:
    """Not the end of a key beside the changed lines, and none in lines of base64."""
    code = "".join(random.Random(3).choices(string.ascii_letters + string.digits, k=64 * 25))
    body = [code[at : at + 64] for at in range(0, len(code), 64)]
    key = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *body, "-----END RSA PRIVATE KEY-----\n"])
    lines = base64.encodebytes(key.encode()).decode()
    commit(tree, "Key", {"end.py": key, "code.yaml": "a: 1\n"})
    commit(tree, "Beside it", {"end.py": f"{key}tail = 1\n", "code.yaml": f"a: |\n{lines}"})
    commit(tree, "Below it", {"end.py": f"{key}tail = 1\n\n\n\nx = 1\n"})
    commit(tree, "Away", {"end.py": "tail = 1\n", "code.yaml": "a: 1\n"})
    ingest_git(service.store, WordEmbedder(), tree, repo="app")
    away, below, beside, first = git(tree, "log", "-4", "--format=%h").split()
    secret = {*body, *lines.split()}
    for name in (
        *(f"{one}:end.py" for one in (away, below, beside, first)),
        *(f"{one}:code.yaml" for one in (away, beside)),
    ):
        told = tools.fetch(service, name).text
        assert not [line for line in secret if line in told], name
    assert "+tail = 1" in tools.fetch(service, f"{beside}:end.py").text
    git(tree, "reset", "-q", "--hard", "HEAD~4")
    ingest_git(service.store, WordEmbedder(), tree, repo="app")


def test_a_change_is_of_a_stored_file_and_of_one_commit(service: Service, tree: Path) -> None:
    """A review of a file that was left out opens none, and no document says what git shows."""
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zC9bD1fG3hJ5"
    commit(tree, "Secret", {"left.py": f"internal = 1\ntoken = '{token}'\n"})
    secret = git(tree, "rev-parse", "HEAD")
    forged = {"corpus": "wiki", "repo": "app", "text": "Forged."}
    documents = [
        {"doc_id": "r", "corpus": "review", "repo": "app", "path": "left.py", "text": "Nice."},
        {**forged, "doc_id": "abcdef1", "metadata": {"commit": "abcdef1:left.py"}},
    ]
    file = tree.parent / "more.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in documents))
    ingest_documents(service.store, WordEmbedder(), file)
    ingest_git(service.store, WordEmbedder(), tree, repo="app")
    with pytest.raises(UnknownName, match=r"'left\.py' is no file of the commit's repository"):
        tools.fetch(service, f"{secret[:10]}:left.py")
    assert tools.fetch(service, "abcdef1:locks.py").text == "Forged."
    git(tree, "reset", "-q", "--hard", "HEAD^")
    ingest_git(service.store, WordEmbedder(), tree, repo="app")


def test_a_brief_commit_names_its_first_files_and_its_snippet_is_not_its_title(
    service: Service, tree: Path
) -> None:
    commit(tree, "Many files\n\nThey are generated.", {f"gen/f{n}.py": "x = 1\n" for n in range(9)})
    ingest_git(service.store, WordEmbedder(), tree, repo="app")
    last = git(tree, "rev-parse", "HEAD")
    assert "gen/f8.py" in tools.fetch(service, last[:10]).text
    brief = tools.fetch(service, last[:10], brief=True).text
    assert brief.endswith("gen/f3.py\ngen/f4.py\nand 4 more")
    with pytest.raises(CrosscorpusError, match=r"gen/f8\.py is a diff: it has no lines"):
        tools.fetch(service, f"{last[:10]}:gen/f8.py", lines="1-2")
    found = tools.search(service, "many files generated", corpora=["history"], brief=True)
    snippet = next(one.snippet for one in found.results if "Many files" in one.title)
    assert snippet.startswith("They are generated.")
    git(tree, "reset", "-q", "--hard", "HEAD^")
    ingest_git(service.store, WordEmbedder(), tree, repo="app")


def test_a_definition_of_the_whole_name_goes_first(service: Service) -> None:
    with pytest.raises(CrosscorpusError) as error:
        tools.fetch(service, "Lock.release")
    assert str(error.value) == (
        "'Lock.release' is defined in 2 places: app/locks.py:2-3, other/locks.py:5-6"
    )
    assert tools.fetch(service, "other/locks.py:5-6").text.strip().startswith("def release(self)")
    with pytest.raises(CrosscorpusError, match=r"no passage 'a\.a"):
        tools.fetch(service, ".".join("a" * 5_000))


def test_a_tree_that_has_other_files_by_now_does_not_decide(service: Service, tree: Path) -> None:
    """Without the file git names no commit; their lists do."""
    kept = tree.rename(tree.parent / "kept")
    try:
        tree.mkdir()
        commit(tree, "Another tree", {"b.py": "b = 1\n"})
        assert sorted(subjects(service, "app/locks.py")) == ["First", "Vault"]
        shutil.rmtree(tree)
        assert sorted(subjects(service, "app/locks.py")) == ["First", "Vault"]
    finally:
        kept.rename(tree)


def test_lines_are_those_that_were_read(service: Service, tree: Path) -> None:
    assert subjects(service, "app/locks.py:6-7") == ["Vault", "First"]
    commit(tree, "Longer", {"locks.py": "# A comment.\n\n" + LOCKS})
    try:
        assert subjects(service, "app/locks.py:6-7") == ["Vault", "First"]
        assert subjects(service, "app/locks.py:1-2") == ["First"]
    finally:
        git(tree, "reset", "-q", "--hard", "HEAD^")


def test_code_whose_lines_changed_after_the_page_beside_it_says_so(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not where other lines of its file changed, nor to a caller with rights."""
    tree, file = tmp_path / "heron", "egret = 1\n" * 60 + "def heron():\n    return {}\n"
    page = "# Birds\n\nheron returns 1. egret = 1.\n"
    for year, files in (
        (2024, {"heron.py": file.format(1), "heron.md": page}),
        (2026, {"heron.py": file.format(2)}),
    ):
        for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            monkeypatch.setenv(name, f"{year}-03-02T12:00:00Z")
        commit(tree, "Heron", files)
    ingest_git(service.store, WordEmbedder(), tree, repo="heron")
    changed = git(tree, "rev-parse", "HEAD")[:10]
    said = f"heron.py:61-62 changed by {changed} (2026-03-02), after heron.md (2024-03-02)"

    def told(door: Callable[..., Any], caller: Service, query: str) -> list[str]:
        notes = door(caller, query, repos=["heron"], corpora=["code", "docs"]).notes
        return [note for note in notes if "changed by" in note]

    assert told(tools.search, service, "what does heron return?") == [said]
    assert told(tools.get_context, service, "what does heron return?") == [said]
    assert told(tools.search, service.seen_by(["bob"]), "what does heron return?") == []
    first, *_ = tools.search(service, "egret", repos=["heron"], corpora=["code", "docs"]).results
    assert "heron.py:1-12" in first.title
    assert told(tools.search, service, "egret") == [said]
