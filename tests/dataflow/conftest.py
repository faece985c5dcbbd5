"""The command as a user runs it, a small graph in the shape of the real one, made-up searches."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from command import run_here, run_in_own_process
from hamilton import ad_hoc_utils
from hamilton.function_modifiers import (
    config,
    group,
    inject,
    parameterized_subdag,
    resolve_from_config,
    source,
    tag,
    value,
)
from hypothesis import strategies as st

from dataflow.configuration.catalog import Catalog, read_layer
from dataflow.configuration.config_model import Config, check
from dataflow.driver.retrieval_driver import RetrievalDriver, build_graph
from operators.context.search_outcomes import searched, unsuccessful
from operators.foundation.data_dir import data_home
from operators.frames import OUTCOMES, READ_CHUNKS, TEXT_LISTS, VECTOR_LISTS, empty
from operators.postgres.search.timed_search import Searched, outcomes_of
from operators.postgres.store import CollectionInfo

Crosscorpus = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def driver_for() -> Iterator[Callable[[Config], RetrievalDriver]]:
    """A driver for a configuration, without a store, built once."""
    built: dict[str, RetrievalDriver] = {}
    embedder = SimpleNamespace(model="none", count_tokens=lambda t: [len(x) for x in t])
    store = SimpleNamespace(collection="none", space=None, access=None, visible={})

    def make(config: Config) -> RetrievalDriver:
        key = config.model_dump_json()
        if key not in built:
            bound = {"store": store, "embedder": embedder}
            built[key] = RetrievalDriver(config, build_graph(config), bound)
        return built[key]

    yield make
    for driver in built.values():
        driver.close()


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory of the tests' own that has nothing but the models."""
    own = tmp_path_factory.mktemp("home")
    (own / "models").symlink_to(data_home() / "models")
    return own


@pytest.fixture(scope="session")
def crosscorpus(server_dsn: str, home: Path) -> Crosscorpus:
    """Runs the command with these arguments on the tests' server; the one way to run it in tests.

    It runs in the process of the tests, which saves a second; ``own_process=True`` starts one.
    Further variables of its environment come by name.
    """
    own = {"CROSSCORPUS_DSN": server_dsn, "CROSSCORPUS_HOME": str(home), "COLUMNS": "220"}

    def run(
        *arguments: str, own_process: bool = False, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        run_it = run_in_own_process if own_process else run_here
        return run_it(arguments, own | environment)

    return run


FRAME = pl.DataFrame


class Recorder:
    """Stands where the store stands: says per corpus what its search does."""

    collection, space = "recorded", None

    def __init__(self, **behaviour):
        self.behaviour = behaviour
        self.asked = []

    def search(self, corpus, query, schema):
        self.asked.append(corpus)
        does = self.behaviour.get(corpus)
        if isinstance(does, Exception):
            raise does
        if isinstance(does, float):
            time.sleep(does)
        return empty(schema)


def corpus_module():
    @tag(stage="search", io="postgres", fail_open="yes", frame="VECTOR_LISTS")
    def vector_search(
        store: Recorder, queries: FRAME, corpus: str, search_depth: int = 50
    ) -> Searched:
        """Search by meaning."""
        found = store.search(corpus, queries["texts"][0][0], VECTOR_LISTS)
        return Searched(found, _ok(corpus, "vector"))

    @tag(stage="search", io="postgres", fail_open="yes", frame="TEXT_LISTS")
    @config.when(text_search_variant="bm25")
    def text_search__bm25(store: Recorder, queries: FRAME, corpus: str) -> Searched:
        """Search by words."""
        return Searched(empty(TEXT_LISTS), _ok(corpus, "text"))

    @tag(stage="merge", frame="MERGED")
    @config.when(merged_variant="rrf")
    def merged__rrf(vector_search: Searched, text_search: Searched, rrf_k: int = 60) -> FRAME:
        """Reciprocal ranks."""
        return vector_search.lists

    @tag(stage="merge", frame="MERGED")
    @config.when(merged_variant="convex")
    def merged__convex(
        vector_search: Searched, text_search: Searched, vector_weight: float = 0.5
    ) -> FRAME:
        """Scores on one scale."""
        return vector_search.lists

    @tag(stage="merge", frame="MERGED")
    @config.when(merged_variant="vector_only")
    def merged__vector_only(vector_search: Searched) -> FRAME:
        """No words."""
        return vector_search.lists

    @tag(stage="label")
    def unified(merged: FRAME, corpus: str, label: str, search_depth: int = 50) -> FRAME:
        """Labelled."""
        return merged.with_columns(corpus=pl.lit(corpus), cut=pl.lit(search_depth))

    functions = (
        vector_search,
        text_search__bm25,
        merged__rrf,
        merged__convex,
        merged__vector_only,
        unified,
    )
    return ad_hoc_utils.create_temporary_module(*functions, module_name="small_corpus")


def top_module(corpus):
    @tag(stage="query")
    def queries(query: str | list[str], trigger: str | dict[str, float] | None = None) -> FRAME:
        """One question."""
        return pl.DataFrame({"query_id": [0], "texts": [[query]], "trigger": [[]]})

    @resolve_from_config(
        decorate_with=lambda corpora: parameterized_subdag(
            corpus,
            **{
                name: {
                    "config": options["config"],
                    "inputs": {k: value(v) for k, v in options["inputs"].items()},
                }
                for name, options in corpora.items()
            },
        )
    )
    def corpus_results(unified: FRAME) -> FRAME:
        """One corpus."""
        return unified

    @tag(stage="fuse")
    @config.when(fused_variant="rrf")
    @resolve_from_config(
        decorate_with=lambda corpora: inject(parts=group(**{c: source(c) for c in corpora}))
    )
    def fused__rrf(parts: dict[str, FRAME], rrf_k: int = 60) -> FRAME:
        """All corpora."""
        return pl.concat(parts.values())

    @tag(stage="fuse")
    @config.when(fused_variant="comb_sum")
    @resolve_from_config(
        decorate_with=lambda corpora: inject(parts=group(**{c: source(c) for c in corpora}))
    )
    def fused__comb_sum(parts: dict[str, FRAME]) -> FRAME:
        """All corpora, by score."""
        return pl.concat(parts.values())

    @tag(stage="assemble")
    def results(fused: FRAME, top_k: int = 10, queries_seen: FRAME | None = None) -> FRAME:
        """The best."""
        return fused.head(top_k).with_columns(top_k=pl.lit(top_k))

    @tag(stage="report")
    @resolve_from_config(
        decorate_with=lambda corpora: inject(
            vector=group(**{c: source(f"{c}.vector_search") for c in corpora}),
            text=group(**{c: source(f"{c}.text_search") for c in corpora}),
        )
    )
    def outcomes(vector: dict[str, Searched], text: dict[str, Searched]) -> FRAME:
        """What each search did."""
        return pl.concat(outcomes_of(vector, text))

    @tag(stage="report")
    def provenance(
        outcomes: FRAME,
        results: FRAME,
        source_weights: dict[str, dict[str, float]],
        timings: Mapping[str, float] | None = None,
    ) -> dict:
        """Where it came from."""
        return {"timings": dict(timings or {}), "weights": source_weights}

    functions = (
        queries,
        corpus_results,
        fused__rrf,
        fused__comb_sum,
        results,
        outcomes,
        provenance,
    )
    return ad_hoc_utils.create_temporary_module(*functions, module_name="small_top")


def _ok(corpus, channel):
    row = {"corpus": corpus, "channel": channel, "status": "ok", "rows": 0, "elapsed_ms": 1.0}
    return pl.DataFrame([row | {"error": None}], schema=OUTCOMES)


CONTENT = {
    "triggers": ["pr_review", "question"],
    "variants": {"fused": "rrf"},
    "corpus_defaults": {"variants": {"text_search": "bm25", "merged": "convex"}},
    "corpora": {"code": {"weights": {"pr_review": 1.2}}, "wiki": {"variants": {"merged": "rrf"}}},
}


@pytest.fixture(scope="session")
def catalog():
    corpus = corpus_module()
    top = top_module(corpus)
    return Catalog(read_layer(top), read_layer(corpus), (top,))


@pytest.fixture
def content():
    """What the small graph's configuration file says."""
    return {key: dict(v) if isinstance(v, dict) else v for key, v in CONTENT.items()}


@pytest.fixture
def small(monkeypatch, catalog, content):
    """Load the small graph's configuration with changes; every one names the small stages alone."""
    monkeypatch.setattr(Config, "catalog", catalog)

    def make(**changes):
        return check({**content, **changes}, "configuration")

    return make


@pytest.fixture
def recorder():
    return Recorder


# The real graph over made-up searches: what a store would find is given as overrides.

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
        held = dict.fromkeys(CORPORA, 1)
        info = CollectionInfo("none", None, 3, held, {name: {"org/app": 1} for name in held})
        given: dict[str, Any] = {"collections": dict.fromkeys(CORPORA, info)}
        for corpus in CORPORA:
            for place, (channel, schema) in enumerate(
                (("vector", VECTOR_LISTS), ("text", TEXT_LISTS))
            ):
                rows = [
                    (q, 0, chunk, rank, 0.1 + rank / 20 if place == 0 else 9.0 - rank / 2)
                    for q in queries
                    for rank, chunk in enumerate(self.found[q].get(corpus, ([], []))[place])
                ]
                outcome = searched(corpus, channel, len(rows), 1.0)
                if error := self.failing.get((corpus, channel)):
                    rows, outcome = [], unsuccessful(corpus, channel, error, 5.0)
                lists = pl.DataFrame(rows, schema=schema, orient="row")
                given[f"{corpus}.{channel}_search"] = Searched(lists, outcome)
        chunks = pl.concat(self._chunks(corpus, queries) for corpus in CORPORA)
        given["read_chunks"] = {"chunks": chunks, "chunks_outcome": empty(OUTCOMES)}
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
                "language": "python" if chunk % 2 else None,
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
