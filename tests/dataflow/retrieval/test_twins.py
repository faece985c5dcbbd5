"""Code that is written twice, for sync and for async callers, has one place of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ingested import git

from dataflow import build_driver, load_config
from operators.postgres.store import drop_collection, open_store

COLLECTION = "twins"
POOL = '''"""Connections that are kept open."""


class {A}Pool:
    """Keeps connections open between requests."""

    {a}def acquire(self, timeout: float = 5.0) -> {A}Connection:
        """Hand out an idle connection, or open one while the pool is below its limit."""
        {a}with self._lock:
            if self._idle:
                return self._idle.pop()
            if len(self._busy) < self._limit:
                connection = {w}self._open(timeout)
                self._busy.add(connection)
                return connection
        return {w}self._wait(timeout)
'''


@pytest.fixture(scope="module")
def ingested(crosscorpus: Any, server_dsn: str, tmp_path_factory: Any) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("repository")
    forms = {
        "_sync": {"A": "", "a": "", "w": ""},
        "_async": {"A": "Async", "a": "async ", "w": "await "},
    }
    for name, form in forms.items():
        (folder / name).mkdir()
        (folder / name / "pool.py").write_text(POOL.format(**form))
    for n in range(8):
        (folder / f"step_{n}.py").write_text(f"def step_{n}(value):\n    return value * {n}\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "Add the pool"]):
        git(folder, *command)
    done = crosscorpus("ingest", "git", str(folder), "--repo", "org/app", "-C", COLLECTION)
    assert done.returncode == 0, done.stderr
    yield COLLECTION
    drop_collection(server_dsn, COLLECTION)


@pytest.fixture(scope="module")
def ask(ingested: str, server_dsn: str, minilm: Any) -> Iterator[Any]:
    with (
        open_store(server_dsn, ingested) as store,
        build_driver(load_config("default"), ingested, store=store, embedder=minilm) as driver,
    ):

        def asked(**inputs: Any) -> dict[str, Any]:
            wanted = ["unique", "packed", "citations"]
            question = "how does the pool hand out an idle connection"
            return driver.execute(wanted, inputs={"query": question, **inputs})

        yield asked


def places(found: dict[str, Any]) -> list[str]:
    paths = found["unique"].sort("rank")["path"].drop_nulls()
    return [path for path in paths if path.endswith("pool.py")]


def test_a_context_holds_one_form_of_a_function_and_names_the_other(ask: Any) -> None:
    found = ask()
    (held,) = places(found)
    (other,) = {"_sync/pool.py", "_async/pool.py"} - {held}
    entries = "\n".join(found["packed"]["entry"])
    assert entries.count("if len(self._busy) < self._limit:") == 1
    (citation,) = [c for c in found["citations"]["citation"] if held in c]
    assert "also found in" in citation
    assert other in citation


def test_both_forms_of_a_function_have_places_if_twins_count_apart(ask: Any) -> None:
    assert sorted(places(ask(twins=False))) == ["_async/pool.py", "_sync/pool.py"]
