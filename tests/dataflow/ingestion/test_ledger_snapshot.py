from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ingesting import ingest_documents

from dataflow.ingestion.ledger_snapshot import LedgerSnapshot
from dataflow.ingestion.loop import ingest
from operators.postgres.inspect.status import status
from operators.postgres.store import Store
from operators.postgres.write.ingestion_runs import begin_run
from operators.sources.folder import folder_source
from operators.sources.protocol import Item


def test_what_the_scan_does_not_meet_has_vanished(
    store: Store, embedder: Any, write_lines: Callable[..., Path]
) -> None:
    rows = [{"doc_id": f"d{n}", "corpus": "docs", "text": f"word{n}"} for n in range(3)]
    ingest_documents(store, embedder, write_lines(*rows))
    reader = status(store)["last_run_source"].item()
    with closing(LedgerSnapshot(store, reader, begin_run(store, reader, []))) as known:
        entry = known.meet(("docs", "", "d1"))
        assert entry is not None
        assert entry.state == "indexed"
        assert known.meet(("docs", "", "new")) is None
        assert list(known.vanished(("docs", ""))) == ["d0", "d2"]
        known.note(("docs", "", "d0"), entry)
        assert list(known.vanished(("docs", ""))) == ["d2"]
        assert known.scopes == [("docs", "")]
    other = "another/1"
    with closing(LedgerSnapshot(store, other, begin_run(store, other, []))) as known:
        assert list(known.vanished(("docs", ""))) == []
        assert known.before(("docs", "")) == 0


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
