"""Runs judged queries on many machines: every actor of a Ray cluster has its own driver.

Its connections are its own too. So all machines must reach the server, or a pooler before it.
"""

import logging
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import polars as pl

from dataflow.configuration.config_model import Config
from dataflow.driver.retrieval_driver import build_driver
from dataflow.evaluation.answers import RunOptions, for_evaluation, run_queries
from operators.errors import CrosscorpusError
from operators.foundation.extras import installing
from operators.postgres.store import Store

try:
    import ray
    from ray.util import ActorPool
except ImportError:
    raise CrosscorpusError(f"Ray is not installed: {installing('ray')}") from None


def connect(address: str) -> None:
    """Join ``ray://HOST:PORT``; for ``ray`` the cluster of RAY_ADDRESS, else start a local one."""
    if address != "ray" and not address.startswith("ray://"):
        raise CrosscorpusError(f"{address!r} is no Ray cluster: write ray or ray://HOST:PORT")
    for talks in ("ray.client_builder", "ray._private.worker"):
        logging.getLogger(talks).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(action="ignore"):
            ray.init(None if address == "ray" else address, ignore_reinit_error=True)
    except (OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise CrosscorpusError(f"can't join {address}: {reason}") from None


class QueryActor:
    """An actor. If it dies, Ray starts another, which repeats the batch."""

    def __init__(self, store: Mapping[str, Any], how: RunOptions) -> None:
        self.store, self.how, self.name, self.opened = store, how, "", ExitStack()

    def run(
        self, at: int, name: str, config: Config, queries: pl.DataFrame, vectors: pl.DataFrame
    ) -> tuple[int, pl.DataFrame]:
        """Batch ``at``, with the previous driver if the configuration is the same."""
        if name != self.name:
            self.opened.close()
            driver = build_driver(for_evaluation(config), **self.store)
            self.name, self.driver = name, self.opened.enter_context(driver)
        return at, run_queries(self.driver, name, queries, vectors, self.how)


def runs_on_ray(
    store: Store,
    configs: Mapping[str, Config],
    queries: pl.DataFrame,
    vectors: pl.DataFrame,
    how: RunOptions,
    on_batch: Callable[[str, int], object] | None = None,
) -> dict[str, pl.DataFrame]:
    """The runs of each configuration, equal to those of one process."""
    parts = [(n, part) for n in configs for part in queries.iter_slices(how.batch_size)]
    arguments = {"dsn": store.dsn, "collection": store.collection}, ray.put(how)
    actors = min(len(parts), int(ray.cluster_resources()["CPU"]))
    actor = ray.remote(max_restarts=-1, max_task_retries=3)(QueryActor)
    pool = ActorPool([actor.remote(*arguments) for _ in range(actors)])

    def submit(worker: Any, at: int) -> Any:
        name, part = parts[at]
        own = vectors.join(part, left_on="query_id", right_on="number", how="semi")
        return worker.run.remote(at, name, configs[name], part, own)

    done: dict[int, pl.DataFrame] = {}
    try:
        for at, one in pool.map_unordered(submit, range(len(parts))):
            done[at] = one
            if on_batch:
                on_batch(parts[at][0], parts[at][1].height)
    except ray.exceptions.RayError as error:
        lines = str(getattr(error, "cause", error)).splitlines()
        raise CrosscorpusError(f"on Ray: {lines[0]}") from None
    return {n: pl.concat(done[at] for at, (m, _) in enumerate(parts) if m == n) for n in configs}
