"""Metrics for Prometheus: queries, failures, and the contents of the collections.

No metric contains the text of a query.
"""

import time
from collections import Counter as Tally
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from operators.errors import CrosscorpusError
from operators.postgres.inspect.status import sources, status
from operators.postgres.store import Home, by_store

FRESH_S = 15.0
"""Maximum age in seconds of a scrape's numbers about the collections."""


class Metrics:
    """The metrics of one server, in their own registry."""

    def __init__(self) -> None:
        self.registry = own = CollectorRegistry()
        name = "crosscorpus_"
        self._queries = Counter(f"{name}questions", "By outcome", ["tool", "outcome"], registry=own)
        self._took = Histogram(f"{name}question_seconds", "Of a tool", ["tool"], registry=own)
        self._stage = Histogram(f"{name}stage_seconds", "Of all its nodes", ["stage"], registry=own)
        of = ["corpus", "search", "status"]
        self._failed = Counter(f"{name}failed_searches", "Or timed out", of, registry=own)
        self._up = Gauge(f"{name}database_up", "0: the other gauges are old", registry=own)
        self._gauges = {
            what: Gauge(f"{name}{what}", "Of a corpus", ["corpus"], registry=own)
            for what in ("documents", "failed_documents", "chunks", "missing_vectors")
        }
        self._age = Gauge(
            f"{name}source_age_seconds", "Since it was read", ["source"], registry=own
        )
        self._lock, self._read_at = Lock(), -FRESH_S
        self._seen: dict[str, tuple[int, ...] | None] = {}  # the classes that the last caller saw

    @contextmanager
    def question(self, tool: str) -> Iterator[None]:
        """Count a query and time it, by outcome: ``ok`` or error class."""
        began, outcome = time.perf_counter(), "ok"
        try:
            yield
        except BaseException as error:
            outcome = type(error).__name__
            raise
        finally:
            self._queries.labels(tool, outcome).inc()
            self._took.labels(tool).observe(time.perf_counter() - began)

    def run(self, provenance: Mapping[str, Any], stages: Mapping[str, str]) -> None:
        """Count a run of the graph: its time by stage, and its searches that failed.

        Args:
            provenance: the node of that name.
            stages: the stage of each node.
        """
        took = Tally[str]()
        for node, ms in provenance["timings"].items():
            took[stages.get(node) or "other"] += ms / 1000
        for stage, seconds in took.items():
            self._stage.labels(stage).observe(seconds)
        for corpus, channels in provenance["searched"].items():
            for channel, outcome in channels.items():
                if outcome in ("failed", "timed_out"):
                    self._failed.labels(corpus, channel, outcome).inc()

    def scrape(self, homes: Mapping[str, Home]) -> bytes:
        """All metrics in Prometheus's format; the counters even if the database is unreachable."""
        with self._lock:
            seen = {name: home.store.access for name, home in homes.items()}
            if time.monotonic() - self._read_at >= FRESH_S or seen != self._seen:
                try:
                    self._read(homes)
                    self._up.set(1)
                except CrosscorpusError:
                    self._up.set(0)
                self._read_at, self._seen = time.monotonic(), seen
        return generate_latest(self.registry)

    def _read(self, homes: Mapping[str, Home]) -> None:
        for gauge in (*self._gauges.values(), self._age):
            gauge.clear()
        for store, names in by_store(homes):
            for row in status(store).iter_rows(named=True):
                row |= {"failed_documents": row["failed"]}
                row |= {"missing_vectors": row["unembedded"] + row["unembeddable"]}
                for what, gauge in self._gauges.items():
                    gauge.labels(names.get(row["corpus"], row["corpus"])).set(row[what])
            for source, at in sources(store)["source", "read_at"].iter_rows():
                self._age.labels(source).set(time.time() - at.timestamp())
