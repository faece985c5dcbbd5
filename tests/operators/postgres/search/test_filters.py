"""What a query may see, in all searches and in reading, against plain Python."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from vector_indexes import build_vector_indexes

from operators.postgres.search.chunk_reader import fetch_chunks
from operators.postgres.search.filters import Filter
from operators.postgres.search.text_search import bm25_search, plain_search
from operators.postgres.search.vector_search import search_vectors
from operators.postgres.search.version_filters import SearchFilter
from operators.postgres.search.visible_chunks import count_visible, visible_at_most
from operators.postgres.store import Store, collection_info

START = datetime(2024, 1, 1, tzinfo=UTC)
REPOS = ["", "org/app", "org/lib", "ORG/APP", "o'rg\\%_"]
PATHS = [None, "src/a.py", "src/b_c.py", "src/b%c.py", "src\\d.py", "SRC/a.py", "ü/é.md", ""]
LANGUAGES = [None, "python", "Python", "c"]
STATES = [None, "open", "closed"]
MOMENTS = [None, START, START + timedelta(microseconds=1), START + timedelta(days=9)]
TEXTS = ["common words here", "some common\nwords: 3.12"]
HOSTILE = "x') OR true; DROP TABLE chunks; --"


@pytest.fixture(scope="module")
def held(make_store: Callable[..., Store], filling: Any) -> tuple[Store, list[dict[str, Any]]]:
    random_ = random.Random(3)
    rows = [
        {
            "chunk_id": number,
            "text": TEXTS[number % 2],
            "repo": random_.choice(REPOS),
            "path": random_.choice(PATHS),
            "language": random_.choice(LANGUAGES),
            "state": random_.choice(STATES),
            "created_at": random_.choice(MOMENTS),
        }
        for number in range(150)
    ]
    store = make_store()
    filling.write(store, rows)
    filling.write(store, [{"chunk_id": 999, "corpus": "wiki", "text": "common words here"}])
    build_vector_indexes(store)
    return store, rows


def visible(row: dict[str, Any], query: dict[str, Any]) -> bool:
    """The meaning of the filters, in plain Python."""
    repos, prefix = query.get("repos"), query.get("path_prefix")
    corpora, as_of = query.get("corpora"), query.get("as_of")
    path = row["path"]
    return (
        (corpora is None or "code" in corpora)
        and (repos is None or row["repo"] in repos)
        and (not prefix or (path is not None and path.startswith(prefix)))
        and (not query.get("language") or row["language"] == query["language"])
        and (not query.get("state") or row["state"] == query["state"])
        and re.search(query.get("pattern") or "", row["text"], re.MULTILINE) is not None
        and (as_of is None or row["created_at"] is None or row["created_at"] < as_of)
    )


def maybe(values: list[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), st.sampled_from(values))


QUERY = st.fixed_dictionaries(
    {
        "repos": st.one_of(
            st.none(), st.lists(st.sampled_from([*REPOS, HOSTILE, "no\0such"]), max_size=4)
        ),
        "path_prefix": maybe(["src/", "src/b_", "src/b%", "src\\", "S", "ü", "", HOSTILE, "%"]),
        "language": maybe(["python", "Python", HOSTILE, "c\0"]),
        "state": maybe(["open", HOSTILE]),
        "pattern": maybe([r"^words: \d", "common$", "(?i)SOME|x", "Some", "", "o", r"'\); DROP"]),
        "as_of": maybe([moment for moment in MOMENTS if moment]),
        "corpora": maybe([["code"], ["wiki"], ["wiki", "code"], []]),
    }
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(batch=st.lists(QUERY, min_size=1, max_size=6), exact=st.booleans())
def test_every_search_and_read_sees_exactly_what_the_filters_allow(
    held: tuple[Store, list[dict[str, Any]]],
    filling: Any,
    batch: list[dict[str, Any]],
    exact: bool,
) -> None:
    store, rows = held
    queries = filling.queries([{**query, "texts": ["common"]} for query in batch])
    vectors = filling.embeddings([[1.0, 2, 3, 4, 5, 6, 7, 8]] * len(batch))
    expected = [{row["chunk_id"] for row in rows if visible(row, query)} for query in batch]

    found = {
        "vector": search_vectors(
            store, "code", queries, vectors, k=1_000, exact_scan_max_rows=20_000 if exact else 5
        ),
        "bm25": bm25_search(store, "code", queries, k=1_000, candidate_cap=20_000 if exact else 5),
        "plain": plain_search(store, "code", queries, k=1_000),
    }
    for name, lists in found.items():
        for number, ids in enumerate(expected):
            mine = lists.filter(pl.col("query_id") == number)
            assert set(mine["chunk_id"]) == ids, (name, batch[number])
            assert mine["rank"].to_list() == list(range(len(ids)))
    chunks = fetch_chunks(store, "code", pl.Series([*range(150), 999]), queries)
    assert set(chunks["chunk_id"]) == set().union(*expected)


def test_no_search_or_read_leaks_another_tenants_repo(
    make_store: Callable[..., Store], filling: Any
) -> None:
    store = make_store()
    tenants = ["acme/app", "acme/app2", "acme", "ACME/APP", "acme/app ", "acme/app'--"]
    rows = [
        {"chunk_id": number, "repo": repo, "text": "secret plan"}
        for number, repo in enumerate(tenants * 20)
    ]
    filling.write(store, rows)
    build_vector_indexes(store)
    for number, mine in enumerate(tenants):
        queries = filling.queries([{"repos": [mine], "texts": ["secret plan"]}])
        vectors = filling.embeddings([[1.0] * 8])
        own = {n for n, row in enumerate(rows) if row["repo"] == mine}
        for lists in (
            search_vectors(store, "code", queries, vectors, k=500, exact_scan_max_rows=number),
            bm25_search(store, "code", queries, k=500, candidate_cap=1 + number),
            plain_search(store, "code", queries, k=500),
        ):
            assert set(lists["chunk_id"]) == own
        read = fetch_chunks(store, "code", pl.Series(range(len(rows))), queries)
        assert set(read["repo"]) == {mine}


def test_reading_keeps_the_filters_of_a_batch_with_many_different_ones(
    held: tuple[Store, list[dict[str, Any]]], filling: Any
) -> None:
    store, rows = held
    batch = [{"repos": [HOSTILE, f"r{n}"]} for n in range(120)]
    batch.append({"repos": ["org/lib"], "as_of": START})
    batch.append({"repos": ["org/lib"], "as_of": START + timedelta(days=1)})
    expected = {row["chunk_id"] for row in rows for query in batch if visible(row, query)}
    found = fetch_chunks(store, "code", pl.Series(range(150)), filling.queries(batch))
    assert found["chunk_id"].to_list() == sorted(expected)


@pytest.mark.parametrize("limit", [0, 10, 1_000])
def test_the_count_of_visible_chunks_is_never_too_low(
    held: tuple[Store, list[dict[str, Any]]], limit: int
) -> None:
    store, rows = held
    sizes = collection_info(store).repos["code"]
    choices = itertools.product(
        [None, ("org/app", "none")], ["src/", None], ["python", None], [START, None]
    )
    for repos, path_prefix, language, as_of in choices:
        query = {"repos": repos, "path_prefix": path_prefix, "language": language, "as_of": as_of}
        true = sum(visible(row, query) for row in rows)
        one = SearchFilter(Filter(repos, path_prefix, language, as_of=as_of))
        with store.transaction() as conn:
            assert count_visible(conn, "code", one, limit=limit) == min(true, limit + 1)
        known = visible_at_most(one, sizes, limit=limit)
        assert known is None or known >= true
        assert known is None or known <= limit or known == true
