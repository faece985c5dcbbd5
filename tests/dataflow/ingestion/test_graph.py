"""The graph of an ingestion, what it reports, and nodes that are swapped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hamilton.ad_hoc_utils import create_temporary_module
from hamilton.function_modifiers import tag
from ingested import document, texts
from ingesting import ingest_documents
from killed_children import kill_children
from psycopg.conninfo import make_conninfo

from dataflow.ingestion.graph_builder import build_ingestion_graph
from dataflow.ingestion.run import Progress
from operators.postgres.inspect.status import status
from operators.postgres.store import Store, open_store
from operators.sources.protocol import Document
from operators.sources.rights_rules import Rights

Write = Callable[..., Path]


def test_the_graph_runs_without_a_server_and_leaves_null_where_no_vector_is_known(
    embedder: Any,
) -> None:
    document = Document("d", "docs", "", "T", " ".join(f"some text {n}" for n in range(80)))
    graph = build_ingestion_graph()
    inputs = {"batch": [document], "embedder": embedder, "rights": Rights()}
    before = graph.execute(["chunks", "embedded_texts"], inputs=inputs)
    assert "".join(before["chunks"]["text"]) == document.text
    texts, hashes = before["embedded_texts"]["text"], before["embedded_texts"]["text_hash"]
    assert texts[0].startswith("T\nsome text")
    vectors = embedder.embed_documents(texts.to_list())
    known = {"known_vectors": dict(zip(hashes[1:], vectors[1:], strict=True))}
    out = graph.execute(["chunk_embeddings"], inputs=inputs, overrides=known)
    assert out["chunk_embeddings"]["embedding"].to_list() == [None, *vectors[1:].tolist()]


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


def test_the_first_and_last_moments_are_kept_whatever_the_servers_time_zone(
    server_dsn: str, store: Store, embedder: Any, write_lines: Write
) -> None:
    moments = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
    file = write_lines(
        *(
            document(n, created_at=moment, lineage_id="guide", version=f"{n}.0")
            for n, moment in enumerate(moments)
        )
    )
    dsn = make_conninfo(server_dsn, options="-c timezone=America/New_York")
    with open_store(dsn, store.collection) as abroad:
        assert ingest_documents(abroad, embedder, file).documents_new == 2
        rows = abroad.rows("SELECT DISTINCT created_at FROM chunks ORDER BY 1")
    assert [row[0].isoformat() for row in rows] == [m.replace("Z", "+00:00") for m in moments]


def test_a_node_is_swapped_by_a_module_with_one_of_its_name(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    from dataflow.ingestion.graph import chunks as usual

    @tag(stage="chunk")
    def chunks(documents: pl.DataFrame, embedder: Any) -> pl.DataFrame:
        """The first chunk of each document only."""
        return usual(documents, embedder).filter(pl.col("ordinal") == 0)

    mine = create_temporary_module(chunks, module_name="mine")
    report = ingest_documents(store, embedder, write_lines(document(1)), modules=[mine])
    assert report.chunks == 1


def test_progress_counts_committed_documents_and_ends_done(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    events: list[Progress] = []
    seen: list[int] = []

    def on_event(event: Progress) -> None:
        events.append(event)
        seen.append(len(texts(store)))

    file = write_lines(*(document(n) for n in range(20)))
    ingest_documents(store, embedder, file, batch_documents=5, on_event=on_event)
    assert [e.documents for e in events if e.stage == "scan"] == [5, 10, 15, 20]
    assert [e.documents for e in events] == seen
    assert events[-1].stage == "done"
    assert events[-1].fraction == 1.0
    assert events[-1].chunks == 60
