"""The neighbours of chunks in their documents, for a context with whole passages."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from operators.frames import SIGNATURES, SURROUNDINGS
from operators.postgres.search.batches import Deadline, run
from operators.postgres.store import Connection, Home

REACH = 4
"""Number of chunks that are read before and after each."""


def surroundings(homes: Mapping[str, Home], hits: pl.DataFrame, *, grown: int) -> pl.DataFrame:
    """``SURROUNDINGS``: the chunks of ``hits``, and ``REACH`` before and after the first ``grown``.

    A single chunk between two that are read is read too.

    ``hits`` has the columns corpus, chunk_id and rank, from 0. An unreadable corpus raises an
    error; chunks that were deleted meanwhile are missing.
    """
    parts = []
    for (corpus,), of in hits["corpus", "chunk_id", "rank"].group_by("corpus"):
        if (home := homes.get(str(corpus))) is None:
            continue
        deadline = Deadline.after(None, f"reading around chunks of corpus {corpus!r}")
        ids = sorted(set(of["chunk_id"]))
        wide = set(of.filter(pl.col("rank") < grown)["chunk_id"])
        read = partial(_read, corpus=home.corpus, ids=ids, wide=wide)
        rows = run(home.store, deadline, read)
        parts += [(corpus, *row) for row in rows]
    return pl.DataFrame(sorted(parts), schema=SURROUNDINGS, orient="row")


def _read(
    conn: Connection, *, corpus: str, ids: Sequence[int], wide: Collection[int]
) -> list[tuple[Any, ...]]:
    # Two statements: chunks that are spread over a cluster's nodes can only be joined on their ids.
    rows = conn.execute(
        "SELECT chunk_id, document_key, ordinal FROM chunks"
        " WHERE corpus = %s AND chunk_id = ANY(%s::bigint[])",
        (corpus, list(ids)),
    ).fetchall()
    reach = [(key, at, REACH if chunk_id in wide else 0) for chunk_id, key, at in rows]
    wanted = {
        (key, near) for key, at, most in reach for near in range(max(at - most, 0), at + most + 1)
    }
    wanted |= {(key, at + 1) for key, at in wanted if (key, at + 2) in wanted}
    keys = sorted({key for key, _ in wanted})
    return conn.execute(
        "SELECT document_key::text, ordinal, chunk_id, start_line, end_line, anchor, version, text,"
        f" CASE WHEN strpos(metadata, '\"{SIGNATURES}\"') > 0"
        f" THEN metadata::jsonb ->> '{SIGNATURES}' END"
        " FROM chunks WHERE corpus = %s AND document_key = ANY(%s::uuid[])"
        " AND document_key::text || ' ' || ordinal = ANY(%s::text[])",
        (corpus, keys, [f"{key} {near}" for key, near in sorted(wanted)]),
    ).fetchall()
