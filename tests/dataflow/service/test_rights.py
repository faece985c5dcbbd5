"""What a caller gets through any door is what a collection of the visible documents gives alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from doors import replies
from dying import WordEmbedder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ingesting import ingest_documents

from dataflow import build_driver
from dataflow.service.tools import Service
from operators.errors import UnknownName
from operators.postgres.store import Store, drop_collection, open_store

NAME = "rights"
SETS: list[list[str] | str | None] = [None, "everyone", ["ann"], ["ops"], ["ann", "ops"], []]
CALLERS = (("ann",), ("ops",), ("ann", "ops"), ("bob",), ())
WORDS = ("cache", "limits", "flushed", "queue", "entries", "kept", "nobody", "reads")
"""Texts have as many words each: the average length, and so the weights, are the same for all."""


def document(n: int, allowed: Any, words: Sequence[str], version: int) -> dict[str, Any]:
    corpus = ("docs", "wiki", "code", "history")[n % 4]
    page = f"page{n % 3}"
    text = f"# limits\n\n{' '.join(words)}\n"
    of = {"doc_id": f"{corpus}-{n}", "corpus": corpus, "text": text, "repo": f"org/r{n % 2}"}
    of |= {"title": f"{page} limits", "created_at": "2026-01-01T00:00:00Z"}
    if corpus == "docs":
        of |= {"path": f"{version}.0/{page}.md", "version": f"{version}.0", "topic": page}
    elif corpus == "code":
        of |= {"path": f"src/{page}_{n}.py"}
    return of if allowed is None else of | {"allowed": allowed}


DOCUMENTS = st.lists(
    st.tuples(
        st.sampled_from(SETS),
        st.lists(st.sampled_from(WORDS), min_size=9, max_size=9),
        st.integers(1, 3),
    ),
    min_size=4,
    max_size=14,
).map(lambda drawn: [document(n, *one) for n, one in enumerate(drawn)])


def visible(documents: Sequence[Mapping[str, Any]], caller: Sequence[str]) -> list[Any]:
    """The documents that a caller may see: without any rights, all."""
    if all("allowed" not in one for one in documents):
        return list(documents)
    names = {*caller, "everyone"}

    def is_seen(one: Mapping[str, Any]) -> bool:
        allowed = one.get("allowed", [])
        return bool(names & set([allowed] if isinstance(allowed, str) else allowed))

    return [one for one in documents if is_seen(one)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rights")


@pytest.fixture
def dropped(server_dsn: str) -> Iterator[str]:
    yield server_dsn
    drop(server_dsn)


def drop(dsn: str) -> None:
    with suppress(UnknownName):
        drop_collection(dsn, NAME)


def ingest(store: Store, folder: Path, documents: Sequence[Any]) -> None:
    file = folder / "documents.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in documents))
    assert ingest_documents(store, WordEmbedder(), file).ok
    store.execute("DELETE FROM runs")  # without rights, callers are told of sources too


def told(store: Store, caller: Sequence[str] | None, ids: list[str]) -> dict[str, str]:
    """All that the doors answer, but for times and the two that tell of nothing else."""
    with build_driver("default", store=store, embedder=WordEmbedder()) as driver:
        seen = driver if caller is None else driver.seen_by(caller)
        service = Service(driver, store, "http://localhost/p")
        found = replies(service, ids, None if caller is None else tuple(caller))
        answer = seen.ask("cache limits flushed", top_k=20)
    found["ask"] = f"{answer.context}{answer.citations}{answer.notes}{answer.frame.to_dicts()}"
    times = r'"(seconds|milliseconds|\w*_ms|\w+_seconds)": ?[0-9.e-]+|\b[0-9.]+ ?ms\b'
    alike = {
        asked: text for asked, text in found.items() if not asked.startswith(("/metr", "graph"))
    }
    return {asked: re.sub(times, "TIME", text) for asked, text in alike.items()}


def chunk_ids(store: Store) -> list[str]:
    rows = store.rows("SELECT corpus || ':' || chunk_id FROM chunks ORDER BY 1")
    return [str(id) for (id,) in rows]


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(documents=DOCUMENTS, caller=st.sampled_from(CALLERS))
def test_every_door_gives_what_a_collection_of_the_visible_documents_gives(
    dropped: str, folder: Path, documents: list[Any], caller: Sequence[str]
) -> None:
    drop(dropped)
    with open_store(dropped, NAME, create=True) as store:
        ingest(store, folder, documents)
        ids = chunk_ids(store)
        as_caller = told(store, caller, ids)
    drop(dropped)
    with open_store(dropped, NAME, create=True) as store:
        ingest(store, folder, visible(documents, caller))
        alone = told(store, None, ids)
    assert as_caller.keys() == alone.keys()
    for asked, text in alone.items():
        assert as_caller[asked] == text, asked
