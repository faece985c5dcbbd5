"""Which versions a query sees, in all searches and in reading, against plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vector_indexes import build_vector_indexes

from operators.frames import SCOPED_QUERIES
from operators.postgres.document_key import document_key
from operators.postgres.search import version_filters, visible_chunks
from operators.postgres.search.chunk_reader import Wanted, fetch_chunks
from operators.postgres.search.text_search import bm25_search, plain_search
from operators.postgres.search.vector_search import search_vectors
from operators.postgres.store import Store
from operators.postgres.write.version_store import mark_found

Make = Callable[..., Store]

START = datetime(2024, 1, 1, tzinfo=UTC)
VERSIONS = ["1.0", "1.1", "2.0"]
HOSTILE = "x') OR true; DROP TABLE chunks; --"
ASKED = [*VERSIONS, "9", HOSTILE, "\0", "%"]


@dataclass(frozen=True)
class Passage:
    """A chunk, where its document stands, and what became of it."""

    chunk_id: int
    topic: str | None
    version: str | None
    place: int
    created: datetime | None
    repo: str
    relation: str | None = None
    since: datetime | None = None


def passages() -> list[Passage]:
    """Topics with two or three versions, of three chunks each, and documents without."""
    random_ = random.Random(5)
    found: list[Passage] = []
    for topic in range(12):
        versions = VERSIONS if topic % 3 else random_.sample(VERSIONS, 2)
        for place, version in enumerate(sorted(versions)):
            created = random_.choice([None, START + timedelta(days=10 * place)])
            for _ in range(3):
                relation = since = None
                if place < len(versions) - 1:
                    relation = random_.choice(["same", "revised", "gone"])
                    since = random_.choice([None, START + timedelta(days=10 * place + 10)])
                repo = random_.choice(["", "org/app"])
                found.append(
                    Passage(len(found), f"t{topic}", version, place, created, repo, relation, since)
                )
    days = [timedelta(days=3 * n) for n in range(9)]
    alone = [Passage(len(found) + n, None, None, 0, START + day, "") for n, day in enumerate(days)]
    return [*found, *alone]


PASSAGES = passages()
NEWEST = {p.topic: max(q.place for q in PASSAGES if q.topic == p.topic) for p in PASSAGES}


def visible(one: Passage, query: dict[str, Any]) -> bool:
    """The meaning of the policies, in plain Python."""
    as_of = query.get("as_of")
    if query.get("repos") is not None and one.repo not in query["repos"]:
        return False
    if query["version_policy"] != "all":
        later = query.get("versions_as_of")
        as_of = min(filter(None, (as_of, later)), default=None)
    of_versions = query.get("as_of") is None and one.topic is None
    if not of_versions and as_of and one.created and one.created >= as_of:
        return False
    if query["version_policy"] == "all":
        return True
    asked = set()
    for names in query.get("pinned") or ():
        of_topic = [p for p in PASSAGES if p.topic == one.topic and p.version in names]
        if one.topic is not None and of_topic:
            asked.add(max(of_topic, key=lambda p: p.place).version)
    if asked:
        return one.version in asked
    replaced = one.relation in ("same", "revised")
    return not (replaced and (as_of is None or one.since is None or one.since < as_of))


@pytest.fixture(scope="module")
def held(make_store: Make, filling: Any) -> Store:
    store = make_store()
    name = [f"{p.topic}-{p.version}-{p.repo}" if p.topic else f"d{p.chunk_id}" for p in PASSAGES]
    filling.write(
        store,
        [
            {
                "chunk_id": p.chunk_id,
                "document_id": name[p.chunk_id],
                "ordinal": p.chunk_id,
                "text": "common words here",
                "repo": p.repo,
                "created_at": p.created,
            }
            for p in PASSAGES
        ],
    )
    keys = [document_key("code", p.repo, name[p.chunk_id]) for p in PASSAGES]

    def place(conn: Any) -> None:
        for p, key in zip(PASSAGES, keys, strict=True):
            if p.topic is None:
                continue
            conn.execute(
                "INSERT INTO document_versions VALUES (%s, 'code', %s, %s, %s, %s, NULL, now())"
                " ON CONFLICT DO NOTHING",
                (key, p.topic, p.version, p.place, p.place == NEWEST[p.topic]),
            )
            if p.relation is not None:
                last = p.version if p.relation == "gone" else None
                conn.execute(
                    "INSERT INTO superseded_chunks VALUES ('code', %s, %s, %s, NULL, %s, %s)",
                    (p.chunk_id, key, p.relation, p.since, last),
                )

    store.run(place)
    mark_found(store, "code", 0, 1)
    store.forget_info()
    build_vector_indexes(store)
    return store


QUERY = st.fixed_dictionaries(
    {
        "version_policy": st.sampled_from(["newest", "all", "pinned", "as_of"]),
        "pinned": st.one_of(
            st.none(),
            st.lists(st.lists(st.sampled_from(ASKED), min_size=1, max_size=3), max_size=2),
        ),
        "repos": st.sampled_from([None, ["org/app"]]),
        "as_of": st.sampled_from([None, START + timedelta(days=10), START + timedelta(days=15)]),
        "versions_as_of": st.sampled_from([None, *(START + timedelta(days=n) for n in (11, 18))]),
    }
)


def scoped(batch: list[dict[str, Any]]) -> pl.DataFrame:
    rows = [{"query_id": n, "texts": ["common"], **query} for n, query in enumerate(batch)]
    return pl.DataFrame(rows, schema=SCOPED_QUERIES)


@settings(
    max_examples=settings.default.max_examples // 2,  # each asks the server some thirty times
)
@given(
    batch=st.lists(QUERY, min_size=1, max_size=5),
    exact=st.booleans(),
    hashed=st.booleans(),
    listed=st.booleans(),
)
def test_every_search_and_read_sees_the_versions_that_are_asked_for(
    held: Store,
    filling: Any,
    batch: list[dict[str, Any]],
    exact: bool,
    hashed: bool,
    listed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(version_filters, "HASHED_BELOW", 20_000 if hashed else 0)
    monkeypatch.setattr(visible_chunks, "is_worth_a_list", lambda replaced, left: listed)
    queries = scoped(batch)
    vectors = filling.embeddings([[1.0, 2, 3, 4, 5, 6, 7, 8]] * len(batch))
    expected = [{p.chunk_id for p in PASSAGES if visible(p, query)} for query in batch]
    some = 20_000 if exact else 5
    found = {
        "vector": search_vectors(held, "code", queries, vectors, k=500, exact_scan_max_rows=some),
        "bm25": bm25_search(held, "code", queries, k=500, candidate_cap=some),
        "plain": plain_search(held, "code", queries, k=500),
    }
    for name, lists in found.items():
        for number, ids in enumerate(expected):
            mine = lists.filter(pl.col("query_id") == number)
            assert set(mine["chunk_id"]) == ids, (name, batch[number])
    for number, ids in enumerate(expected):
        chunks = fetch_chunks(
            held,
            [
                Wanted(
                    "code",
                    pl.Series([p.chunk_id for p in PASSAGES]),
                    queries.filter(pl.col("query_id") == number),
                )
            ],
        )
        assert set(chunks["chunk_id"]) == ids, batch[number]
