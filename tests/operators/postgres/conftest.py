from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from operators.frames import CHUNKS, DOCUMENTS, QUERIES, QUERY_EMBEDDINGS
from operators.postgres.store import Store, drop_collection, open_store, set_model
from operators.postgres.write.document_writer import document_key, write_documents

DIMENSIONS = 8
ROLE_PASSWORD = "geh3im-wort"
_numbers = itertools.count()


class Filling:
    """Frames in the shapes that the store takes, from the few values that a test is about."""

    dimensions = DIMENSIONS

    @staticmethod
    def chunks(rows: list[dict[str, Any]], dimensions: int = DIMENSIONS) -> pl.DataFrame:
        """Chunks of ``rows``; what a row leaves out gets a plain value."""
        complete = []
        for row in rows:
            number = row.get("chunk_id", next(_numbers))
            vector = np.random.default_rng(abs(number)).normal(size=dimensions).tolist()
            complete.append(
                {
                    "chunk_id": number,
                    "document_id": f"d{number}",
                    "corpus": "code",
                    "repo": "",
                    "ordinal": 0,
                    "text": f"text {number}",
                    "embedding": vector,
                    **{name: value for name, value in row.items() if value is not None},
                }
            )
        return pl.DataFrame(complete, schema_overrides=dict(CHUNKS)).select(
            (pl.col(c) if any(c in row for row in complete) else pl.lit(None)).cast(t).alias(c)
            for c, t in CHUNKS.items()
        )

    @staticmethod
    def documents(chunks: pl.DataFrame, content_hash: str = "h") -> pl.DataFrame:
        """The documents that ``chunks`` are of."""
        first = chunks.unique(["corpus", "repo", "document_id"], keep="first", maintain_order=True)
        return first.select(list(DOCUMENTS)).with_columns(
            content_hash=pl.lit(content_hash), fingerprint=pl.lit("f")
        )

    def write(self, store: Store, rows: list[dict[str, Any]]) -> pl.DataFrame:
        """Write chunks of ``rows`` with their documents; return the chunks."""
        chunks = self.chunks(rows)
        write_documents(store, self.documents(chunks), chunks)
        return chunks

    @staticmethod
    def place(store: Store, corpus: str, versions: dict[str, str]) -> None:
        """Have documents be the versions of the topic ``guide``; the last one is the newest."""
        insert = (
            "INSERT INTO document_versions VALUES (%s, %s, 'guide', %s, %s, %s, NULL, now())"
            " ON CONFLICT DO NOTHING"
        )
        newest = len(versions) - 1
        with store.transaction() as conn:
            for place, (document, version) in reversed(list(enumerate(versions.items()))):
                key = document_key(corpus, "", document)
                conn.execute(insert, (key, corpus, version, place, place == newest))

    @staticmethod
    def queries(rows: list[dict[str, Any]]) -> pl.DataFrame:
        """Queries numbered from 0; a filter that a row leaves out is null."""
        columns = {name: [row.get(name) for row in rows] for name in QUERIES}
        columns["query_id"] = list(range(len(rows)))
        columns["texts"] = [row.get("texts", ["text"]) for row in rows]
        return pl.DataFrame(columns, schema=QUERIES)

    @staticmethod
    def embeddings(vectors: Any) -> pl.DataFrame:
        """One text a query, with ``vectors`` of shape (queries, dimensions)."""
        vectors = np.asarray(vectors, dtype=np.float32)
        return pl.DataFrame(
            {
                "query_id": range(len(vectors)),
                "text_no": [0] * len(vectors),
                "text": [""] * len(vectors),
                "embedding": vectors.tolist(),
            },
            schema=QUERY_EMBEDDINGS,
        )


@pytest.fixture(scope="session")
def filling() -> Filling:
    return Filling()


SHARDS = int(os.environ.get("CROSSCORPUS_TEST_SHARDS", 0)) or None
NOT_IN_SHARDS = {
    "stray_posting": "Citus changes no value that it distributes by",
    "seen_whole": "Citus has no snapshot over shards",
    "two_workers": "Citus locks no rows of several shards: workers take turns",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for words, reason in NOT_IN_SHARDS.items() if SHARDS else ():
            if words in item.name:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def make_store(server_dsn: str) -> Iterator[Callable[..., Store]]:
    """Opens a new collection each time; all are dropped at the end."""
    opened: list[Store] = []

    def make(dimensions: int | None = DIMENSIONS) -> Store:
        name = f"t{next(_numbers)}"
        store = open_store(server_dsn, name, create=True, max_size=4, shards=SHARDS)
        if dimensions is not None:
            set_model(store, "test", "test-space", dimensions)
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()
        drop_collection(server_dsn, store.collection)


@pytest.fixture
def store(make_store: Callable[..., Store]) -> Iterator[Store]:
    """A new collection, whose connections are closed after the test."""
    with make_store() as store:
        yield store


@pytest.fixture
def database(server_dsn: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of the test's own; gives its name."""
    name = f"t_{abs(hash(request.node.nodeid)) % 10**9}"
    with psycopg.connect(server_dsn, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield name
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def role(server_dsn: str, database: str) -> Iterator[str]:
    """An ordinary role with a password, that may log in and do no more; gives its name."""
    name = f"{database}_role"
    with psycopg.connect(make_conninfo(server_dsn, dbname=database), autocommit=True) as conn:
        conn.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(name), ROLE_PASSWORD)
        )
        yield name
        conn.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)))
        conn.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))
