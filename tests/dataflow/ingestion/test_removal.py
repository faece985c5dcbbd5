"""What is dropped is in no table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ingesting import ingest_documents

from dataflow.ingestion.removal import drop_documents
from operators.errors import CrosscorpusError, UnknownName
from operators.postgres.inspect.status import sources
from operators.postgres.inspect.verify import verify
from operators.postgres.store import Store
from operators.postgres.write.ingestion_runs import begin_run

SECRET = "xkcdhorsebattery936"


def documents(tmp_path: Path) -> Path:
    rows: list[dict[str, Any]] = [
        {"doc_id": f"d{n}", "corpus": "docs", "repo": "org/app", "path": f"docs/{n}.md"}
        | {"title": f"Page {n}", "text": f"what the page {n} says of caches " * 40}
        for n in range(12)
    ]
    rows[7] |= {"title": SECRET, "text": f"password: {SECRET} " * 9, "path": f"docs/{SECRET}.md"}
    rows[8] |= {"repo": "org/other", "corpus": "code"}
    file = tmp_path / "documents.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def count(store: Store) -> int:
    row = store.row("SELECT count(*) FROM documents")
    return int(row[0]) if row else 0


def test_filters_narrow_each_other_and_a_dry_run_deletes_nothing(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    ingest_documents(store, embedder, documents(tmp_path))
    for given, expected in (
        ({"repo": "org/app"}, 11),
        ({"corpus": "code"}, 1),
        ({"repo": "org/app", "document": "d3"}, 1),
    ):
        chosen = drop_documents(store, **given, dry_run=True)
        assert chosen.height == expected
    assert count(store) == 12
    drop_documents(store, corpus="code")
    assert count(store) == 11
    assert verify(store).rows() == []
    report = ingest_documents(store, embedder, documents(tmp_path))
    assert (report.documents_new, report.documents_unchanged) == (1, 11)


def test_what_nothing_has_is_named_with_the_nearest(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    ingest_documents(store, embedder, documents(tmp_path))
    for given, said in (
        ({"repo": "org/ap"}, r"no repo 'org/ap', did you mean 'org/app'\?"),
        ({"document": "docs/11.m"}, r"no document 'docs/11.m', did you mean 'docs/11.md'\?"),
        ({"corpus": "code", "repo": "org/app"}, "no document is of corpus 'code' and repo"),
    ):
        with pytest.raises(UnknownName, match=said):
            drop_documents(store, **given)
    with pytest.raises(CrosscorpusError, match="say what to drop"):
        drop_documents(store)
    assert count(store) == 12


def test_an_emptied_corpus_leaves_nothing_of_texts_topics_or_earlier_vectors(
    store: Store, tmp_path: Path, embedder: Any
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

    ingest_documents(store, embedder, manual("before"))
    ingest_documents(store, embedder, manual("after"))
    assert store.row("SELECT count(*) FROM document_versions") == (3,)
    assert store.row("SELECT count(*) FROM embedding_cache") != (0,)
    drop_documents(store, repo="org/app")
    tables = store.rows("SELECT tablename FROM pg_tables WHERE schemaname = %s", (store.schema,))
    for (table,) in tables:
        assert store.rows(f"SELECT 1 FROM {table} t WHERE t::text LIKE '%{SECRET}%'") == [], table
    for table in ("documents", "chunks", "document_versions", "embedding_cache"):
        assert store.row(f"SELECT count(*) FROM {table}") == (0,), table


def test_a_source_of_which_nothing_is_left_is_neither_listed_nor_read_again_by_a_server(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    begin_run(store, "git/4 org/app", ["docs"], "0123abc", "/app", ["/", "ingest", "git", "app"])
    ingest_documents(store, embedder, documents(tmp_path))
    kept = "SELECT source, folder, command FROM runs WHERE starts_with(source, 'git/4')"
    for source in ("wiki/1 org/app org/other", "git/9 org/new"):  # one has more; one is read
        begin_run(store, source, ["docs"])
    drop_documents(store, document="d3")
    assert store.row(kept) == ("git/4 org/app", "/app", ["/", "ingest", "git", "app"])
    drop_documents(store, repo="org/app")
    assert store.row(kept) is None
    assert set(sources(store)["source"]) == {
        "documents/1",
        "git/9 org/new",
        "wiki/1 org/app org/other",
    }
