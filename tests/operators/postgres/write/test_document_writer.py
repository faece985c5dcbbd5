"""Documents with their chunks, postings, counts and vectors."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from vector_indexes import build_vector_indexes

from operators.dedup.token_index import token_sketches
from operators.errors import CrosscorpusError
from operators.foundation.tokenizer import term_id, tokens
from operators.frames import CHUNKS, READ_CHUNKS
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.search.chunk_reader import Wanted, fetch_chunks
from operators.postgres.store import Store, collection_info, open_store
from operators.postgres.write.chunk_vectors import Some, embed_some
from operators.postgres.write.document_writer import delete_documents, write_documents
from operators.postgres.write.postings import count_terms
from operators.ranking import bm25

Make = Callable[..., Store]

WORDS = [f"alpha{n}" for n in range(40)]


def random_text(random_: random.Random) -> str:
    return " ".join(random_.choices(WORDS, k=random_.randint(0, 30)))


def stored_counts(store: Store) -> tuple[Any, Any, Any]:
    with store.transaction() as conn:
        terms = {
            (corpus, term): df
            for corpus, term, df in conn.execute("SELECT corpus, term_id, df FROM terms")
        }
        repos = {
            (corpus, repo): chunks
            for corpus, repo, chunks in conn.execute("SELECT * FROM repos WHERE chunks <> 0")
        }
        corpora = {
            corpus: (chunks, length)
            for corpus, chunks, length in conn.execute(
                "SELECT corpus, chunks, total_length FROM corpora WHERE chunks <> 0"
            )
        }
    return terms, repos, corpora


def counts_of(chunks: pl.DataFrame) -> tuple[Any, Any, Any]:
    terms: Counter[tuple[str, int]] = Counter()
    repos: Counter[tuple[str, str]] = Counter()
    corpora: dict[str, tuple[int, int]] = {}
    for row in chunks.iter_rows(named=True):
        counted = bm25.term_counts(bm25.analysed_text(*(row[name] for name in bm25.ANALYSED)))
        terms.update((row["corpus"], key) for key in bm25.index_keys(counted))
        repos[row["corpus"], row["repo"]] += 1
        number, length = corpora.get(row["corpus"], (0, 0))
        corpora[row["corpus"]] = (number + 1, length + counted.length)
    return dict(terms), dict(repos), corpora


def test_counts_are_exact_after_any_adding_replacing_and_deleting(
    store: Store, filling: Any
) -> None:
    random_ = random.Random(5)
    held: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    numbers = iter(range(10_000))
    for _ in range(15):
        corpus, repo = random_.choice(["code", "wiki"]), random_.choice(["a", "b"])
        batch = {}
        for document in random_.sample("pqrstuv", random_.randint(1, 4)):
            batch[corpus, repo, document] = [
                {
                    "chunk_id": next(numbers),
                    "corpus": corpus,
                    "repo": repo,
                    "document_id": document,
                    "text": random_text(random_),
                    "title": random_.choice(WORDS),
                }
                for _ in range(random_.randint(1, 3))
            ]
        if random_.random() < 0.25:
            delete_documents(store, corpus, repo, [key[2] for key in batch])
            for key in batch:
                held.pop(key, None)
        else:
            filling.write(store, [row for rows in batch.values() for row in rows])
            held |= batch
        expected = filling.chunks([row for rows in held.values() for row in rows])
        assert stored_counts(store) == counts_of(expected)


def test_a_document_is_seen_whole_or_not_at_all(store: Store, filling: Any) -> None:
    filling.write(store, [{"chunk_id": n, "document_id": "d", "text": "v0"} for n in range(50)])
    done = threading.Event()
    seen: list[set[str]] = []

    def read() -> None:
        while not done.is_set():
            found = fetch_chunks(
                store, [Wanted("code", pl.Series(range(50)), filling.queries([{}]))]
            )
            assert len(found) == 50
            seen.append(set(found["text"]))

    reader = threading.Thread(target=read)
    reader.start()
    for version in range(1, 6):
        filling.write(
            store,
            [{"chunk_id": n, "document_id": "d", "text": f"v{version}"} for n in range(50)],
        )
    done.set()
    reader.join()
    assert seen
    assert all(len(versions) == 1 for versions in seen)


def test_writers_of_one_corpus_at_once_keep_the_counts_exact(store: Store, filling: Any) -> None:
    failures: list[BaseException] = []

    def write(start: int) -> None:
        random_ = random.Random(start)
        try:
            for n in range(start, start + 40, 4):
                filling.write(
                    store,
                    [{"chunk_id": n + i, "text": random_text(random_)} for i in range(4)],
                )
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(start,)) for start in (0, 1_000, 2_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    ids = pl.Series([start + n for start in (0, 1_000, 2_000) for n in range(40)])
    chunks = fetch_chunks(store, [Wanted("code", ids, filling.queries([{}]))])
    assert len(chunks) == 120
    assert stored_counts(store) == counts_of(chunks)


def test_every_column_comes_back_as_it_was_written(store: Store, filling: Any) -> None:
    moment = datetime(1962, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
    row = {
        "chunk_id": -(2**63),
        "document_id": "docs/ä 🙂.md",
        "corpus": "wiki",
        "repo": "org/app",
        "ordinal": 7,
        "text": "line one\nline two\t'quoted' \\ 🙂",
        "title": "A title",
        "path": "docs/ä 🙂.md",
        "uri": "https://host.example/a?b=c#d",
        "anchor": "Section",
        "start_line": 1,
        "end_line": 4_000_000,
        "language": "markdown",
        "state": "open",
        "created_at": moment,
        "doc_date": datetime(2999, 12, 31, tzinfo=UTC),
        "date_source": "git",
        "version": "1.2",
        "lineage_id": "l",
        "metadata": '{"b": 1, "a": [null]}',
        "embedding": [0.5, -1.0, 2.0, 0.25, 0.0, 1.0, 3.0, -0.125],
    }
    empty = {"chunk_id": 2**63 - 1, "corpus": "wiki"}
    written = filling.write(store, [row, empty]).sort("chunk_id")
    found = fetch_chunks(
        store, [Wanted("wiki", pl.Series([-(2**63), 2**63 - 1]), filling.queries([{}]))]
    )
    of_store = ("embedding", "last_version", "superseded_at", "removed", "token_sketch")
    assert found.drop(of_store).equals(written.drop("embedding"))
    assert found["token_sketch"].to_list() == token_sketches(written["text"].to_list())
    assert found["embedding"][0].to_list() == row["embedding"]
    assert set(found.columns) == set(READ_CHUNKS)


@pytest.mark.parametrize(
    ("vector", "message"),
    [([float("nan")] * 8, "not finite"), ([1.0] * 7, "7 dimensions")],
)
def test_a_vector_that_cannot_be_searched_is_refused(
    store: Store, filling: Any, vector: list[float], message: str
) -> None:
    with pytest.raises(CrosscorpusError, match=message):
        filling.write(store, [{"embedding": vector}])
    assert collection_info(store).corpora == {}


def test_weights_of_a_corpus_grown_in_steps_equal_those_of_one_loaded_at_once(
    make_store: Make, filling: Any
) -> None:
    rows = [{"chunk_id": n, "text": "alpha " * n + "beta"} for n in range(1, 60)]
    grown, at_once = make_store(), make_store()
    for row in rows:
        filling.write(grown, [row])
    filling.write(at_once, rows)
    weights = []
    for store in (grown, at_once):
        make_searchable(store)
        with store.transaction() as conn:
            weights.append(
                conn.execute("SELECT chunk_id, bm25::text FROM postings ORDER BY 1").fetchall()
            )
    assert weights[0] == weights[1]


@pytest.mark.parametrize("corpus", ['c"; DROP TABLE chunks; --', "x" * 300, "Ünïcode 🙂", "a/b c"])
def test_a_corpus_may_have_any_name(store: Store, filling: Any, corpus: str) -> None:
    filling.write(store, [{"chunk_id": 1, "corpus": corpus}])
    build_vector_indexes(store)
    assert collection_info(store).corpora == {corpus: 1}
    assert len(fetch_chunks(store, [Wanted(corpus, pl.Series([1]), filling.queries([{}]))])) == 1


def test_the_terms_of_a_chunk_are_those_of_all_that_is_shown_of_it(filling: Any) -> None:
    chunk = {"title": "Cache", "path": "a/flush.py", "anchor": "Sizes", "text": "x1"}
    named = {"document_id": "pull/42", "metadata": '{"author": "Ann", "authors": ["Bob"]}'}
    (counted,) = count_terms(filling.chunks([chunk | named]))
    shown = tokens("Cache a flush py Sizes x1 pull 42 Ann Bob")
    assert set(counted.terms.tolist()) == {term_id(term) for term in shown}


DIMENSIONS = 8


@pytest.fixture
def waiting(store: Store, filling: Any) -> Store:
    """Seven documents of three chunks each in two corpora, and no vector at all."""
    chunks = filling.chunks(
        [
            {"chunk_id": 10 * n + part, "document_id": f"d{n}", "ordinal": part}
            | {"corpus": "history" if n < 3 else "docs"}
            | {"created_at": datetime(2024, 1, n + 1, tzinfo=UTC)}
            for n in range(7)
            for part in range(3)
        ]
    ).with_columns(pl.lit(None, CHUNKS["embedding"]).alias("embedding"))
    write_documents(store, filling.documents(chunks), chunks)
    return store


def ones(chunks: pl.DataFrame) -> tuple[Any, dict[int, str]]:
    return np.ones((len(chunks), DIMENSIONS), np.float32), {}


def test_one_chunk_of_each_document_comes_before_the_second_the_newest_first_history_last(
    waiting: Store,
) -> None:
    taken: list[tuple[str, str]] = []

    def embed(chunks: pl.DataFrame) -> tuple[Any, dict[int, str]]:
        taken.extend(chunks["corpus", "document_id"].iter_rows())
        return ones(chunks)

    while embed_some(waiting, embed, limit=4):
        pass
    assert taken == [
        *[("docs", f"d{n}") for n in (6, 5, 4, 3)] * 3,
        *[("history", f"d{n}") for n in (2, 1, 0)] * 3,
    ]
    assert collection_info(waiting).unembedded == {}


def test_two_workers_never_have_the_same_chunk(waiting: Store, server_dsn: str) -> None:
    taken: list[int] = []
    both = threading.Barrier(2)

    def embed(chunks: pl.DataFrame) -> tuple[Any, dict[int, str]]:
        both.wait(30)  # both hold their chunks now
        taken.extend(chunks["chunk_id"])
        return ones(chunks)

    def work() -> Some | None:
        with open_store(server_dsn, waiting.collection, max_size=2) as own:
            return embed_some(own, embed, limit=5)

    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(work) for _ in range(2)]
        assert [one.result() for one in found] == [("docs", 5, [])] * 2
    assert len(set(taken)) == 10
    assert sum(collection_info(waiting).unembedded.values()) == 11
