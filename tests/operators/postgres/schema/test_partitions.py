from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from operators.postgres.errors import DatabaseError
from operators.postgres.schema.partitions import ensure_partitions, index_name, partition
from operators.postgres.store import Store

INDEXES = ["search_tsv", "hnsw", "terms", "bm25"]


def partitions(store: Store) -> set[str]:
    rows = store.run(
        lambda conn: conn.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits"
            " WHERE inhparent IN ('chunks'::regclass, 'postings'::regclass)"
        ).fetchall()
    )
    return {str(row[0]) for row in rows}


@pytest.mark.parametrize("name", ["docs_pkey", "docs_repo_idx", "repo", "pkey", "document"])
def test_a_corpus_with_the_name_of_an_index_is_refused(store: Store, name: str) -> None:
    ensure_partitions(store, ["docs"])
    with pytest.raises(DatabaseError, match=f"no corpus '{name}' .*chunks_{name}") as refused:
        ensure_partitions(store, [name])
    assert refused.value.kind == "name_taken"
    assert partitions(store) == {"chunks_docs", "postings_docs"}


@pytest.mark.parametrize("what", INDEXES)
def test_a_corpus_never_has_the_name_of_another_ones_index(store: Store, what: str) -> None:
    ensure_partitions(store, ["docs", f"docs_{what}", f"code_{what}", "code"])
    name = f"docs__{what}"
    assert partition("chunks", name) == index_name("chunks", "docs", what)
    with pytest.raises(DatabaseError, match=f"no corpus '{name}' .*chunks_{name}"):
        ensure_partitions(store, [name])


def test_corpora_that_are_there_already_are_left_as_they_are(store: Store) -> None:
    ensure_partitions(store, ["docs", "docs_v2"])
    name = partition("chunks", "docs__v2")
    store.run(  # as an earlier version made it
        lambda conn: conn.execute(
            f"CREATE TABLE {name} PARTITION OF chunks FOR VALUES IN ('docs__v2')".encode()
        )
    )
    ensure_partitions(store, ["docs", "docs_v2", "docs__v2"])


def test_a_corpus_that_several_make_at_once_is_made_once(store: Store) -> None:
    with ThreadPoolExecutor(2) as threads:
        for _ in threads.map(lambda _: ensure_partitions(store, ["docs"]), range(6)):
            pass
    assert partitions(store) == {"chunks_docs", "postings_docs"}
