"""The ledger as a frame, for tests to look at."""

from __future__ import annotations

from typing import Any

import polars as pl

from operators.postgres.store import Store
from operators.postgres.write.ledger import Entry, read_entries

COLUMNS = ("document_id", "content_hash", "fingerprint", "state", "reason")


def ledger(store: Store, corpus: str, repo: str) -> pl.DataFrame:
    """The recorded documents of ``corpus`` in ``repo``, by id."""
    found: dict[str, Entry] = {}
    read_entries(store, corpus, repo, found.update)
    columns = (*COLUMNS, "failed_with", "failed_reason")
    rows = [(name, *entry) for name, entry in sorted(found.items())]
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def states(store: Store, corpus: str = "docs", repo: str = "org/app") -> dict[str, Any]:
    """The recorded state and reason of each document, by id."""
    frame = ledger(store, corpus, repo)
    return dict(zip(frame["document_id"], frame.select("state", "reason").iter_rows(), strict=True))
