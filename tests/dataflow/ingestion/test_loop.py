from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hamilton.ad_hoc_utils import create_temporary_module
from hamilton.function_modifiers import tag
from psycopg.conninfo import make_conninfo

from dataflow.ingestion import Progress, ingest_documents
from dataflow.ingestion.store import FAILURES_IN_A_ROW
from operators.postgres.inspect.status import status
from operators.postgres.store import ModelMismatch, Store, collection_info, open_store
from operators.postgres.write.ledger import ledger
from operators.sources.chunking import code_breaks

Write = Callable[..., Path]
Read = Callable[[Store], dict[str, Any]]


def document(number: int, text: str | None = None, **fields: Any) -> dict[str, Any]:
    words = " ".join(f"word{number}x{n}" for n in range(90))
    return {
        "doc_id": f"d{number:03}", "corpus": "docs", "repo": "org/app",
        "title": f"Page {number}", "text": words if text is None else text,
    } | fields  # fmt: skip


def texts(store: Store, corpus: str = "docs") -> dict[str, str]:
    """document_id -> its chunks' text, joined."""
    with store.transaction() as conn:
        rows = conn.execute(
            "SELECT document_id, string_agg(text, '' ORDER BY ordinal) FROM chunks"
            " WHERE corpus = %s GROUP BY document_id",
            (corpus,),
        )
        return {str(name): str(text) for name, text in rows}


def states(store: Store, corpus: str = "docs", repo: str = "org/app") -> dict[str, Any]:
    frame = ledger(store, corpus, repo)
    return dict(zip(frame["document_id"], frame.select("state", "reason").iter_rows(), strict=True))


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


def test_running_twice_parses_embeds_and_writes_nothing(
    store: Store, embedder: Any, write_lines: Write, row_versions: Read
) -> None:
    file = write_lines(*(document(n) for n in range(7)), document(7, text=" "))
    ingest_documents(store, embedder, file)
    before = row_versions(store)
    embedder.embedded.clear()
    embedder.counted = 0
    report = ingest_documents(store, embedder, file)
    assert report.ok
    assert (report.documents_unchanged, report.documents_new, report.documents_changed) == (8, 0, 0)
    assert (embedder.embedded, embedder.counted) == ([], 0)
    assert row_versions(store) == before


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


def test_a_changed_date_is_a_change_that_embeds_nothing(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    ingest_documents(store, embedder, write_lines(document(1)))
    report = ingest_documents(store, embedder, write_lines(document(1, created_at="2024-01-01")))
    assert (report.documents_changed, report.embedded) == (1, 0)


def test_bad_lines_are_told_and_the_others_are_stored(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    file = write_lines(document(1), "{broken", document(2), document(2), document(3, title=5))
    report = ingest_documents(store, embedder, file)
    assert not report.ok
    assert [str(fault).partition(": ")[0] for fault in report.failed] == [
        "line 2",
        "line 4",
        "line 5",
    ]
    assert set(texts(store)) == {"d001", "d002"}
    assert states(store)["d003"] == ("failed", "title is a number, not a string")


def test_a_bad_line_leaves_the_stored_version_and_twice_writes_nothing(
    store: Store, embedder: Any, write_lines: Write, row_versions: Read
) -> None:
    ingest_documents(store, embedder, write_lines(document(1)))
    file = write_lines(document(1, title=5), document(2, title=5))
    assert not ingest_documents(store, embedder, file, prune=True).ok
    assert set(texts(store)) == {"d001"}
    assert states(store)["d001"] == ("indexed", None)
    before = row_versions(store)
    assert not ingest_documents(store, embedder, file, prune=True).ok
    assert row_versions(store) == before


def test_a_document_without_text_is_recorded_and_no_failure(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    report = ingest_documents(store, embedder, write_lines(document(1, text="")))
    assert report.ok
    assert states(store)["d001"] == ("empty", None)


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


def test_only_prune_deletes_what_a_file_lacks(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    ingest_documents(store, embedder, write_lines(*(document(n) for n in range(5))))
    fewer = write_lines(*(document(n) for n in range(4)))
    assert ingest_documents(store, embedder, fewer).documents_deleted == 0
    assert len(texts(store)) == 5
    assert ingest_documents(store, embedder, fewer, prune=True).documents_deleted == 1
    assert set(texts(store)) == set(states(store)) == {"d000", "d001", "d002", "d003"}


def test_a_mass_delete_is_refused_until_it_is_allowed(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    ingest_documents(store, embedder, write_lines(*(document(n) for n in range(10))))
    file = write_lines(*(document(n) for n in range(6)), document(50))
    report = ingest_documents(store, embedder, file, prune=True)
    assert (report.documents_new, report.documents_deleted) == (1, 0)
    [refusal] = map(str, report.failed)
    assert "docs of org/app: 4 of 10 documents are gone" in refusal
    assert "--allow-mass-delete" in refusal
    report = ingest_documents(store, embedder, file, prune=True, allow_mass_delete=True)
    assert report.ok
    assert report.documents_deleted == 4


def test_three_tenths_may_vanish(store: Store, embedder: Any, write_lines: Write) -> None:
    ingest_documents(store, embedder, write_lines(*(document(n) for n in range(10))))
    file = write_lines(*(document(n) for n in range(7)))
    assert ingest_documents(store, embedder, file, prune=True).documents_deleted == 3


@pytest.mark.parametrize("kind", ["a line that nobody can name", "a cut gzip", "an empty file"])
def test_an_incomplete_scan_deletes_nothing(
    store: Store, embedder: Any, write_lines: Write, kind: str
) -> None:
    ingest_documents(store, embedder, write_lines(*(document(n) for n in range(10))))
    if kind == "a cut gzip":
        file = write_lines(*(document(n) for n in range(10)))
        file.write_bytes(gzip.compress(file.read_bytes())[:-300])
    elif kind == "an empty file":
        file = write_lines()
    else:
        file = write_lines(*(document(n) for n in range(9)), "{broken")
    report = ingest_documents(store, embedder, file, prune=True)
    assert report.ok == (kind == "an empty file")
    assert report.documents_deleted == 0
    assert len(texts(store)) == 10


def test_a_failed_embedding_leaves_the_old_version_live(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    ingest_documents(store, embedder, write_lines(*(document(n) for n in range(3))))
    file = write_lines(
        document(0), document(1, text="poison now"), document(2, text="better"),
        document(8, text="poison too"),
    )  # fmt: skip
    embedder.fails_on = "poison"
    report = ingest_documents(store, embedder, file)
    assert [fault.where for fault in report.failed] == ["d001", "d008"]
    assert (report.documents_changed, report.documents_new) == (1, 0)
    assert texts(store)["d001"] == document(1)["text"]
    assert texts(store)["d002"] == "better"
    assert states(store)["d001"] == ("indexed", None)
    assert states(store)["d008"] == ("failed", "EmbeddingError: the model is away")
    embedder.fails_on = "\0never"
    assert ingest_documents(store, embedder, file).ok
    assert (texts(store)["d001"], texts(store)["d008"]) == ("poison now", "poison too")


def refuse_writing(store: Store, document_id: str, state: str) -> None:
    """Have the server refuse the chunks of a document with that SQLSTATE."""
    body = (
        f"BEGIN IF NEW.document_id = '{document_id}' THEN"
        f" RAISE EXCEPTION 'trouble' USING ERRCODE = '{state}'; END IF; RETURN NEW; END"
    )
    function = f"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $${body}$$"
    trigger = "CREATE TRIGGER refuse BEFORE INSERT ON chunks FOR EACH ROW EXECUTE FUNCTION refuse()"
    store.run(lambda conn: conn.execute(function))
    store.run(lambda conn: conn.execute(trigger))


@pytest.mark.parametrize("state", ["57014", "53200", "55P03", "58030", "XX000"])
def test_a_document_that_met_trouble_of_the_server_is_tried_again(
    store: Store, embedder: Any, write_lines: Write, state: str
) -> None:
    ingest_documents(store, embedder, write_lines(document(0), document(1)))
    file = write_lines(*(document(n, text=f"new {n}") for n in range(1, 4)))
    refuse_writing(store, "d001", state)
    assert [f.where for f in ingest_documents(store, embedder, file).failed] == ["d001"]
    again = ingest_documents(store, embedder, file)
    assert ([f.where for f in again.failed], again.known_failures) == (["d001"], 0)
    store.run(lambda conn: conn.execute("DROP FUNCTION refuse CASCADE"))
    assert ingest_documents(store, embedder, file).ok
    assert texts(store)["d001"] == "new 1"


@pytest.mark.parametrize("state", ["22003", "54000"])
def test_a_document_that_no_server_can_take_is_not_tried_again(
    store: Store, embedder: Any, write_lines: Write, state: str
) -> None:
    ingest_documents(store, embedder, write_lines(document(0)))
    file = write_lines(*(document(n) for n in range(3)))
    refuse_writing(store, "d001", state)
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


def test_a_model_that_always_fails_ends_the_run(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    embedder.fails_on = "word"
    report = ingest_documents(store, embedder, write_lines(*(document(n) for n in range(40))))
    assert len(report.failed) == FAILURES_IN_A_ROW + 1
    assert "documents in a row" in str(report.failed[-1])


def test_another_model_is_refused_and_names_both(
    store: Store, embedder: Any, new_embedder: Any, write_lines: Write
) -> None:
    file = write_lines(document(1))
    ingest_documents(store, embedder, file)
    with pytest.raises(ModelMismatch, match=r"space words-1.* space words-2"):
        ingest_documents(store, new_embedder("words-2"), file)


def test_another_chunker_cuts_everything_anew_without_embedding_what_is_the_same(
    store: Store, embedder: Any, write_lines: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_lines(*(document(n) for n in range(3)))
    ingest_documents(store, embedder, file)
    monkeypatch.setattr("operators.sources.chunking.chunker.VERSION", "next")
    report = ingest_documents(store, embedder, file)
    assert (report.documents_changed, report.embedded) == (3, 0)


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


def test_progress_is_told_within_a_long_batch(
    store: Store, embedder: Any, write_lines: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow.ingestion.run.EVENT_SECONDS", 0.0)
    events: list[Progress] = []
    ingest_documents(
        store, embedder, write_lines(*(document(n) for n in range(10))),
        batch_documents=5, config={"embed_at_once": 3}, on_event=events.append,
    )  # fmt: skip
    within = [e for e in events if e.documents == 0 and e.embedded]
    assert [e.embedded for e in within] == [3, 6, 9, 12]
    fractions = [e.fraction for e in events]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


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
    for options in ({}, {"batch_documents": 1}, {"batch_documents": 7}, {"batch_characters": 3000}):
        store = new_store()
        ingest_documents(store, embedder, file, **options)
        held.append(contents(store))
    assert held[0] == held[1] == held[2] == held[3]


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


def test_a_run_that_stops_stores_whole_documents_and_the_next_ones_go_on(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    file = write_lines(*(document(n) for n in range(7)))
    batches = {"batch_documents": 3, "stop_after_s": 0}
    first = ingest_documents(store, embedder, file, **batches)
    assert first.ok
    assert first.stopped_at is not None
    assert 0 < first.stopped_at < 1
    assert texts(store) == {f"d{n:03}": document(n)["text"] for n in range(3)}
    assert status(store)["last_run_state"].to_list() == ["unfinished"]
    second = ingest_documents(store, embedder, file, **batches)
    assert (second.documents_new, second.documents_unchanged) == (3, 3)
    assert second.stopped_at is not None
    third = ingest_documents(store, embedder, file, **batches)
    assert (third.documents_new, third.stopped_at) == (1, None)
    assert texts(store) == {f"d{n:03}": document(n)["text"] for n in range(7)}
    assert status(store)["last_run_state"].to_list() == ["ok"]


def test_a_run_that_stops_deletes_nothing(store: Store, embedder: Any, write_lines: Write) -> None:
    ingest_documents(store, embedder, write_lines(*(document(n) for n in range(7))))
    less = write_lines(*(document(n, text=f"new {n}") for n in range(1, 7)))
    options = {"prune": True, "batch_documents": 3, "stop_after_s": 0}
    assert ingest_documents(store, embedder, less, **options).documents_deleted == 0
    assert texts(store)["d000"] == document(0)["text"]
    assert ingest_documents(store, embedder, less, prune=True).documents_deleted == 1


def test_time_enough_is_as_no_limit(store: Store, embedder: Any, write_lines: Write) -> None:
    file = write_lines(*(document(n) for n in range(7)))
    report = ingest_documents(store, embedder, file, stop_after_s=3600)
    assert (report.documents_new, report.stopped_at) == (7, None)
