from __future__ import annotations

import json

import polars as pl

from operators.context.named_releases import IN_CHANGELOG, releases_first
from operators.frames import FUSED, VERSION_SCOPE


def hits(*rows: tuple[int, str, str | None, float, bool]) -> pl.DataFrame:
    made = [
        {
            "query_id": query,
            "chunk_id": n,
            "rank": n,
            "document_id": document,
            "version": version,
            "score": score,
            "metadata": json.dumps({IN_CHANGELOG: True} if release else {}),
        }
        for n, (query, document, version, score, release) in enumerate(rows)
    ]
    return pl.DataFrame(made, schema=FUSED)


def scope(**pinned: list[list[str]]) -> pl.DataFrame:
    rows = [{"query_id": int(query[1:]), "pinned": of} for query, of in pinned.items()]
    return pl.DataFrame(rows, schema=VERSION_SCOPE)


LIST = hits(
    (0, "guide", None, 0.9, False),
    (0, "page", "1.0", 0.8, False),
    (0, "news", "1.1", 0.7, True),
    (0, "news", "1.0", 0.5, True),
    (0, "news", "1.0", 0.4, True),
    (1, "guide", None, -3.0, False),
    (1, "news", "1.0", -5.0, True),
)


def test_the_best_passage_of_a_release_that_is_asked_for_leads_and_the_order_is_by_score() -> None:
    found = releases_first(LIST, scope(q0=[["1.0"]], q1=[["1.0", "2.0"]]))
    assert found["chunk_id"].to_list() == [3, 0, 1, 2, 4, 6, 5]
    assert found["rank"].to_list() == [0, 1, 2, 3, 4, 0, 1]
    for _, of in found.group_by("query_id"):
        assert of["score"].is_sorted(descending=True)


def test_without_a_release_that_is_asked_for_the_list_stays_as_it_is() -> None:
    assert releases_first(LIST, scope(q0=[], q1=[])).equals(LIST)
    assert releases_first(LIST, scope(q0=[["3.0"]], q2=[["1.0"]])).equals(LIST)
    assert releases_first(LIST.clear(), scope(q0=[["1.0"]])).is_empty()
