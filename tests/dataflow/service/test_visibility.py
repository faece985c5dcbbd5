"""What the filters of a configuration hide is told by no tool, no page, no number and no error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from doors import replies
from ingesting import ingest_documents
from word_embedder import WordEmbedder

from dataflow import build_driver, load_config
from dataflow.service.tools import Service, status, versions
from operators.errors import UnknownName
from operators.postgres.store import drop_collection, open_store
from operators.postgres.write.ingestion_runs import begin_run, end_run

NAME = "filtered"
FILTERS = {"repos": {"repos": ["org/shown"]}, "path_prefix": {"path_prefix": "shown/"}}


def documents(kind: str) -> list[dict[str, Any]]:
    """Two versions of a page and a note, each with the word ``kind`` in all that names it."""
    same = {"repo": f"org/{kind}", "created_at": "2026-01-01T00:00:00Z"}
    pages = [
        {"doc_id": f"{kind}-{n}", "corpus": "docs", "path": f"{kind}/{n}.0/limits.md"}
        | {"version": f"{n}.0", "title": f"{kind} limits"}
        | {"text": f"# {kind} limits\n\nThe {kind} cache keeps {n}00 entries.\n\nIt is flushed."}
        for n in (1, 2)
    ]
    note = {"doc_id": f"{kind}-note", "corpus": "wiki", "path": f"{kind}/note.md", "title": kind}
    return [one | same for one in (*pages, note | {"text": f"Why the {kind} cache is flushed."})]


@pytest.fixture(scope="module")
def dsn(server_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with a collection of two repositories."""
    file = tmp_path_factory.mktemp("filtered") / "documents.jsonl"
    with open_store(server_dsn, NAME, create=True) as store:
        rows = [one for kind in ("hidden", "shown") for one in documents(kind)]
        file.write_text("".join(json.dumps(one) + "\n" for one in rows))
        ingest_documents(store, WordEmbedder(), file)
        for kind in ("hidden", "shown"):
            run = begin_run(store, f"github/1 org/{kind}", ["docs", "wiki"])
            names = ("new", "changed", "unchanged", "deleted")
            counts = {f"documents_{name}": 0 for name in names} | {"failed": 0, "chunks": 0}
            end_run(store, run, ok=True, counts=counts)
    yield server_dsn
    drop_collection(server_dsn, NAME)


@pytest.fixture(params=sorted(FILTERS))
def limited(dsn: str, request: pytest.FixtureRequest) -> Iterator[Service]:
    """A service whose configuration shows one of the two."""
    corpora = {name: {"filters": FILTERS[request.param]} for name in ("docs", "wiki")}
    config = load_config("default").with_changes({"corpora": corpora})
    with (
        open_store(dsn, NAME) as store,
        build_driver(config, store=store, embedder=WordEmbedder()) as driver,
    ):
        yield Service(driver, store, "http://localhost/p")


@pytest.fixture
def hidden_ids(dsn: str) -> list[str]:
    with open_store(dsn, NAME) as store:
        found = store.rows(
            "SELECT corpus || ':' || chunk_id FROM chunks WHERE repo = 'org/hidden'"
            " ORDER BY corpus, chunk_id"
        )
    return [str(id) for (id,) in found]


def test_what_filters_hide_is_in_no_answer_and_no_error(
    limited: Service, hidden_ids: list[str]
) -> None:
    assert len(hidden_ids) >= 3
    for asked, told in replies(limited, hidden_ids).items():
        assert "hidden" not in told, (asked, told)
        assert "Internal" not in told, (asked, told)


@pytest.mark.parametrize("name", ["hidden", "hidden limits", "hidden/2.0/limits.md", "hidden-1"])
def test_a_name_of_what_is_hidden_is_unknown(limited: Service, name: str) -> None:
    with pytest.raises(UnknownName) as error:
        versions(limited, document=name)
    assert str(error.value).startswith(f"no topic {name!r}")
    assert "hidden" not in str(error.value).replace(name, "")


def test_what_filters_show_is_counted_and_found(limited: Service) -> None:
    told = status(limited)
    assert {one.corpus: (one.documents, one.chunks > 0) for one in told.corpora} == {
        "docs": (2, True),
        "wiki": (1, True),
    }
    assert told.repos == ["org/shown"]
    assert [one.source for one in told.sources] == ["documents/1", "github/1 org/shown"]
