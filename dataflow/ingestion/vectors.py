"""Embeds chunks that keyword search finds already: the last step of `ingest`, and of workers.

Any number of workers share the work, on any machine that reaches the server; see
:mod:`operators.postgres.write.chunk_vectors`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
import polars as pl
from hamilton.driver import Driver
from numpy.typing import NDArray

from dataflow.execution.hamilton_logs import quiet_hamilton
from dataflow.ingestion.graph_builder import build_ingestion_graph
from operators.embedding.background import USUAL, background
from operators.embedding.protocol import Embedder
from operators.postgres.errors import DatabaseError
from operators.postgres.inspect.status import missing_vectors
from operators.postgres.schema.indexes import make_searchable, pending_corpora
from operators.postgres.store import (
    ModelMismatch,
    Store,
    collection_info,
    need_space,
    set_background,
)
from operators.postgres.write.chunk_vectors import embed_some
from operators.postgres.write.embedding_cache import limit_cache

T = TypeVar("T")

CHUNKS_AT_ONCE, MOST_AT_ONCE = 32, 1_024
"""Chunks of one transaction, which locks them while it embeds; a fast model has more."""

RECOUNT_S = 30.0
"""Seconds between two counts of the queue: other workers take chunks, and counting is slow."""

_AWAY = {"away", "no_server", "busy"}  # temporary kinds of database errors
_PROBE = "a text that every model can embed"


@dataclass(slots=True)
class Embedded:
    """The report of one worker."""

    chunks: int = 0  # that got a vector
    embedded: int = 0  # texts that the model read; the others were cached
    failed: list[tuple[str, str]] = field(default_factory=list)  # a chunk's document, and why
    left: int = 0  # chunks of the collection that are still queued
    seconds: float = 0.0  # from the start to the end
    eta_s: float | None = None  # seconds until none is left at this pace; None: unknown


OnVectors = Callable[[Embedded], None]
Embed = Callable[[pl.DataFrame], NDArray[np.float32]]
"""The vectors of chunks, shape (chunks, dimensions)."""


def embed_missing(
    store: Store,
    embedder: Embedder,
    *,
    graph: Driver | None = None,
    stop: Callable[[], bool] = lambda: False,
    patience_s: float = 0.0,
    on_event: OnVectors | None = None,
) -> Embedded:
    """Embed every chunk without a vector, in the order of the queue; return the report.

    For a chunk that the model cannot embed the error is stored, and it is retried when its text
    changes. Workers skip chunks that another one has locked.

    Args:
        embedder: the collection's model.
        graph: the ingestion graph, with the nodes of the caller.
        stop: called before each transaction; True ends the work.
        patience_s: seconds to wait for an unreachable server.
        on_event: receives the report so far after each transaction.

    Raises:
        Exception: the model's own, if it embeds nothing at all.
        ModelMismatch: the collection has another model.
        DatabaseError: the server is unreachable for longer than ``patience_s``.
    """
    done, began = Embedded(), time.monotonic()
    graph = graph or build_ingestion_graph()
    store = store.embedding_in(embedder.space)
    info = collection_info(store)
    need_space(store, info.model, info.space)
    if info.dimensions is None:  # nothing was ever ingested
        return done
    touched, measured = set(), info.background if embedder.model != "minilm" else USUAL
    waiting = done.left = count_unembedded(store) if on_event is not None else 0
    counted_at = began

    def embed(chunks: pl.DataFrame) -> NDArray[np.float32]:
        vectors, made = vectors_of(graph, store, embedder, chunks)
        done.embedded += made
        return vectors

    either = partial(vectors_or_reasons, embedder, embed)
    limit = CHUNKS_AT_ONCE
    while not stop():
        started = time.monotonic()
        some = _patiently(partial(embed_some, store, either, limit=limit), patience_s)
        if some is None:
            break
        limit = _next_limit(limit, time.monotonic() - started)
        touched.add(some.corpus)
        if measured is None and some.vectors:
            set_background(store, measured := background(embedder))
        done.chunks += some.vectors
        done.failed += some.failed
        done.seconds = time.monotonic() - began
        if on_event is not None:
            done.left = max(done.left - some.vectors - len(some.failed), 0)
            if time.monotonic() - counted_at > RECOUNT_S:
                done.left, counted_at = count_unembedded(store), time.monotonic()
            done.eta_s = seconds_left(waiting - done.left, done.left, done.seconds)
            on_event(done)
    store.forget_info()
    if corpora := touched | set(pending_corpora(store)):
        make_searchable(store, sorted(corpora))
    if touched:
        limit_cache(store)
    done.left, done.eta_s = count_unembedded(store), None
    done.seconds = time.monotonic() - began
    return done


def count_unembedded(store: Store) -> int:
    """The number of chunks of the collection that are queued for embedding."""
    return sum(waiting for waiting, _ in missing_vectors(store).values())


def seconds_left(done: float, left: float, seconds: float) -> float | None:
    """Seconds for ``left`` if ``done`` took ``seconds``; None while ``done`` is too small.

    >>> seconds_left(200, 1_000, 20.0)
    100.0
    """
    return seconds * left / done if done > 0 and seconds > 1 else None


def _next_limit(limit: int, seconds: float) -> int:
    """The next batch: double after a transaction of half a second, half after two seconds."""
    chosen = limit * 2 if seconds < 0.5 else limit // 2 if seconds > 2 else limit
    return min(max(chosen, CHUNKS_AT_ONCE), MOST_AT_ONCE)


def _patiently(work: Callable[[], T], patience_s: float) -> T:
    ends = time.monotonic() + patience_s
    while True:
        try:
            return work()
        except DatabaseError as error:
            if error.kind not in _AWAY or time.monotonic() > ends:
                raise
            time.sleep(1)


def vectors_or_reasons(
    embedder: Embedder, embed: Embed, chunks: pl.DataFrame
) -> tuple[NDArray[np.float32], dict[int, str]]:
    """The vectors of ``chunks``, shape (chunks, dimensions), and by row why one has none.

    If the batch fails, each chunk is embedded alone. ``embed`` calls the model ``embedder``.

    Raises:
        Exception: the model's own, if it does not embed a plain sentence either.
    """
    try:
        return embed(chunks), {}
    except (DatabaseError, ModelMismatch):
        raise
    except Exception as error:  # a model of the user's may raise anything
        if len(chunks) == 1:
            embedder.embed_documents([_PROBE])  # raises where the model is at fault
            reason = f"{type(error).__name__}: {error}"
            return np.zeros((1, embedder.dimensions), np.float32), {0: reason}
    each = [vectors_or_reasons(embedder, embed, chunks[row]) for row in range(len(chunks))]
    failed = {row: reasons[0] for row, (_, reasons) in enumerate(each) if reasons}
    return np.concatenate([vectors for vectors, _ in each]), failed


def vectors_of(
    graph: Driver, store: Store, embedder: Any, chunks: pl.DataFrame
) -> tuple[NDArray[np.float32], int]:
    """The vectors of ``chunks`` (title, anchor, text), and how many were not cached."""
    inputs = {"store": store, "embedder": embedder}
    wanted = ["embedded_texts", "known_vectors", "new_vectors"]
    with quiet_hamilton():
        made = graph.execute(wanted, inputs=inputs, overrides={"readable_chunks": chunks})
    vectors = made["known_vectors"] | made["new_vectors"]
    stacked = np.stack([vectors[key] for key in made["embedded_texts"]["text_hash"]])
    return stacked, len(made["new_vectors"])
