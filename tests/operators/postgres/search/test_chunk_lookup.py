"""Chunks and documents by name, by id and by what they link to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from operators.frames import READ_CHUNKS, check
from operators.postgres.search.chunk_lookup import LOCATED, locate
from operators.postgres.search.chunk_reader import (
    PARTS_AT_ONCE,
    Wanted,
    chunks_of_hits,
    fetch_chunks,
    without_vector,
)
from operators.postgres.search.known_versions import known_versions
from operators.postgres.search.timed_search import SearchRequest
from operators.postgres.store import Home, Store
from operators.postgres.write.document_writer import write_documents
from operators.postgres.write.version_store import mark_found


@pytest.fixture
def filled(store: Store, filling: Any) -> Store:
    plain = {"document_id": "d1", "title": "Title", "path": "src/a.py", "uri": "https://x.org/a"}
    filling.write(
        store,
        [
            {**plain, "chunk_id": 12, "ordinal": 1, "repo": "org/app"},
            {**plain, "chunk_id": 11, "ordinal": 0, "repo": "org/app"},
            {"chunk_id": 21, "document_id": "d2", "corpus": "wiki", "repo": "org/wiki"},
        ],
    )
    return store


@pytest.mark.parametrize("name", ["d1", "src/a.py", "Title", "https://x.org/a"])
def test_a_document_gives_its_chunks_in_their_order_by_every_name_it_has(
    filled: Store, name: str
) -> None:
    found = locate(filled, [], [name, "no such"])
    assert found["chunk_id"].to_list() == [11, 12]
    check(found, LOCATED, "located")


def test_a_document_is_found_by_the_end_of_its_path_where_that_is_asked_for(filled: Store) -> None:
    assert locate(filled, [], ["a.py", "A.PY"]).is_empty()
    assert locate(filled, [], ["A.PY"], by_end=True)["chunk_id"].to_list() == [11, 12]
    for other in ("py", "%.py", "src/a.py", ""):
        assert locate(filled, [], [other], by_end=True).is_empty()
    assert locate(filled, [], ["a.py"], by_end=True, repos=["org/wiki"]).is_empty()


def test_what_is_in_a_repository_that_the_caller_may_not_see_does_not_exist(filled: Store) -> None:
    assert locate(filled, [11, 21], ["d1", "d2"], repos=["org/wiki"])["chunk_id"].to_list() == [21]
    assert locate(filled, [11, 21], ["d1"], repos=[]).is_empty()


def test_repositories_that_a_corpus_is_limited_to_leave_the_other_corpora_alone(
    filled: Store,
) -> None:
    def found(limits: dict[str, list[str]]) -> list[int]:
        visible = {corpus: {"repos": repos} for corpus, repos in limits.items()}
        return locate(filled, [11, 21], [], visible=visible)["chunk_id"].to_list()

    assert found({"code": ["org/app"]}) == [11, 21]
    assert found({"code": ["org/wiki"]}) == [21]
    assert found({"code": [], "wiki": ["org/app", "org/wiki"]}) == [21]


def test_a_name_is_taken_to_the_letter_whatever_it_has_in_it(filled: Store) -> None:
    assert locate(filled, [], ["d_", "d%", "'; DROP TABLE chunks; --", "a\x00b\ud800"]).is_empty()


def test_without_a_query_nothing_may_be_seen(store: Store, filling: Any) -> None:
    filling.write(store, [{"chunk_id": 1}])
    assert fetch_chunks(store, [Wanted("code", pl.Series([1]), filling.queries([]))]).is_empty()


def test_corpora_are_read_together_each_by_its_own_ids_and_queries(
    store: Store, filling: Any
) -> None:
    uses = {"metadata": '{"uses": ["flush"]}', "text": "flush it"}
    rows = [
        *({"chunk_id": n, "corpus": name} for n in (1, 2) for name in ("wiki", "code", "docs")),
        {"chunk_id": 3, "corpus": "code", **uses},
        {"chunk_id": 4, "corpus": "wiki", **uses},
        {"chunk_id": 5, "corpus": "wiki", "repo": "org/app"},
    ]
    for name in ("wiki", "code", "docs"):
        filling.write(store, [row for row in rows if row["corpus"] == name])
    ids = pl.Series([5, 4, 3, 2, 1], dtype=pl.Int64)
    of_code = filling.queries([{"uses": "flush"}])
    of_wiki = filling.queries([{"repos": ["org/app"]}, {"uses": "flush"}])
    found = fetch_chunks(
        store,
        [
            Wanted("wiki", ids, of_wiki),
            Wanted("code", ids, of_code),
            Wanted("docs", ids[4:], filling.queries([{}])),
        ],
    )
    assert found["corpus", "chunk_id"].rows() == [
        ("code", 3),
        ("docs", 1),
        ("wiki", 4),
        ("wiki", 5),
    ]
    check(found, READ_CHUNKS, "chunks")
    assert fetch_chunks(store, []).is_empty()


def test_more_corpora_than_one_statement_reads_are_read(store: Store, filling: Any) -> None:
    names = [f"c{number:02}" for number in range(PARTS_AT_ONCE + 2)]
    for number, name in enumerate(names):
        filling.write(store, [{"chunk_id": number, "corpus": name}])
    ids, queries = pl.Series(range(len(names)), dtype=pl.Int64), filling.queries([{}])
    found = fetch_chunks(store, [Wanted(name, ids, queries) for name in reversed(names)])
    assert found["corpus", "chunk_id"].rows() == list(zip(names, range(len(names)), strict=True))


def asked_of(name: str, store: Store, held: str, filling: Any, **how: Any) -> SearchRequest:
    return SearchRequest(Home(store, held), name, filling.queries([{}]), **how)


def hits_in(*found: tuple[str, int]) -> pl.DataFrame:
    schema = {"corpus": pl.String, "chunk_id": pl.Int64}
    return pl.DataFrame(found, schema=schema, orient="row")


def test_chunks_without_a_vector_are_named_with_their_corpus(store: Store, filling: Any) -> None:
    for held in ("wiki", "code"):
        filling.write(store, [{"chunk_id": 1, "corpus": held}])
    store.execute("UPDATE chunks SET embedding = NULL WHERE corpus = 'wiki'")
    asked = {name: asked_of(name, store, name, filling) for name in ("wiki", "code")}
    chunks, _ = chunks_of_hits(asked, [hits_in(("wiki", 1), ("code", 1))], skip_failures=False)
    assert without_vector(chunks).rows() == [("wiki", 1)]
    assert without_vector(chunks.clear()).is_empty()


@pytest.fixture
def two_collections(make_store: Callable[..., Store], filling: Any) -> tuple[Store, Store]:
    """Chunk 1 of a corpus ``docs`` in both; the vectors of the second one are shorter."""
    long, short = make_store(), make_store(4)
    filling.write(long, [{"chunk_id": 1, "corpus": "docs", "text": "long"}])
    chunks = filling.chunks([{"chunk_id": 1, "corpus": "docs", "text": "short"}], dimensions=4)
    write_documents(short, filling.documents(chunks), chunks)
    return long, short


BOTH = hits_in(("theirs", 1), ("ours", 1))


def test_the_same_chunk_of_two_collections_is_read_of_each(
    two_collections: tuple[Store, Store], filling: Any
) -> None:
    long, short = two_collections
    asked = {
        "theirs": asked_of("theirs", short, "docs", filling),
        "ours": asked_of("ours", long, "docs", filling),
    }
    chunks, failed = chunks_of_hits(asked, [BOTH], skip_failures=False)
    check(chunks, READ_CHUNKS, "chunks")
    assert chunks["corpus", "text"].rows() == [("ours", "long"), ("theirs", "short")]
    assert chunks["embedding"].dtype == pl.Array(pl.Float32, 8)
    ours, theirs = chunks["embedding"].to_list()
    assert all(ours)
    assert [bool(value) for value in theirs] == [True] * 4 + [False] * 4
    assert failed.is_empty()


@pytest.mark.parametrize("lost", [[1], [1, 2]])
def test_a_chunk_that_lost_its_vector_takes_no_other_along(
    store: Store, filling: Any, lost: list[int]
) -> None:
    filling.write(store, [{"chunk_id": 1}, {"chunk_id": 2}])
    statement = "UPDATE chunks SET embedding = NULL WHERE chunk_id = ANY(%s::bigint[])"
    store.execute(statement, (lost,))
    found = fetch_chunks(store, [Wanted("code", pl.Series([1, 2]), filling.queries([{}]))])
    usable = [any(vector) for vector in found["embedding"].to_list()]
    assert usable == [number not in lost for number in (1, 2)]
    check(found, READ_CHUNKS, "chunks")


def of_file(chunk_id: int, path: str, **row: Any) -> dict[str, Any]:
    return {"chunk_id": chunk_id, "document_id": path, "path": path, "repo": "org/app", **row}


def finding(chunk_id: int, path: str, **row: Any) -> dict[str, Any]:
    return of_file(chunk_id, path, document_id=f"f{chunk_id}", corpus="memory", **row)


@pytest.fixture
def linked(store: Store, filling: Any) -> Store:
    rows = [
        of_file(1, "src/a.py", uri="https://h/app/src/a.py"),
        of_file(2, "src/a.py", uri="https://h/fork/src/a.py", repo="org/fork"),
        of_file(3, "README.md", uri="https://h/app/README.md", corpus="docs"),
        of_file(4, "src/new.py"),
        finding(11, "src/a.py"),
        finding(12, "src/a.py", repo="org/fork"),
        finding(13, "README.md"),
        finding(14, "src/new.py"),
        finding(15, "src/gone.py"),
        finding(16, "src/a.py", uri="https://tracker/16"),
        finding(17, "src/a.py", repo="org/other"),
        of_file(21, "src/a.py", corpus="wiki"),
    ]
    filling.write(store, rows)
    return store


LINKS = dict.fromkeys((14, 15, 17)) | {
    11: "https://h/app/src/a.py",
    12: "https://h/fork/src/a.py",
    13: "https://h/app/README.md",
    16: "https://tracker/16",
}


def test_a_finding_leads_to_its_file_in_its_own_repository(linked: Store, filling: Any) -> None:
    ids = pl.Series(list(LINKS), dtype=pl.Int64)
    read = fetch_chunks(linked, [Wanted("memory", ids, filling.queries([{}]))])
    assert dict(read["chunk_id", "uri"].iter_rows()) == LINKS
    located = locate(linked, list(LINKS), [])
    assert dict(located["chunk_id", "uri"].iter_rows()) == LINKS


def test_known_versions_are_read_again_only_when_they_were_found_anew(
    make_store: Callable[..., Store], filling: Any
) -> None:
    store = make_store()
    filling.write(store, [{"chunk_id": n, "document_id": f"d{n}"} for n in range(2)])
    filling.place(store, "code", {"d0": "1.0"})
    mark_found(store, "code", 0, 1)
    store.forget_info()
    first = known_versions(store)
    filling.place(store, "code", {"d0": "1.0", "d1": "1.1"})
    assert known_versions(store) is first
    mark_found(store, "code", 0, 1)
    store.forget_info()
    assert known_versions(store)["version"].to_list() == ["1.0", "1.1"]
