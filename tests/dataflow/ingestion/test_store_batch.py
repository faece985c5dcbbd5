"""Documents are stored in batches, by what the ledger says of them."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ingested import document, lines, texts
from ingesting import ingest_documents
from ledger_rows import states

from dataflow.ingestion.loop import ingest
from dataflow.ingestion.store_batch import FAILURES_IN_A_ROW
from operators.embedding.protocol import EmbeddingError
from operators.postgres.store import Store, collection_info
from operators.sources.folder import folder_source
from operators.sources.protocol import Document, Item, Source

Write = Callable[..., Path]
Read = Callable[[Store], dict[str, Any]]


def test_documents_are_stored_with_chunks_vectors_and_ledger(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    file = write_lines(*(document(n) for n in range(7)))
    report = ingest_documents(store, embedder, file)
    assert report.ok
    assert (report.documents_new, report.documents_unchanged) == (7, 0)
    assert report.chunks == report.embedded == 7 * 3
    assert 0 <= report.embedding_seconds <= report.seconds
    assert texts(store) == {f"d{n:03}": document(n)["text"] for n in range(7)}
    assert set(states(store).values()) == {("indexed", None)}
    assert collection_info(store).corpora == {"docs": 21}
    assert collection_info(store).model == "words"


def test_one_changed_document_costs_only_its_own_chunks(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    ingest_documents(store, embedder, write_lines(*(document(n) for n in range(7))))
    embedder.embedded.clear()
    changed = document(3)["text"] + " and a new end"
    lines = [document(n) if n != 3 else document(3, text=changed) for n in range(7)]
    report = ingest_documents(store, embedder, write_lines(*lines))
    assert (report.documents_changed, report.documents_unchanged) == (1, 6)
    assert len(embedder.embedded) == report.embedded == 1  # of its three chunks
    assert texts(store)["d003"] == changed


def refuse_writing(store: Store, document_id: str, state: str) -> None:
    """Have the server refuse the chunks of a document with that SQLSTATE."""
    body = (
        f"BEGIN IF NEW.document_id = '{document_id}' THEN"
        f" RAISE EXCEPTION 'trouble' USING ERRCODE = '{state}'; END IF; RETURN NEW; END"
    )
    function = f"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $${body}$$"
    trigger = "CREATE TRIGGER refuse BEFORE INSERT ON chunks FOR EACH ROW EXECUTE FUNCTION refuse()"
    store.execute(function)
    store.execute(trigger)


@pytest.mark.parametrize("state", ["57014", "XX000"])
def test_a_document_that_met_trouble_of_the_server_is_tried_again(
    store: Store, embedder: Any, write_lines: Write, state: str
) -> None:
    ingest_documents(store, embedder, write_lines(document(0), document(1)))
    file = write_lines(*(document(n, text=f"new {n}") for n in range(1, 4)))
    refuse_writing(store, "d001", state)
    assert [f.where for f in ingest_documents(store, embedder, file).failed] == ["d001"]
    again = ingest_documents(store, embedder, file)
    assert ([f.where for f in again.failed], again.known_failures) == (["d001"], 0)
    store.execute("DROP FUNCTION refuse CASCADE")
    assert ingest_documents(store, embedder, file).ok
    assert texts(store)["d001"] == "new 1"


def test_a_document_that_no_server_can_take_is_not_tried_again(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    ingest_documents(store, embedder, write_lines(document(0)))
    file = write_lines(*(document(n) for n in range(3)))
    refuse_writing(store, "d001", "22003")
    assert [f.where for f in ingest_documents(store, embedder, file).failed] == ["d001"]
    again = ingest_documents(store, embedder, file)
    assert (again.ok, again.documents_unchanged, again.known_failures) == (True, 3, 1)


def test_a_corpus_that_cannot_be_made_fails_each_time_and_ends_nothing(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    ingest_documents(store, embedder, write_lines(document(0)))
    file = write_lines(document(0), document(1, corpus="docs_pkey"), document(2))
    for unchanged in (1, 2):
        report = ingest_documents(store, embedder, file)
        assert "call it otherwise" in str(report.failed)
        assert (report.ok, report.documents_unchanged) == (False, unchanged)
    assert set(texts(store)) == {"d000", "d002"}


def test_a_model_that_cannot_count_ends_the_run(
    store: Store, new_embedder: Any, write_lines: Write
) -> None:
    class Broken(type(new_embedder())):  # type: ignore[misc]
        def count_tokens(self, *args: Any, **kwargs: Any) -> Any:
            raise EmbeddingError("the model is away")

    report = ingest_documents(store, Broken(), write_lines(*(document(n) for n in range(40))))
    assert len(report.failed) == FAILURES_IN_A_ROW + 1
    assert "documents in a row" in str(report.failed[-1])
    assert ingest_documents(store, new_embedder(), write_lines(document(0))).documents_changed == 1


def test_the_size_of_batches_does_not_show_in_the_result(
    new_store: Callable[[], Store], embedder: Any, write_lines: Write, contents: Read
) -> None:
    file = write_lines(
        *(
            document(n, corpus=("docs", "wiki")[n % 2], repo=("", "a/b")[n % 3 % 2])
            for n in range(20)
        )
    )
    held = []
    for options in ({}, {"batch_documents": 1}, {"batch_characters": 3000}):
        store = new_store()
        ingest_documents(store, embedder, file, **options)
        held.append(contents(store))
    assert held[0] == held[1] == held[2]


def test_vectors_that_were_made_before_a_kill_are_not_made_again(
    dying: Callable[..., dict[str, Any]],
    new_store: Callable[[], Store],
    embedder: Any,
    write_lines: Callable[..., Path],
    server_dsn: str,
) -> None:
    file = write_lines(*lines(range(12)))
    met = dying(dsn=server_dsn, collection=new_store().collection, source=str(file), point=0)["met"]
    at = [n for n, name in enumerate(met, 1) if "after" in name and "cache_emb" in name][1]
    store = new_store()
    dying(dsn=server_dsn, collection=store.collection, source=str(file), point=at)
    made = store.rows("SELECT count(*) FROM embedding_cache")[0][0]
    waiting = sum(collection_info(store).unembedded.values())
    report = ingest_documents(store, embedder, file)
    assert (made, report.chunks) == (8, 0)  # of two calls, and of one the chunks have theirs
    assert report.embedded == waiting - 4


def test_a_document_whose_id_no_database_can_hold_stays_in_the_run_that_stored_it(
    store: Store, embedder: Any
) -> None:
    """A reader of the user's may not clean what it yields."""
    documents = [Document(name, "docs", "", None, "text") for name in ("a", "b", "c", "d\0")]
    source = Source("own/1", lambda: iter(documents), (("docs", ""),), lambda: 1.0)
    for new, unchanged in ((4, 0), (0, 4)):
        report = ingest(store, embedder, source)
        counts = (report.documents_new, report.documents_unchanged, report.documents_deleted)
        assert (report.ok, counts) == (True, (new, unchanged, 0))
        assert set(texts(store)) == {"a", "b", "c", "d\ufffd"}


def test_what_a_run_holds_does_not_grow_with_its_documents(
    store: Store, embedder: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "pages"
    for part in range(12):
        (folder / f"part{part:02}").mkdir(parents=True)
        for page in range(100):
            name = f"part{part:02}/page{page:02}.md"
            (folder / name).write_text(f"Words of {part} and {page}.\n")
    source = folder_source(folder)
    held: list[int] = []

    def scan() -> Iterator[Item]:
        for number, item in enumerate(source.scan()):
            if number in (400, 1_100):
                gc.collect()
                held.append(sys.getallocatedblocks())
            yield item

    embedder.embedded = deque(maxlen=0)
    for _ in range(2):  # all are new, then known
        held.clear()
        ingest(store, embedder, replace(source, scan=scan))
        assert held[1] - held[0] < 0.5 * 700  # not even an object for every second document
