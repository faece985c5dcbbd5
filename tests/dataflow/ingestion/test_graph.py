from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ingested import document
from ingesting import ingest_documents
from killed_children import kill_children
from ledger_rows import states
from psycopg.conninfo import make_conninfo

from dataflow.ingestion.graph_builder import build_ingestion_graph
from operators.postgres.inspect.status import status
from operators.postgres.store import Store, open_store
from operators.sources.chunking import code_breaks
from operators.sources.protocol import Document

Write = Callable[..., Path]


Read = Callable[[Store], dict[str, Any]]


def test_every_node_has_a_stage_a_type_and_a_sentence() -> None:
    nodes = [n for n in build_ingestion_graph().graph.nodes.values() if not n.user_defined]
    assert [n.name for n in nodes if not n.tags.get("stage")] == []
    assert [n.name for n in nodes if not (n.documentation or "").endswith(".")] == []
    assert [n.name for n in nodes if n.type is Any] == []
    assert {n.name for n in nodes if n.tags.get("io")} == {
        "known_vectors",
        "new_vectors",
        "written",
    }


def test_the_graph_runs_without_a_server_and_leaves_null_where_no_vector_is_known(
    embedder: Any,
) -> None:
    document = Document("d", "docs", "", "T", " ".join(f"some text {n}" for n in range(80)))
    graph = build_ingestion_graph()
    inputs = {"batch": [document], "embedder": embedder}
    before = graph.execute(["chunks", "embedded_texts"], inputs=inputs)
    assert "".join(before["chunks"]["text"]) == document.text
    texts, hashes = before["embedded_texts"]["text"], before["embedded_texts"]["text_hash"]
    assert texts[0].startswith("T\nsome text")
    vectors = embedder.embed_documents(texts.to_list())
    known = {"known_vectors": dict(zip(hashes[1:], vectors[1:], strict=True))}
    out = graph.execute(["chunk_embeddings"], inputs=inputs, overrides=known)
    assert out["chunk_embeddings"]["embedding"].to_list() == [None, *vectors[1:].tolist()]


def test_code_whose_parser_gives_up_is_stored_and_noted(
    store: Store, embedder: Any, write_lines: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_breaks, "MAX_PARSED", 100)
    code = {"corpus": "code", "path": "a.py"}
    file = write_lines(document(1, **code, text="x = 1\n" * 20), document(2, **code, text="y = 2"))
    report = ingest_documents(store, embedder, file)
    assert (report.ok, list(map(str, report.notes))) == (
        True,
        ["d001: cut by lines: it is larger than 100 bytes"],
    )
    assert status(store)["notes"][0].to_list() == ["1 x cut by lines: it is larger than 100 bytes"]
    assert states(store, "code")["d002"] == ("indexed", None)


@pytest.mark.parametrize("earlier", [False, True], ids=["new", "changed"])
def test_code_whose_parsers_are_killed_is_noted_and_cut_by_its_syntax_in_the_next_run(
    store: Store,
    embedder: Any,
    write_lines: Write,
    monkeypatch: pytest.MonkeyPatch,
    *,
    earlier: bool,
) -> None:
    def ingest(text: str) -> Any:
        lines = document(1, corpus="code", path="a.py", text=text), document(2, path="b.md")
        return ingest_documents(store, embedder, write_lines(*lines))

    def symbols() -> list[str | None]:
        rows = store.rows("SELECT anchor FROM chunks WHERE corpus = 'code' ORDER BY ordinal")
        return [row[0] for row in rows]

    if earlier:
        ingest("def before():\n    pass\n")
    text = "def after():\n    pass\n"
    kill_children(monkeypatch, "syntax_tree", 2)
    report = ingest(text)
    [note] = map(str, report.notes)
    assert note.startswith("d001: cut by lines: its reader was killed (signal 9): see whether")
    assert (report.ok, symbols(), status(store)["notes"].list.len().sum()) == (True, [None], 1)
    mended = ingest(text)
    assert (mended.documents_changed, mended.documents_unchanged, mended.notes) == (1, 1, [])
    assert (symbols(), status(store)["notes"].list.len().sum()) == (["after"], 0)
    assert ingest(text).documents_unchanged == 2


def test_code_whose_parser_is_killed_once_keeps_its_definitions(
    store: Store, embedder: Any, write_lines: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = document(1, corpus="code", path="a.py", text="def one():\n    pass\n")
    killed = kill_children(monkeypatch, "syntax_tree", 1)
    report = ingest_documents(store, embedder, write_lines(code))
    assert (report.notes, len(killed)) == ([], 1)
    assert store.rows("SELECT anchor FROM chunks") == [("one",)]


def test_a_date_in_the_future_makes_no_document_the_newest(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    file = write_lines(
        document(1, created_at="2999-01-01"), document(2, created_at="2020-01-01T00:00:00Z")
    )
    ingest_documents(store, embedder, file)
    with store.transaction() as conn:
        rows = conn.execute("SELECT doc_date, date_source FROM documents ORDER BY document_id")
        assert rows.fetchall() == [(None, None), (datetime(2020, 1, 1, tzinfo=UTC), "explicit")]


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_the_first_and_last_moments_are_kept_whatever_the_servers_time_zone(
    server_dsn: str, store: Store, embedder: Any, write_lines: Write, zone: str
) -> None:
    moments = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
    file = write_lines(
        *(
            document(n, created_at=moment, lineage_id="guide", version=f"{n}.0")
            for n, moment in enumerate(moments)
        )
    )
    dsn = make_conninfo(server_dsn, options=f"-c timezone={zone}")
    with open_store(dsn, store.collection) as abroad:
        assert ingest_documents(abroad, embedder, file).documents_new == 2
        with abroad.transaction() as conn:
            rows = conn.execute("SELECT DISTINCT created_at FROM chunks ORDER BY 1").fetchall()
    assert [row[0].isoformat() for row in rows] == [m.replace("Z", "+00:00") for m in moments]
