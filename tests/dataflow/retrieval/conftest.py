"""The real graph over made-up searches: what a store would find is given as overrides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from hypothesis import strategies as st

from dataflow.configuration.config_model import load_config
from dataflow.driver.retrieval_driver import RetrievalDriver, build_graph
from operators.context import search_outcomes as happened
from operators.frames import OUTCOMES, READ_CHUNKS, TEXT_LISTS, VECTOR_LISTS, empty

CORPORA = ("code", "review", "wiki")
NOW = datetime(2025, 6, 1, tzinfo=UTC)
Found = Mapping[int, Mapping[str, tuple[list[int], list[int]]]]


@dataclass
class World:
    """Chunks by corpus, and what the searches of each query found: query -> corpus -> two lists."""

    texts: dict[str, dict[int, str]]
    found: Found
    dates: dict[int, datetime | None] = field(default_factory=dict)
    failing: dict[tuple[str, str], Exception] = field(default_factory=dict)

    def overrides(self, *queries: int) -> dict[str, Any]:
        """What stands in for the searches, for these queries."""
        given: dict[str, Any] = {}
        for corpus in CORPORA:
            chunks = self._chunks(corpus, queries)
            given[f"{corpus}.read_chunks"] = {"chunks": chunks, "chunks_outcome": empty(OUTCOMES)}
            for place, (channel, schema) in enumerate(
                (("vector", VECTOR_LISTS), ("text", TEXT_LISTS))
            ):
                rows = [
                    (q, 0, chunk, rank, 0.1 + rank / 20 if place == 0 else 9.0 - rank / 2)
                    for q in queries
                    for rank, chunk in enumerate(self.found[q].get(corpus, ([], []))[place])
                ]
                outcome = happened.searched(corpus, channel, len(rows), 1.0)
                if error := self.failing.get((corpus, channel)):
                    rows, outcome = [], happened.unsuccessful(corpus, channel, error, 5.0)
                given[f"{corpus}.{channel}_search"] = {
                    f"{channel}_lists": pl.DataFrame(rows, schema=schema, orient="row"),
                    f"{channel}_outcome": outcome,
                }
        return given

    def _chunks(self, corpus: str, queries: tuple[int, ...]) -> pl.DataFrame:
        seen = {
            chunk for q in queries for one in self.found[q].get(corpus, ([], [])) for chunk in one
        }
        rows = [
            {
                "chunk_id": chunk,
                "document_id": f"{corpus}-{chunk}",
                "corpus": corpus,
                "repo": "org/app",
                "text": text,
                "title": f"Title {chunk}",
                "path": f"src/{chunk}.py",
                "uri": f"https://example.org/{chunk}",
                "start_line": 1,
                "end_line": 9,
                "created_at": self.dates.get(chunk),
                "embedding": [1.0, float(chunk % 3), 0.5],
            }
            for chunk, text in self.texts[corpus].items()
            if chunk in seen
        ]
        return pl.DataFrame(rows, schema=READ_CHUNKS)


def queries_frame(*ids: int, **columns: Any) -> pl.DataFrame:
    rows = [{"query_id": q, "text": f"question {q}", **columns} for q in ids]
    return pl.DataFrame(rows).with_columns(pl.col("query_id").cast(pl.UInt32))


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
            bound = {"store": None, "embedder": embedder}
            built[key] = RetrievalDriver(config, build_graph(config), bound)
        return built[key]

    yield make
    for driver in built.values():
        driver.close()


@pytest.fixture
def world() -> World:
    """Two questions over three corpora, with a copy in another corpus."""
    same = "The cache is flushed twice because both the timer and the shutdown hook call flush."
    return World(
        texts={
            "code": {1: "def flush(self): ...", 2: "class Cache: ...", 3: same},
            "review": {11: same.replace(" ", "\n"), 12: "Please rename this."},
            "wiki": {21: "Caching in general.", 22: f"  {same}"},
        },
        found={
            0: {"code": ([3, 1], [3, 2]), "review": ([11], [11, 12]), "wiki": ([22, 21], [])},
            1: {"code": ([2, 1], []), "wiki": ([21], [21])},
        },
        dates={1: NOW - timedelta(days=3), 3: NOW - timedelta(days=400)},
    )


@pytest.fixture(scope="session")
def make_world() -> type[World]:
    return World


@pytest.fixture(scope="session")
def make_queries() -> Callable[..., pl.DataFrame]:
    return queries_frame


_WORDS = [f"word{n}" for n in range(12)]
_NEAR = st.lists(st.sampled_from(_WORDS), min_size=8, max_size=14).map(" ".join)


@st.composite
def _worlds(draw: st.DrawFn) -> dict[str, Any]:
    base = draw(st.lists(_NEAR, min_size=2, max_size=5))
    texts = {
        corpus: {
            10 * number + chunk: draw(st.sampled_from(base))
            + draw(st.sampled_from(["", "", " more", " é"]))
            for chunk in range(1, 8)
        }
        for number, corpus in enumerate(CORPORA)
    }
    lists = {
        corpus: st.lists(st.sampled_from(list(pool)), unique=True, max_size=6)
        for corpus, pool in texts.items()
    }
    found = {
        query: {corpus: (draw(some), draw(some)) for corpus, some in lists.items()}
        for query in range(draw(st.integers(1, 4)))
    }
    ages = draw(st.lists(st.none() | st.integers(-2, 90), min_size=28, max_size=28))
    dates = {n: None if age is None else NOW - timedelta(days=age) for n, age in enumerate(ages)}
    return {"texts": texts, "found": found, "dates": dates}


@pytest.fixture(scope="session")
def worlds() -> st.SearchStrategy[dict[str, Any]]:
    """What `make_world` takes: texts that are much alike, lists that overlap, dates or none."""
    return _worlds()
