"""A batch is let go when it is done, and nothing else that a run holds grows with its source."""

from __future__ import annotations

import gc
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hamilton.ad_hoc_utils import create_temporary_module
from hamilton.function_modifiers import tag

from dataflow.ingestion import build_ingestion_graph, ingest, ingest_documents
from operators.postgres.store import Store
from operators.sources.folder import folder_source
from operators.sources.protocol import Document, Item


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Batch(list[Any]):
    """A list that can be watched."""


@pytest.mark.usefixtures("no_collector")
def test_a_run_of_the_graph_leaves_none_of_its_values_behind() -> None:
    made: list[weakref.ref[Any]] = []

    @tag(stage="read")
    def watched(batch: list[Document]) -> Batch:
        """Watched."""
        value = Batch(batch)
        made.append(weakref.ref(value))
        return value

    @tag(stage="read")
    def asked(watched: Batch) -> int:
        """What is asked for."""
        return len(watched)

    mine = create_temporary_module(watched, asked, module_name="watched")
    graph = build_ingestion_graph(modules=[mine])
    handed = Batch([1, 2])
    assert graph.execute(["asked"], inputs={"batch": handed}) == {"asked": 2}
    made.append(weakref.ref(handed))
    del handed
    assert [ref() for ref in made] == [None, None]


@pytest.mark.usefixtures("no_collector")
def test_documents_of_earlier_batches_are_gone(
    store: Store, embedder: Any, write_lines: Callable[..., Path]
) -> None:
    from dataflow.ingestion.graph import chunks as usual

    frames: list[weakref.ref[Any]] = []

    @tag(stage="chunk")
    def chunks(documents: pl.DataFrame, embedder: Any) -> pl.DataFrame:
        """Watched."""
        frame = usual(documents, embedder)
        frames.append(weakref.ref(frame))
        return frame

    mine = create_temporary_module(chunks, module_name="watched_chunks")
    file = write_lines(
        *({"doc_id": f"d{n}", "corpus": "docs", "text": f"word{n}"} for n in range(20))
    )
    ingest_documents(store, embedder, file, batch_documents=5, modules=[mine])
    assert len(frames) == 4
    assert [ref() for ref in frames] == [None] * 4


@pytest.mark.parametrize("again", [False, True])
def test_what_a_run_holds_does_not_grow_with_its_documents(
    again: bool, store: Store, embedder: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "pages"
    for part in range(20):
        (folder / f"part{part:02}").mkdir(parents=True)
        for page in range(100):
            name = f"part{part:02}/page{page:02}.md"
            (folder / name).write_text(f"Words of {part} and {page}.\n")
    source = folder_source(folder)
    if again:
        ingest(store, embedder, source)
    held: list[int] = []

    def scan() -> Iterator[Item]:
        for number, item in enumerate(source.scan()):
            if number in (500, 1_900):
                gc.collect()
                held.append(sys.getallocatedblocks())
            yield item

    embedder.embedded = deque(maxlen=0)
    ingest(store, embedder, replace(source, scan=scan))
    assert held[1] - held[0] < 0.5 * 1_400  # not even an object for every second document
