"""crosscorpus ingest as a user runs it: what it reads, refuses and reports."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import github_shapes
import pytest

from operators.postgres.store import collections, open_store


@pytest.mark.parametrize(
    "command",
    [
        ["ingest", "folder", ".", "--corpus", "Team docs"],
        ["ingest", "git", "folder"],
        ["ingest", "wiki", "file"],
        ["ingest", "records", "--map", "memory", "none"],
        ["sync", "github", "no-owner"],
    ],
    ids=" ".join,
)
def test_an_input_that_cannot_be_read_makes_no_collection(
    crosscorpus: Any,
    command: list[str],
    tmp_path: Path,
    server_dsn: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("plain")
    done = crosscorpus(*command, "-C", "never-made")
    assert done.returncode == 1
    assert command[-1] in done.stderr
    assert "never-made" not in collections(server_dsn)


@pytest.mark.parametrize(
    "address", ["https://me:s3cret@git.example.org/org/app.git/", "git@host:app"]
)
def test_a_repository_s_address_is_to_be_cloned_first(crosscorpus: Any, address: str) -> None:
    done = crosscorpus("ingest", "git", address)
    assert done.returncode == 1
    assert "`git clone` it" in done.stderr
    assert done.stderr.endswith("such as ./app\n")
    assert "s3cret" not in done.stderr


def test_a_corpus_that_no_question_reaches_is_told(crosscorpus: Any, ingest: Any) -> None:
    told = "no question finds it until the configuration has an entry for it"
    done = ingest("mistyped", {"doc_id": "a", "corpus": "dosc", "text": "mistyped"})
    assert (done.returncode, done.stderr.startswith(f"corpus dosc: {told}")) == (0, True)
    examined = crosscorpus("doctor", "-C", "mistyped")
    assert (examined.returncode, told in " ".join(examined.stdout.split())) == (1, True)


def test_a_corpus_that_no_configuration_can_name_is_told_so(ingest: Any) -> None:
    done = ingest("no-fused", {"doc_id": "a", "corpus": "fused", "text": "hidden"})
    assert done.stderr.startswith("corpus fused: no question can find it: 'fused' is ")
    assert "ingest its documents under another name" in done.stderr
    assert "entry" not in done.stderr


def test_exports_and_findings_are_read_from_files(crosscorpus: Any, tmp_path: Path) -> None:
    def run(*arguments: str) -> Any:
        return crosscorpus("ingest", "records", *arguments, "-C", "cli-exports")

    exports = tmp_path / "exports"
    exports.mkdir()
    listed = [github_shapes.issue(n, pull=n < 3) for n in range(1, 5)]
    talk = [github_shapes.issue_comment(60, 1, pull=True), github_shapes.issue_comment(61, 4)]
    threads = [github_shapes.comment(500), github_shapes.comment(501, reply_to=500)]
    for name, items in (("issues", listed), ("talk", talk), ("threads", threads)):
        (exports / f"{name}.json").write_text(json.dumps(items))
    done = run(str(exports), "--map", "github")
    assert done.returncode == 0, done.stderr
    assert "5 new, 0 changed" in done.stdout
    found = crosscorpus("query", "Remark", "-C", "cli-exports", "--json")
    assert "PR #1" in found.stdout
    findings = tmp_path / "findings.jsonl"
    findings.write_text('{"file_path": "a.py", "finding": "Fork first."}\n{"finding": 1}\n')
    done = run(str(findings), "--map", "memory", "--repo", "org/b")
    assert done.returncode == 3
    assert "findings.jsonl: line 2: " in done.stdout


def test_what_only_a_map_takes_is_refused_without_one(crosscorpus: Any) -> None:
    done = crosscorpus("ingest", "from", "python:tickets:Tickets", "--prune", "-C", "cli-exports")
    assert (done.returncode, "name their --map" in done.stderr) == (1, True)


def test_names_that_are_not_utf8_lose_nothing(crosscorpus: Any, tmp_path: Path) -> None:
    root = os.fsencode(tmp_path) + b"/app\xff"
    os.makedirs(root + b"/caf\xe9")
    for name in (b"a.md", b"\xfeb.md", b"caf\xe9/c.md"):
        Path(os.fsdecode(root + b"/" + name)).write_bytes(b"pelican " + name)
    for command in (
        [b"init", b"-qb", b"main\xff"],
        [b"config", b"user.name", b"J\xf6rg"],
        [b"config", b"user.email", b"j\xf6rg@example.org"],
        [b"remote", b"add", b"origin", b"https://github.com/org/app\xff.git"],
        [b"add", b"."],
        [b"commit", b"-qm", b"\xc4nderung"],
        [b"tag", b"v1\xff"],
    ):
        subprocess.run([b"git", *command], cwd=root, check=True, stderr=subprocess.DEVNULL)
    for kind, new in (("git", 4), ("folder", 3)):
        done = crosscorpus("ingest", kind, os.fsdecode(root), "-C", f"bytes_{kind}", "--json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert (report["documents_new"], report["failed"]) == (new, [])
        found = crosscorpus("query", "pelican", "-C", f"bytes_{kind}", "--json")
        paths = {result["path"] for result in json.loads(found.stdout)["results"]}
        assert {"a.md", "%FEb.md", "caf%E9/c.md"} <= paths


def test_one_chunk_without_a_vector_is_one_in_every_message(
    crosscorpus: Any, one_document: tuple[str, ...]
) -> None:
    read = crosscorpus(*one_document, "-C", "one", "--wait", "words").stdout
    asked = crosscorpus("query", "cache", "-C", "one")
    status = crosscorpus("status", "-C", "one").stdout
    for told in (read, asked.stdout + asked.stderr, status):
        assert "has no vector yet" in " ".join(told.split())
        assert ("crosscorpus embed -C one" in " ".join(told.split())) == (told in (read, status))
        assert "1 chunks" not in told.replace("1 of 1 chunks has", "")


def test_a_file_of_another_kind_is_named_before_anything_is_embedded_and_leaves_no_run(
    crosscorpus: Any, tmp_path: Path
) -> None:
    file = tmp_path / "x.diff"
    file.write_text("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    waiting = tmp_path / "waiting.jsonl"
    waiting.write_text('{"doc_id": "a", "corpus": "docs", "text": "it waits for its vector"}\n')
    name = "other-kind"
    assert crosscorpus("ingest", "documents", str(waiting), "-C", name, "--wait", "words").stdout
    done = crosscorpus("ingest", "records", str(file), "--map", "github", "-C", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert "x.diff" in done.stderr
    assert "give" in done.stderr
    state = json.loads(crosscorpus("status", "-C", name, "--json").stdout)
    assert [(one["source"], one["state"]) for one in state["sources"]] == [("documents/1", "ok")]
    assert [corpus["unembedded"] for corpus in state["corpora"]] == [1]


def test_what_failed_in_a_source_is_said_before_the_vectors(
    crosscorpus: Any, tmp_path: Path
) -> None:
    file = tmp_path / "some.jsonl"
    good = '{"doc_id": "a", "corpus": "docs", "text": "it stays"}'
    file.write_text(f"{good}\nno JSON\n[]\n")
    done = crosscorpus("ingest", "documents", str(file), "-C", "some-failed")
    assert done.returncode == 3
    assert done.stderr.startswith("failed: some.jsonl: line 2: not JSON")
    assert "(and 1 more)" in done.stderr
    assert "some.jsonl: line 3: not a JSON object" in done.stdout


def test_no_argument_of_a_reader_is_stored(
    crosscorpus: Any, tmp_path: Path, server_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_desk.py").write_text(
        "class Desk:\n"
        "    def __init__(self, url, token):\n"
        "        pass\n"
        "    def scan(self):\n"
        "        return [{'doc_id': 'a', 'corpus': 'docs', 'text': 'about'}]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    given = ["python:own_desk:Desk", "https://desk", "token=k3y-of-ours", "-C", "desk"]
    done = crosscorpus("ingest", "from", *given)
    assert done.returncode == 0, done.stderr
    with open_store(server_dsn, "desk") as store:
        ((command,),) = store.rows("SELECT command FROM runs")
    assert command[1:] == ["ingest", "from", "python:own_desk:Desk", "…", "token=…", "-C", "desk"]


def test_a_map_check_of_a_damaged_export_fails(crosscorpus: Any, tmp_path: Path) -> None:
    (tmp_path / "export.json").write_text('{"issues": [{"key": "OPS-1", "fields"')
    done = crosscorpus("map", "check", "jira", str(tmp_path / "export.json"))
    assert (done.returncode, "it ends early" in done.stdout) == (3, True)
