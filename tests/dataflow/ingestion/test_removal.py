"""What is dropped is nowhere on the disk of a real server of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from ingesting import ingest_documents

from dataflow.ingestion.removal import drop_documents, verify_erased
from operators.errors import CrosscorpusError, UnknownName
from operators.postgres.inspect.verify import verify
from operators.postgres.server.embedded_server import start
from operators.postgres.store import Store, drop_collection, open_store
from operators.postgres.write.removal import choose_documents, delete_for_good, erase_log

SECRET = "xkcdhorsebattery936"


def documents(tmp_path: Path) -> Path:
    rows: list[dict[str, Any]] = [
        {"doc_id": f"d{n}", "corpus": "docs", "repo": "org/app", "path": f"docs/{n}.md"}
        | {"title": f"Page {n}", "text": f"what the page {n} says of caches " * 40}
        for n in range(60)
    ]
    rows[7] |= {"title": SECRET, "text": f"password: {SECRET} " * 9, "path": f"docs/{SECRET}.md"}
    rows[8] |= {"repo": "org/other", "corpus": "code"}
    file = tmp_path / "documents.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def holding(folder: Path, word: str) -> list[str]:
    found = (p for p in folder.rglob("*") if p.is_file())
    return sorted(str(p.relative_to(folder)) for p in found if word.encode() in p.read_bytes())


def test_a_secret_that_is_dropped_is_in_no_file_of_the_server(
    database_home: Path, tmp_path: Path, embedder: Any
) -> None:
    with start(database_home / "postgres") as server:
        with open_store(server.dsn, collection="team", create=True) as store:
            ingest_documents(store, embedder, documents(tmp_path))
            store.execute("CHECKPOINT")
            assert holding(database_home, SECRET)
            chosen, left = drop_documents(store, document=f"docs/{SECRET}.md")
            assert chosen["document_id"].to_list() == ["d7"]
            assert left == []
            assert holding(database_home, SECRET) == []
            assert verify(store).rows() == []
            assert count(store) == 59
        assert holding(database_home, SECRET) == []


def test_a_dropped_collection_is_in_no_file_of_the_server(
    database_home: Path, tmp_path: Path, embedder: Any
) -> None:
    with start(database_home / "postgres") as server:
        with open_store(server.dsn, collection="team", create=True) as store:
            ingest_documents(store, embedder, documents(tmp_path))
            store.execute("CHECKPOINT")
        drop_collection(server.dsn, "team")
        assert erase_log(server.dsn) == []
        assert holding(database_home, SECRET) == []


def count(store: Store) -> int:
    row = store.row("SELECT count(*) FROM documents")
    return int(row[0]) if row else 0


def test_filters_narrow_each_other_and_a_dry_run_deletes_nothing(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    ingest_documents(store, embedder, documents(tmp_path))
    for given, expected in (
        ({"repo": "org/app"}, 59),
        ({"corpus": "code"}, 1),
        ({"repo": "org/app", "document": "d3"}, 1),
    ):
        chosen, _ = drop_documents(store, **given, dry_run=True)
        assert chosen.height == expected
    assert count(store) == 60
    drop_documents(store, corpus="code")
    assert count(store) == 59
    assert verify(store).rows() == []
    report = ingest_documents(store, embedder, documents(tmp_path))
    assert (report.documents_new, report.documents_unchanged) == (1, 59)


def test_what_nothing_has_is_named_with_the_nearest(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    ingest_documents(store, embedder, documents(tmp_path))
    for given, said in (
        ({"repo": "org/ap"}, r"no repo 'org/ap', did you mean 'org/app'\?"),
        ({"document": "docs/33.m"}, r"no document 'docs/33.m', did you mean 'docs/33.md'\?"),
        ({"corpus": "code", "repo": "org/app"}, "no document is of corpus 'code' and repo"),
    ):
        with pytest.raises(UnknownName, match=said):
            drop_documents(store, **given)
    with pytest.raises(CrosscorpusError, match="say what to drop"):
        drop_documents(store)
    assert count(store) == 60


def test_an_emptied_corpus_leaves_nothing_of_texts_topics_or_earlier_vectors(
    database_home: Path, tmp_path: Path, embedder: Any
) -> None:
    def manual(word: str) -> Path:
        rows = [
            {"doc_id": f"{SECRET}/{version}/guide.md", "path": f"{SECRET}/{version}/guide.md"}
            | {"corpus": "docs", "repo": "org/app", "version": version, "title": f"{SECRET} guide"}
            | {"text": f"the {SECRET} guide of {version} says {word} " * 30}
            for version in ("1.0", "2.0", "3.0")
        ]
        file = tmp_path / "manual.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)))
        return file

    with (
        start(database_home / "postgres") as server,
        open_store(server.dsn, collection="team", create=True) as store,
    ):
        ingest_documents(store, embedder, manual("before"))
        ingest_documents(store, embedder, manual("after"))
        assert store.row("SELECT count(*) FROM document_versions") == (3,)
        assert store.row("SELECT count(*) FROM embedding_cache") != (0,)
        store.execute("ANALYZE")
        drop_documents(store, repo="org/app")
        for table in ("documents", "chunks", "document_versions", "embedding_cache"):
            assert store.row(f"SELECT count(*) FROM {table}") == (0,), table
        assert holding(database_home, SECRET) == []


def test_a_drop_that_was_killed_before_it_erased_is_finished_by_the_next_or_by_verify(
    database_home: Path, tmp_path: Path, embedder: Any
) -> None:
    with (
        start(database_home / "postgres") as server,
        open_store(server.dsn, collection="team", create=True) as store,
    ):
        for finish in (
            lambda: drop_documents(store, document="d3"),
            lambda: verify_erased(store, repair=True),
        ):
            ingest_documents(store, embedder, documents(tmp_path))
            store.execute("CHECKPOINT")
            delete_for_good(store, choose_documents(store, document="d7"))  # then it was killed
            assert holding(database_home, SECRET)
            (found,) = verify_erased(store, repair=False).iter_rows(named=True)
            assert (found["kind"], found["repaired"]) == ("not_erased", False)
            finish()
            assert holding(database_home, SECRET) == []
            assert verify_erased(store, repair=False).is_empty()


def test_a_secret_is_in_no_part_of_the_log_that_was_kept_for_later_use(
    database_home: Path, tmp_path: Path, embedder: Any
) -> None:
    with (
        start(database_home / "postgres") as server,
        open_store(server.dsn, collection="team", create=True) as store,
    ):
        ingest_documents(store, embedder, documents(tmp_path))
        store.execute("SELECT pg_switch_wal()")
        store.execute("CHECKPOINT")  # renames the old part: its text waits in the next one
        drop_documents(store, document="d7")
        assert holding(database_home, SECRET) == []


def test_nobody_who_asks_waits_for_a_drop_to_write_passages_anew(
    store: Store, embedder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = list[str]()
    execute = psycopg.Connection.execute

    def noted(conn: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        said.append(query if isinstance(query, str) else query.as_string(conn))
        return execute(conn, query, *args, **kwargs)

    ingest_documents(store, embedder, documents(tmp_path))
    monkeypatch.setattr(psycopg.Connection, "execute", noted)
    drop_documents(store, document="d7")
    locked = [one for one in said if "VACUUM (FULL" in one]
    assert locked
    assert not [one for one in locked if "chunks_" in one or "postings_" in one or "terms" in one]
    assert verify(store).is_empty()
