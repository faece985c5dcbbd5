"""status, verify and models as a user runs them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from operators.postgres.store import drop_collection, open_store, schema_of

NAME = "cli-upkeep"


@pytest.fixture
def collection(ingest: Any, server_dsn: str) -> Iterator[str]:
    rows: list[dict[str, Any]] = [
        {"doc_id": "a", "corpus": "wiki", "text": "flush the cache", "created_at": "2021-05-01"},
        {"doc_id": "b", "corpus": "wiki", "text": "merge the lists", "created_at": "2024-05-01"},
        {"doc_id": "c", "corpus": "wiki", "text": 7},
    ]
    done = ingest(NAME, *rows)
    assert done.returncode == 3, done.stderr
    yield NAME
    drop_collection(server_dsn, NAME)


def test_status_tells_reasons_run_dates_and_model(crosscorpus: Any, collection: str) -> None:
    done = crosscorpus("status", "-C", collection)
    assert done.returncode == 0, done.stderr
    assert "minilm (384 dimensions" in done.stdout
    assert "1 x text is a number" in done.stdout
    assert "\n  c: text is a number" in done.stdout
    assert "2021-05-01" in done.stdout
    told = json.loads(crosscorpus("status", "-C", collection, "--json").stdout)
    [wiki] = told["corpora"]
    assert (wiki["documents"], wiki["indexed"], wiki["failed"]) == (3, 2, 1)
    assert wiki["newest"].startswith("2024-05-01")
    assert wiki["last_run_state"] == "failed"
    assert told["model"]["name"] == "minilm"
    assert 0 < told["disk"]["vector_cache"] < told["disk"]["collection"]
    assert "of them cached vectors" in done.stdout
    [unread] = told["unread"]
    assert (unread["corpus"], unread["document_id"], unread["state"]) == ("wiki", "c", "failed")
    assert unread["reason"].startswith("text is a number")


def test_verify_is_silent_finds_and_repairs(
    crosscorpus: Any, collection: str, server_dsn: str
) -> None:
    done = crosscorpus("verify", "-C", collection)
    assert done.returncode == 0, done.stderr
    assert "agree" in done.stdout
    with open_store(server_dsn, collection) as store, store.transaction() as conn:
        conn.execute("DELETE FROM postings WHERE chunk_id = (SELECT min(chunk_id) FROM chunks)")
    found = crosscorpus("verify", "-C", collection, "--json")
    assert found.returncode == 3
    assert [row["kind"] for row in json.loads(found.stdout)] == ["text_index"]
    repaired = crosscorpus("verify", "--repair", "-C", collection)
    assert repaired.returncode == 3
    assert "repaired  text_index" in repaired.stdout
    assert crosscorpus("verify", "-C", collection).returncode == 0


def test_a_collection_whose_vectors_are_lost_says_so(
    crosscorpus: Any, server_dsn: str, one_document: Any
) -> None:
    assert crosscorpus(*one_document, "-C", "lost").returncode == 0
    with psycopg.connect(server_dsn) as conn:
        conn.execute(f'ALTER TABLE "{schema_of("lost")}".chunks DROP COLUMN embedding')
    for command in (("query", "cache"), one_document):
        done = crosscorpus(*command, "-C", "lost")
        told = " ".join(done.stderr.split())
        assert (done.returncode, "has lost its vectors" in told) == (1, True), told
        assert "ingest its sources into another collection" in told
