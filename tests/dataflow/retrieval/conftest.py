"""Drivers of the real graph, over made-up searches and over what a test ingests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from dataflow.configuration.config_model import load_config
from dataflow.driver.retrieval_driver import RetrievalDriver, build_driver
from operators import frames
from operators.postgres.store import drop_collection, open_store

CORPORA = ("code", "review", "wiki")
NOW = datetime(2025, 6, 1, tzinfo=UTC)


@pytest.fixture(scope="session")
def run() -> Callable[..., dict[str, Any]]:
    """Asks numbered questions of a driver; what the searches find comes from the made-up world."""

    def ask(
        driver: Any, wanted: list[str], world: Any, *queries: int, **inputs: Any
    ) -> dict[str, Any]:
        rows = [{"query_id": q, "text": f"question {q}"} for q in queries]
        given = {**world.overrides(*queries), "queries": pl.DataFrame(rows)}
        out: dict[str, Any] = driver.execute(wanted, {"now": NOW, **inputs}, overrides=given)
        return out

    return ask


@pytest.fixture(scope="module")
def ingested(
    crosscorpus: Any, server_dsn: str, minilm: Any
) -> Iterator[Callable[..., RetrievalDriver]]:
    """A driver over a collection that the commands of ``crosscorpus ingest`` fill."""
    with ExitStack() as open_until_the_end:

        def make(collection: str, *commands: list[str]) -> RetrievalDriver:
            for command in commands:
                done = crosscorpus("ingest", *command, "--repo", "app", "-C", collection)
                assert done.returncode == 0, done.stderr
            open_until_the_end.callback(drop_collection, server_dsn, collection)
            store = open_until_the_end.enter_context(open_store(server_dsn, collection))
            driver = build_driver("default", collection, store=store, embedder=minilm)
            return open_until_the_end.enter_context(driver)

        yield make


@pytest.fixture(scope="session")
def driver_of(driver_for: Callable[..., RetrievalDriver]) -> Callable[..., RetrievalDriver]:
    """A driver over three corpora for variants of its stages, built once each."""

    default = load_config("default")
    others: dict[str, Any] = {n: None for n in default.corpora if n not in CORPORA}
    built: dict[str, RetrievalDriver] = {}

    def make(variants: dict[str, str] | None = None) -> RetrievalDriver:
        if (key := repr(variants)) not in built:
            changes = {"corpora": others, "variants": variants or {}}
            built[key] = driver_for(default.with_changes(changes))
        return built[key]

    return make


@pytest.fixture(scope="session")
def frames_of_stages() -> dict[str, pl.Schema]:
    """The columns that the frames of these nodes have."""
    return {
        "corpus_settings": frames.CORPORA,
        "vector_hits": frames.VECTOR_HITS,
        "text_hits": frames.TEXT_HITS,
        "link_sources": frames.LINK_SOURCES,
        "score_scale": frames.SCORE_SCALE,
        "normalized": frames.NORMALIZED,
        "merged": frames.MERGED,
        "deduped": frames.DEDUPED,
        "unified": frames.UNIFIED,
        "fused": frames.FUSED,
        "weighted": frames.FUSED,
        "reranked": frames.FUSED,
        "unique": frames.FUSED,
        "results": frames.SHOWN,
        "packed": frames.PACKED,
        "context_window": frames.CONTEXT,
        "citations": frames.CITATIONS,
        "notes": frames.NOTES,
        "outcomes": frames.OUTCOMES,
    }
