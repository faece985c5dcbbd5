"""Collections and what they hold: told, listed, dropped, carried, checked."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from operators.postgres.store import schema_of


def test_a_name_that_is_no_utf_8_or_would_write_to_the_terminal_is_one_line(
    crosscorpus: Any, ingest: Any
) -> None:
    line = {"doc_id": "a\x1b]0;x\x07\u202e", "corpus": "docs", "text": "page"}
    assert ingest("odd", line).returncode == 0
    for name in ("\udcff", "a\x1b]0;x\x07\u202f"):
        told = crosscorpus("drop", "-C", "odd", "--document", name, "--dry-run")
        assert (told.returncode, told.stderr.count("\n"), told.stdout) == (2, 1, "")
        assert "no document" in told.stderr
        assert not {"\x1b", "\x07", "\u202e"} & {*told.stderr}
    assert crosscorpus("collections", "drop", "odd", "--yes").returncode == 0


def test_documents_and_collections_are_listed_and_dropped(crosscorpus: Any, ingest: Any) -> None:
    lines = [{"doc_id": n, "corpus": "docs", "repo": "o/r", "text": f"page {n}"} for n in "ab"]
    assert ingest("to-drop", *lines).returncode == 0
    assert "to-drop" in json.loads(crosscorpus("collections", "list", "--json").stdout)

    tried = crosscorpus("drop", "-C", "to-drop", "--document", "a", "--dry-run")
    assert tried.stdout == "would drop 1 document, 1 chunk\n  docs o/r a\n"
    asked = crosscorpus("drop", "-C", "to-drop", "--document", "a")  # nobody says yes
    assert (asked.returncode, "say --yes" in asked.stderr) == (1, True)
    done = crosscorpus("drop", "-C", "to-drop", "--document", "a", "--yes")
    assert (done.returncode, done.stdout) == (0, "dropped 1 document, 1 chunk\n"), done.stderr
    again = crosscorpus("drop", "-C", "to-drop", "--document", "a", "--yes")
    assert (again.returncode, "no document 'a'" in again.stderr) == (2, True)

    unknown = crosscorpus("collections", "drop", "to-dorp", "--yes")
    assert (unknown.returncode, "did you mean 'to-drop'" in unknown.stderr) == (2, True)
    assert "ingest" not in unknown.stderr  # who drops does not want it made
    assert crosscorpus("collections", "drop", "to-drop", "--yes").stdout == "to-drop is dropped\n"
    assert "to-drop" not in json.loads(crosscorpus("collections", "list", "--json").stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_ctrl_c_ends_the_question_whether_to_delete() -> None:
    asks = (
        "import polars; polars.LazyFrame({'a': [1]}).collect();"
        "from dataflow.cli.collections import _confirm; _confirm('delete it?')"
    )
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", asks], stdin=theirs, stdout=theirs, stderr=theirs
    )
    try:
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(ours, 1000)
        time.sleep(0.2)  # until it waits for the answer
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) != 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


def test_an_imported_collection_answers_as_the_exported_one_and_its_ingestion_goes_on(
    crosscorpus: Any, collection: str, repository: Path, tmp_path: Path
) -> None:
    def ask() -> list[dict[str, Any]]:
        told = crosscorpus("query", "how often is the cache flushed?", "-C", collection, "--json")
        results: list[dict[str, Any]] = json.loads(told.stdout)["results"]
        return results

    before, file = ask(), str(tmp_path / "backup" / "team.dump")
    done = crosscorpus("collections", "export", collection, file)
    assert (done.returncode, done.stdout) == (0, f"{collection} is exported to {file}\n")
    assert "  documents\n" in done.stderr
    refused = crosscorpus("collections", "import", file)
    assert (refused.returncode, "already exists" in refused.stderr) == (1, True)
    assert crosscorpus("collections", "drop", collection, "--yes").returncode == 0
    done = crosscorpus("collections", "import", file)
    assert done.stdout == f"{file} is imported as {collection}\n", done.stderr
    assert ask() == before != []
    again = crosscorpus(
        "ingest", "git", str(repository), "--repo", "org/app", "-C", collection, "--json"
    )
    counts = json.loads(again.stdout)
    assert counts["documents_unchanged"] == 4
    assert counts["documents_new"] == counts["documents_changed"] == counts["embedded"] == 0


def test_no_command_loads_the_model_or_calls_the_address_that_a_collection_names(
    crosscorpus: Any,
    collection: str,
    server_dsn: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "named_by_it.py").write_text(
        f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    rename = f"UPDATE {schema_of(collection)}.collection SET model = %s"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        for model in ("python:named_by_it:load", f"openai:m@{address}", "minilm"):
            with psycopg.connect(server_dsn, autocommit=True) as conn:
                conn.execute(rename.encode(), (model,))
            if model != "minilm":
                for command in (["query", "cache"], ["embed"], ["verify"], ["doctor"]):
                    crosscorpus(*command, "-C", collection)
            told = json.loads(crosscorpus("status", "-C", collection, "--json").stdout)
            assert told["model"]["name"] == model
        with pytest.raises(TimeoutError):
            listener.accept()
    assert not (tmp_path / "ran").exists()


def test_passages_that_wait_for_their_vectors_are_no_fault(
    crosscorpus: Any, one_document: Any
) -> None:
    assert crosscorpus(*one_document, "-C", "waiting", "--wait", "words").returncode == 0
    done = crosscorpus("doctor", "-C", "waiting")
    assert done.returncode == 0
    assert Path(done.stdout.splitlines()[0].removeprefix("ok    data: ")).is_dir()
    assert "found by words; none has a vector yet: `crosscorpus embed -C waiting`" in done.stdout


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("ALTER TABLE terms RENAME TO elsewhere", "the text search fails: "),
        ("DELETE FROM repos", "no vector search finds any chunk"),
    ],
)
def test_a_search_that_does_not_work_is_a_failed_check(
    crosscorpus: Any, server_dsn: str, one_document: Any, change: str, fault: str
) -> None:
    name = f"broken-{change[:4]}"
    assert crosscorpus(*one_document, "-C", name).returncode == 0
    with psycopg.connect(server_dsn) as conn:
        conn.execute(f'SET search_path TO "{schema_of(name)}", public; {change}')
    done = crosscorpus("doctor", "-C", name, "--json")
    faults = [finding for finding in json.loads(done.stdout) if not finding["ok"]]
    assert [(f["what"], f["says"].startswith(fault)) for f in faults] == [("corpus wiki", True)]
    assert done.returncode == 1


def test_doctor_says_what_an_upgrade_will_change_before_it_is_done(
    crosscorpus: Any, collection: str, server_dsn: str
) -> None:
    applied = f"SELECT count(*) FROM {schema_of(collection)}.migrations"
    with psycopg.connect(server_dsn, autocommit=True) as conn:
        (before,) = conn.execute(applied.encode()).fetchone() or (0,)
        conn.execute(f"DELETE FROM {schema_of(collection)}.migrations WHERE name >= '03'".encode())
        for _ in "twice":
            done = crosscorpus("doctor", "-C", collection)
            assert done.returncode == 0
            assert "0300_no_model_migration: A collection keeps the model" in done.stdout
        assert crosscorpus("status", "-C", collection).returncode == 0
        assert conn.execute(applied.encode()).fetchone() == (before,)
    assert "upgrade" not in crosscorpus("doctor", "-C", collection).stdout
