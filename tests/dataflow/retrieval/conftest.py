"""Drivers of the real graph over made-up searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from dataflow.configuration.config_model import load_config
from dataflow.driver.retrieval_driver import RetrievalDriver, build_graph
from operators import frames

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


@pytest.fixture(scope="session")
def driver_of() -> Iterator[Callable[..., RetrievalDriver]]:
    """A driver over three corpora for variants of its stages, built once each."""
    built: dict[str, RetrievalDriver] = {}

    def make(variants: dict[str, str] | None = None, **corpus: str) -> RetrievalDriver:
        key = repr((variants, corpus))
        if key not in built:
            config = load_config("default")
            others: dict[str, Any] = {n: None for n in config.corpora if n not in CORPORA}
            config = config.with_changes(
                {
                    "corpora": others,
                    "variants": variants or {},
                    "corpus_defaults": {"variants": corpus},
                }
            )
            embedder = SimpleNamespace(model="none", count_tokens=lambda t: [len(x) for x in t])
            bound = {"store": SimpleNamespace(collection="none", space=None), "embedder": embedder}
            built[key] = RetrievalDriver(config, build_graph(config), bound)
        return built[key]

    yield make
    for driver in built.values():
        driver.close()


@pytest.fixture(scope="session")
def frames_of_stages() -> dict[str, pl.Schema]:
    """The columns that the frames of these nodes have."""
    return {
        "code.merged": frames.MERGED,
        "code.deduped": frames.DEDUPED,
        "wiki.unified": frames.UNIFIED,
        "fused": frames.FUSED,
        "weighted": frames.FUSED,
        "reranked": frames.FUSED,
        "unique": frames.FUSED,
        "results": frames.FUSED,
        "packed": frames.PACKED,
        "context_window": frames.CONTEXT,
        "citations": frames.CITATIONS,
        "notes": frames.NOTES,
        "outcomes": frames.OUTCOMES,
    }
