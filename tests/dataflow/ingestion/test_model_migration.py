"""Another model comes in while the collection is searched and written to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ingesting import ingest_documents

from dataflow import build_driver, load_config
from dataflow.ingestion.model_migration import ModelMigrationReport, migrate_model
from operators.errors import CrosscorpusError
from operators.postgres.inspect.verify import verify
from operators.postgres.schema import model_migration
from operators.postgres.store import ModelMismatch, Store, collection_info, open_store
from operators.postgres.write.chunk_vectors import fill, unfilled

Write = Callable[..., Path]
Read = Callable[[Store], dict[str, Any]]


def document(number: int, words: int = 60) -> dict[str, Any]:
    return {
        "doc_id": f"d{number:03}", "corpus": ("docs", "wiki")[number % 2], "repo": "org/app",
        "title": f"Page {number}", "text": " ".join(f"word{number}x{n}" for n in range(words)),
    }  # fmt: skip


@pytest.fixture
def second(new_embedder: Any) -> Any:
    """Another model, of another dimension."""
    made = new_embedder("words-2")
    made.model, made.dimensions = "more words", 48
    return made


@pytest.fixture
def filled(store: Store, embedder: Any, write_lines: Write) -> Store:
    ingest_documents(store, embedder, write_lines(*(document(n) for n in range(12))))
    return store


def vectors(store: Store) -> dict[int, Any]:
    rows = store.rows("SELECT chunk_id, embedding::real[] FROM chunks")
    return {chunk_id: np.array(vector) for chunk_id, vector in rows}


def fill_alone(store: Store, embedder: Any) -> None:
    """Interrupt a migration when every chunk has its vector, before the cut-over."""

    def interrupt(event: ModelMigrationReport) -> None:
        if event.stage == "index":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate_model(store, embedder, on_event=interrupt)


def ask(driver: Any, number: int = 3) -> Any:
    wanted = ["results", "outcomes", "notes"]
    return driver.execute(wanted, inputs={"query": f"word{number}x1 word{number}x2"})


def test_every_chunk_gets_the_vector_of_the_new_model(
    filled: Store, second: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow.ingestion.model_migration.CHUNKS_AT_ONCE", 7)
    report = migrate_model(filled, second)
    info = collection_info(filled)
    assert (info.model, info.space, info.dimensions) == ("more words", "words-2", 48)
    assert (report.chunks, report.embedded) == (24, 24)
    assert model_migration.pending_model_migration(filled) is None
    assert verify(filled).is_empty()
    expected = dict(zip(*_made(filled, second), strict=True))
    for chunk_id, vector in vectors(filled).items():
        assert np.allclose(vector, expected[chunk_id], atol=1e-3)


def _made(store: Store, embedder: Any) -> tuple[list[int], Any]:
    rows = store.rows("SELECT chunk_id, title, text FROM chunks")
    return [row[0] for row in rows], embedder.embed_documents([f"{r[1]}\n{r[2]}" for r in rows])


def test_progress_is_told_from_what_was_there_to_the_end(
    filled: Store, second: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow.ingestion.model_migration.CHUNKS_AT_ONCE", 10)
    events: list[ModelMigrationReport] = []
    migrate_model(filled, second, on_event=events.append)
    assert [(e.stage, e.chunks) for e in events] == [
        ("fill", 10), ("fill", 20), ("fill", 24), ("index", 24), ("done", 24),
    ]  # fmt: skip
    assert {e.total for e in events} == {24}


def test_the_old_model_answers_until_the_cut_over(
    filled: Store, embedder: Any, second: Any
) -> None:
    with build_driver(load_config("default"), store=filled, embedder=embedder) as driver:
        before = ask(driver)["results"]
        fill_alone(filled, second)
        assert ask(driver)["results"].equals(before)
        assert collection_info(filled).model == "words"


def test_a_driver_of_the_old_model_goes_on_by_words_and_says_so(
    filled: Store, embedder: Any, second: Any
) -> None:
    with build_driver(load_config("default"), store=filled, embedder=embedder) as driver:
        ask(driver)
        migrate_model(filled, second)
        answer = ask(driver)
        assert "d003" in answer["results"]["document_id"].to_list()
        failed = answer["outcomes"].filter(channel="vector", status="failed")
        assert failed["corpus"].to_list() == ["docs", "wiki"]
        assert "open it again with embedding: more words" in failed["error"][0]
        assert not answer["notes"].is_empty()
    with pytest.raises(ModelMismatch, match=r"'more words'.*'words'"):
        build_driver(load_config("default"), store=filled, embedder=embedder)
    with build_driver(load_config("default"), store=filled, embedder=second) as driver:
        assert set(ask(driver)["outcomes"]["status"]) <= {"ok", "absent", "empty"}


def test_a_process_whose_knowledge_is_a_second_old_gets_no_row_of_the_new_model(
    filled: Store, embedder: Any, new_embedder: Any, server_dsn: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("operators.postgres.store.INFO_SECONDS", 60.0)
    same_width = new_embedder("words-2")
    with (
        open_store(server_dsn, filled.collection) as other,
        build_driver(load_config("default"), store=other, embedder=embedder) as driver,
    ):
        ask(driver)
        info = collection_info(other)
        migrate_model(filled, same_width)
        assert collection_info(other) is info, "the test is about what it does not know yet"
        outcomes = ask(driver)["outcomes"].filter(channel="vector")
        assert set(outcomes.filter(corpus="docs")["status"]) == {"failed"}


def test_searches_never_fail_or_mix_while_a_model_comes_in(
    filled: Store, embedder: Any, second: Any, server_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search gives what the old model gives, or what the new one gives, or says it has failed."""
    monkeypatch.setattr("dataflow.ingestion.model_migration.CHUNKS_AT_ONCE", 3)
    monkeypatch.setattr("operators.postgres.schema.indexes.EXACT_SCAN_MAX_ROWS", 5)
    right: dict[str, Any] = {}
    stop, errors, answers = threading.Event(), list[BaseException](), [0]

    def look() -> None:
        config = load_config("default")
        with open_store(server_dsn, filled.collection) as other:
            model = embedder
            while not stop.is_set():
                try:
                    with build_driver(config, store=other, embedder=model) as driver:
                        while not stop.is_set():
                            answer = ask(driver)
                            assert "d003" in answer["results"]["document_id"]
                            answers[0] += 1
                            if (answer["outcomes"]["status"] == "failed").any():
                                model = second
                                break
                            same = right.setdefault(model.space, answer["results"])
                            assert answer["results"].equals(same)
                except BaseException as error:
                    errors.append(error)
                    return

    thread = threading.Thread(target=look)
    thread.start()
    while not answers[0] and thread.is_alive():
        stop.wait(0.02)
    try:
        migrate_model(filled, second)
        seen = answers[0]
        while answers[0] < seen + 5 and thread.is_alive():
            stop.wait(0.02)
    finally:
        stop.set()
        thread.join()
    assert not errors
    assert right.keys() == {"words-1", "words-2"}


def test_a_cut_over_is_refused_while_a_vector_or_an_index_is_missing(
    filled: Store, second: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_migration.begin_model_migration(filled, second.model, second.space, second.dimensions)
    with pytest.raises(model_migration.ModelMigrationIncomplete, match="24 chunks have no vector"):
        model_migration.cut_over(filled)
    fill_alone(filled, second)
    monkeypatch.setattr("operators.postgres.schema.indexes.EXACT_SCAN_MAX_ROWS", 5)
    with pytest.raises(model_migration.ModelMigrationIncomplete, match="no index"):
        model_migration.cut_over(filled)
    assert collection_info(filled).model == "words"


def test_what_is_written_meanwhile_gets_its_vector_before_the_cut_over(
    filled: Store, embedder: Any, second: Any, write_lines: Write
) -> None:
    fill_alone(filled, second)
    more = write_lines(*(document(n, 70 if n == 3 else 60) for n in range(14)))
    assert ingest_documents(filled, embedder, more).ok
    pending = model_migration.pending_model_migration(filled)
    assert pending.missing == 6
    assert migrate_model(filled, second).embedded == 5  # one chunk has the text it had
    assert verify(filled).is_empty()


def test_a_chunk_that_changed_since_it_was_read_does_not_get_the_vector_of_its_old_text(
    filled: Store, embedder: Any, second: Any, write_lines: Write
) -> None:
    model_migration.begin_model_migration(filled, second.model, second.space, second.dimensions)
    read = unfilled(filled, 100)
    ingest_documents(filled, embedder, write_lines({**document(3), "text": "short now"}))
    taken = fill(filled, second.space, read, np.ones((len(read), 48), dtype=np.float32))
    assert taken == len(read) - 2
    assert len(unfilled(filled, 100)) == 1


def test_an_ingestion_of_the_old_model_that_is_overtaken_ends_without_writing(
    filled: Store, embedder: Any, new_embedder: Any, write_lines: Write, server_dsn: str
) -> None:
    same_width = new_embedder("words-2")
    with open_store(server_dsn, filled.collection) as other:

        def migrate_now(event: Any) -> None:
            if event.stage == "scan" and collection_info(other).space == "words-1":
                migrate_model(other, same_width)

        lines = write_lines(*(document(n) for n in range(20, 40)))
        with pytest.raises(ModelMismatch, match="embedding: words"):
            ingest_documents(filled, embedder, lines, batch_documents=5, on_event=migrate_now)
    held = dict(zip(*_made(filled, same_width), strict=True))
    assert all(np.allclose(v, held[k], atol=1e-3) for k, v in vectors(filled).items())
    assert ingest_documents(filled, same_width, lines).ok


def test_the_next_ingestion_cuts_for_the_new_model_and_ends_as_a_fresh_build(
    new_store: Callable[[], Store], embedder: Any, second: Any, write_lines: Write, contents: Read
) -> None:
    second.max_tokens = 25
    file = write_lines(*(document(n) for n in range(6)))
    store, fresh = new_store(), new_store()
    ingest_documents(store, embedder, file)
    report = migrate_model(store, second)
    assert report.cut == 6
    assert verify(store).is_empty()
    assert ingest_documents(store, second, file).documents_changed == 6
    ingest_documents(fresh, second, file)
    here, there = contents(store), contents(fresh)
    del here["embedding_cache"], there["embedding_cache"]
    assert here == there


def test_a_migration_is_given_up_and_another_one_begun(
    filled: Store, second: Any, new_embedder: Any
) -> None:
    fill_alone(filled, second)
    third = new_embedder("words-3")
    with pytest.raises(CrosscorpusError, match="on its way to model 'more words'"):
        migrate_model(filled, third)
    assert model_migration.abandon_model_migration(filled)
    assert model_migration.pending_model_migration(filled) is None
    assert not model_migration.abandon_model_migration(filled)
    migrate_model(filled, third)
    assert collection_info(filled).space == "words-3"


@pytest.mark.parametrize("case", ["the same model", "no model"])
def test_a_migration_that_makes_no_sense_is_refused(
    case: str, new_store: Callable[[], Store], filled: Store, embedder: Any
) -> None:
    store = filled if case == "the same model" else new_store()
    with pytest.raises(CrosscorpusError, match=r"already|no model yet"):
        migrate_model(store, embedder)


def test_a_long_search_is_waited_for_and_holds_no_other_up(filled: Store, second: Any) -> None:
    fill_alone(filled, second)
    begun, release = threading.Event(), threading.Event()

    def search() -> None:
        with filled.transaction() as conn:
            conn.execute("SELECT count(*) FROM chunks")
            begun.set()
            release.wait(20)

    thread = threading.Thread(target=search)
    thread.start()
    begun.wait(20)
    threading.Timer(1.2, release.set).start()
    model_migration.cut_over(filled)
    thread.join()
    assert release.is_set()
    assert collection_info(filled).model == "more words"
