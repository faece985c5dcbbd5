"""A warm driver that is rebuilt when its inputs change.

When its configuration changes, or the collection's model, the next query gets a new driver; running
queries finish on the old one. A configuration that does not load changes nothing.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import Context
from dataclasses import dataclass

from dataflow import build_driver, load_config
from dataflow.configuration.config_model import Config
from dataflow.configuration.loader import from_anywhere
from dataflow.service.freshness import read_again
from dataflow.service.metrics import Metrics
from dataflow.service.tools import Service
from operators.errors import CrosscorpusError
from operators.postgres.store import Store, collection_info

SECONDS = 1.0
"""Seconds between two checks of the configuration."""


@dataclass
class _Shared:
    service: Service
    users: int = 0


class Warm:
    """The service of an open collection; close it.

    Args:
        store: the collection.
        config: a shipped name, or a YAML file.
        page: as of ``Service``.
        refresh: whether changes of the sources are ingested before a query is answered.
    """

    def __init__(
        self, store: Store, config: str, page: str | None = None, *, refresh: bool = False
    ) -> None:
        self._store, self._page, self.metrics = store, page, Metrics()
        self._refresh, self._reading, self._read_at = refresh, threading.Lock(), -SECONDS
        self._config = from_anywhere(config)
        self._lock, self._building = threading.Lock(), threading.Lock()
        self._current = self._built(load_config(self._config))
        self._looked, self._refused = time.monotonic(), ""

    @contextmanager
    def __call__(self) -> Iterator[Service]:
        """The service; it stays open to the end of the block."""
        Context().run(self._look)  # a new context: other callers need the result too
        with self._lock:
            current = self._current
            current.users += 1
        try:
            yield current.service
        finally:
            with self._lock:
                current.users -= 1
                last = current is not self._current and not current.users
            if last:
                current.service.driver.close()

    def close(self) -> None:
        """Close the driver, which is no longer used."""
        self._current.service.driver.close()

    def _built(self, settings: Config) -> _Shared:
        """A driver whose contexts have a budget in tokens, because a language model reads them."""
        counted = settings.with_changes({"variants": {"packed": "tokens"}})
        driver = build_driver(counted, store=self._store)
        driver.execute(["results"], {"query": "warm up"})
        service = Service(driver, self._store, self._page, self._config, settings, self.metrics)
        return _Shared(service)

    def _look(self) -> None:
        """Read changed sources again; build another driver if the configuration changed."""
        with self._reading if self._refresh else nullcontext():
            if self._refresh and time.monotonic() - self._read_at >= SECONDS:
                read_again(self._current.service.driver.homes)
                self._read_at = time.monotonic()
        if time.monotonic() - self._looked < SECONDS or not self._building.acquire(blocking=False):
            return
        try:
            settings, old = load_config(self._config), self._current
            homes = old.service.driver.homes.values()
            own = {h.store.space for h in homes if h.store.collection == self._store.collection}
            known = collection_info(self._store).space in {None, *own}
            if known and settings == old.service.settings:
                self._refused = ""
                return
            new = self._built(settings)
            with self._lock:
                self._current, last = new, not old.users
            if last:
                old.service.driver.close()
        except CrosscorpusError as error:
            if str(error) != self._refused:
                self._refused = str(error)
                print(f"the driver stays as it was: {error}", file=sys.stderr)
        finally:
            self._looked = time.monotonic() + (9 * SECONDS if self._refused else 0)
            self._building.release()
