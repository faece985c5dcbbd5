"""Commands on a primary and a replica: what writes goes to one, what asks to the other."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from operators.postgres import replication

NAME = "read"


def test_questions_go_to_the_replica_which_says_what_it_lacks_and_writes_to_the_primary(
    crosscorpus: Any, replicated: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replication, "LATE_S", 0.3)
    file = tmp_path / "documents.jsonl"

    def run(*arguments: str, replica: str = replicated.replica) -> Any:
        servers = {"CROSSCORPUS_DSN": replicated.primary, "CROSSCORPUS_READ_DSN": replica}
        return crosscorpus(*arguments, "-C", NAME, **servers)

    def ingest(text: str) -> None:
        with file.open("a") as out:
            out.write(json.dumps({"doc_id": text, "corpus": "wiki", "text": text}) + "\n")
        done = run("ingest", "documents", str(file))
        assert done.returncode == 0, done.stderr

    def found(**servers: str) -> tuple[list[str], list[str]]:
        done = run("query", "the cache", "--json", **servers)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        late = [note for note in told["notes"] if "replica" in str(note)]
        return sorted(hit["text"] for hit in told["results"]), late

    ingest("flush the cache")
    replicated.catch_up()
    assert found() == (["flush the cache"], [])
    replicated.pause()
    try:
        ingest("fill the cache")
        time.sleep(0.5)
        texts, [late] = found()
        assert texts == ["flush the cache"]
        assert "ingested since is not found" in str(late)
        assert found(replica="") == (["fill the cache", "flush the cache"], [])
        for command in (["versions", "list"], ["status"]):
            done = run(*command)
            assert done.returncode == 0, done.stderr
            assert "note: the replica is up to" in done.stderr
        assert json.loads(run("status", "--json").stdout)["server"].startswith("replica ")
        assert json.loads(run("status", "--json", replica="").stdout)["server"].startswith("server")
        assert "on replica " in run("status").stdout
        doctor = run("doctor", "--json")
        faults = [f for f in json.loads(doctor.stdout) if not f["ok"]]
        assert (doctor.returncode, [f["what"] for f in faults]) == (1, ["replica"])
    finally:
        replicated.catch_up()
    assert found() == (["fill the cache", "flush the cache"], [])
    assert all(finding["ok"] for finding in json.loads(run("doctor", "--json").stdout))
