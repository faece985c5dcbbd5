"""Searches by words, and which chunks they see."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from operators.foundation.tokenizer import tokens
from operators.frames import SCOPED_QUERIES, TEXT_LISTS, VECTOR_LISTS, check
from operators.postgres.document_key import document_key
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.search import visible_chunks
from operators.postgres.search.batches import Deadline, SearchTimeout
from operators.postgres.search.filters import Filter
from operators.postgres.search.ranked_list import ranked_lists
from operators.postgres.search.text_search import bm25_search, plain_search
from operators.postgres.search.visible_chunks import search_filter
from operators.postgres.store import Store, collection_info
from operators.postgres.write.version_store import mark_found
from operators.ranking.bm25 import AVERAGE_LENGTH

Make = Callable[..., Store]

WORDS = [f"wort{chr(97 + n // 10)}{chr(97 + n % 10)}" for n in range(100)]
K1, B = 2.0, 0.75
Held = tuple[Store, list[str]]


def zipf_text(random_: random.Random, longest: int = 60) -> str:
    weights = [1 / (n + 1) for n in range(len(WORDS))]
    return " ".join(random_.choices(WORDS, weights, k=random_.randint(1, longest)))


@pytest.fixture(scope="module")
def held(make_store: Make, filling: Any) -> Held:
    random_ = random.Random(11)
    texts = [zipf_text(random_) for _ in range(400)]
    texts[7] = texts[3]
    store = make_store()
    for start in range(0, 400, 100):
        filling.write(
            store,
            [
                {"chunk_id": n, "text": texts[n], "repo": "even" if n % 2 == 0 else "odd"}
                for n in range(start, start + 100)
            ],
        )
    make_searchable(store)
    return store, texts


def oracle(texts: list[str], query: str, k: int) -> list[tuple[int, float]]:
    """BM25 in plain Python."""
    bags = [Counter(tokens(f"{text} d{n}")) for n, text in enumerate(texts)]  # and its id
    lengths = [sum(bag.values()) for bag in bags]
    scores = [0.0] * len(texts)
    for term, times in Counter(tokens(query)).items():
        df = sum(term in bag for bag in bags)
        if not df:
            continue
        idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
        for n, bag in enumerate(bags):
            f = bag[term]
            if f:
                scores[n] += times * idf * f / (f + K1 * (1 - B + B * lengths[n] / AVERAGE_LENGTH))
    ranked = sorted((-score, n) for n, score in enumerate(scores) if score > 0)
    return [(n, -score) for score, n in ranked[:k]]


def test_a_score_is_told_over_that_of_a_chunk_full_of_all_words(held: Held, filling: Any) -> None:
    store, _ = held
    text = zipf_text(random.Random(2), 12)
    asked = [[text], [text, f"{text} unheard-of"], ["unheard-of"]]
    found = bm25_search(store, "code", filling.queries([{"texts": one} for one in asked]), k=50)
    assert found["coverage"].is_between(0, 1, closed="right").all()
    share = found["score"] / found["coverage"]
    ceilings = found.with_columns(ceiling=share.round(9)).group_by("query_id", "text_no")
    of_each = {key: one["ceiling"].unique().to_list() for key, one in ceilings}
    assert of_each[0, 0] == of_each[1, 0]
    assert of_each[1, 1][0] > of_each[0, 0][0]  # no chunk covers a word that none has


def test_scores_are_those_of_bm25(held: Held, filling: Any) -> None:
    store, texts = held
    random_ = random.Random(1)
    asked = [zipf_text(random_, 12) for _ in range(40)]
    queries = filling.queries([{"texts": [text]} for text in asked])
    found = check(bm25_search(store, "code", queries, k=50), TEXT_LISTS, "text_lists")
    for number, query in enumerate(asked):
        mine = found.filter(pl.col("query_id") == number)
        expected = oracle(texts, query, 50)
        assert mine["score"].to_list() == pytest.approx([s for _, s in expected], abs=1e-4)
        places = dict(expected)
        for chunk_id, score in mine.select("chunk_id", "score").iter_rows():
            if chunk_id in places:  # ties at the cut may fall either way
                assert score == pytest.approx(places[chunk_id], abs=1e-4)


def test_equal_scores_are_ordered_by_chunk_id(held: Held, filling: Any) -> None:
    store, texts = held
    found = bm25_search(store, "code", filling.queries([{"texts": [texts[3]]}]), k=400)
    ranked = found.sort("score", "chunk_id", descending=[True, False])
    assert found["chunk_id"].to_list() == ranked["chunk_id"].to_list()
    ids = found["chunk_id"].to_list()
    assert ids.index(7) == ids.index(3) + 1


def test_capped_candidates_are_scored_with_all_terms(held: Held, filling: Any) -> None:
    store, texts = held
    query = f"{WORDS[0]} {WORDS[60]} {WORDS[90]}"
    found = bm25_search(store, "code", filling.queries([{"texts": [query]}]), k=5, candidate_cap=8)
    scores = dict(oracle(texts, query, 400))
    assert len(found) == 5
    for chunk_id, score in found.select("chunk_id", "score").iter_rows():
        assert score == pytest.approx(scores[chunk_id], abs=1e-4)
        assert {WORDS[60], WORDS[90]} & set(texts[chunk_id].split())


def test_up_to_twice_the_cap_every_chunk_is_scored(held: Held, filling: Any) -> None:
    store, _ = held
    random_ = random.Random(5)
    queries = filling.queries([{"texts": [zipf_text(random_)]} for _ in range(20)])
    exact = bm25_search(store, "code", queries, k=20)
    assert bm25_search(store, "code", queries, k=20, candidate_cap=200).equals(exact)


def test_a_chunk_with_many_middling_words_of_a_long_question_is_found(
    make_store: Make, filling: Any
) -> None:
    random_ = random.Random(3)
    words = [f"{a}{b}kz" for a in "bcdfghjklm" for b in "npqrtvwxzs"]
    texts = [" ".join(random_.sample(words, 8)) for _ in range(3_000)]
    asked = random_.sample(words, 30)
    often = Counter(word for text in texts for word in text.split())
    texts[77] = " ".join(sorted(asked, key=lambda word: often[word])[2:17])  # not the rarest
    store = make_store()
    filling.write(store, [{"chunk_id": n, "text": text} for n, text in enumerate(texts)])
    make_searchable(store)
    queries = filling.queries([{"texts": [" ".join(asked)]}])
    found = bm25_search(store, "code", queries, k=10, candidate_cap=300)
    assert found["chunk_id"][0] == 77


def test_a_batch_gives_what_each_query_gives_alone(held: Held, filling: Any) -> None:
    store, _ = held
    random_ = random.Random(2)
    rows = [
        {
            "texts": [zipf_text(random_, 8) for _ in range(random_.randint(1, 3))],
            "repos": random_.choice([None, ["even"], ["odd", "even"]]),
        }
        for _ in range(40)
    ]
    queries = filling.queries(rows)
    for search in (
        lambda q: bm25_search(store, "code", q, k=10, candidate_cap=50),
        lambda q: bm25_search(store, "code", q, k=10),
        lambda q: plain_search(store, "code", q, k=10),
    ):
        together = search(queries)
        alone = pl.concat([search(queries[n : n + 1]) for n in range(len(rows))])
        assert together.equals(alone)


@pytest.mark.parametrize("search", [bm25_search, plain_search])
@pytest.mark.parametrize(
    "text",
    [
        "the of and",
        "",
        "  ",
        "\0",
        "🙂",
        "!!! ---",
        "nowhere-to-be-found",
        "'; DROP TABLE chunks; --",
    ],
)
def test_a_text_without_known_words_has_no_rows(
    held: Held, filling: Any, search: Any, text: str
) -> None:
    store, _ = held
    found = search(store, "code", filling.queries([{"texts": [text]}]), k=10)
    assert found.is_empty()
    check(found, TEXT_LISTS, "text_lists")


@pytest.mark.parametrize("search", [bm25_search, plain_search])
def test_a_query_of_forty_thousand_words_is_answered(held: Held, filling: Any, search: Any) -> None:
    store, _ = held
    text = " ".join([*(f"unknown{n}" for n in range(40_000)), WORDS[2]])
    found = search(store, "code", filling.queries([{"texts": [text]}]), k=10)
    assert len(found) == (10 if search is bm25_search else 0), "plain asks for all words"


def test_plain_search_asks_for_all_words_and_ranks_as_postgres_does(
    held: Held, filling: Any
) -> None:
    store, texts = held
    queries = filling.queries([{"texts": [f"{WORDS[0]} {WORDS[5]}"]}])
    found = plain_search(store, "code", queries, k=1_000)
    both = {n for n, text in enumerate(texts) if {WORDS[0], WORDS[5]} <= set(text.split())}
    assert set(found["chunk_id"]) == both
    assert found["score"].is_between(0, 1).all()


def test_each_text_of_a_query_has_its_own_list(held: Held, filling: Any) -> None:
    store, _ = held
    queries = filling.queries([{"texts": [WORDS[3], "the", WORDS[4]]}])
    found = bm25_search(store, "code", queries, k=3)
    assert found["text_no"].to_list() == [0, 0, 0, 2, 2, 2]
    assert found["rank"].to_list() == [0, 1, 2, 0, 1, 2]


def test_a_corpus_that_was_never_ingested_has_no_rows(held: Held, filling: Any) -> None:
    store, _ = held
    queries = filling.queries([{}])
    for search in (bm25_search, plain_search):
        assert search(store, "absent", queries, k=5).is_empty()


def test_a_search_past_its_time_says_so(held: Held, filling: Any) -> None:
    store, _ = held
    queries = filling.queries([{"texts": [WORDS[0]]}] * 300)
    with pytest.raises(SearchTimeout, match=r"corpus 'code' took longer than 0\.001 s") as error:
        bm25_search(store, "code", queries, k=50, timeout_s=0.001)
    assert isinstance(error.value, TimeoutError)


TEXTS = [(0, 0), (0, 1), (3, 0)]


def test_each_text_has_its_list_the_nearest_first_and_ties_by_chunk() -> None:
    text, chunk = [2, 0, 0, 0, 1], [9, 5, 4, 6, 7]
    given = zip(text, chunk, [0.1, 0.2, 0.2, 0.1, 0.3], strict=True)
    found = ranked_lists([(*TEXTS[n], *row) for n, *row in given], "distance")
    check(found, VECTOR_LISTS, "lists")
    rows = found.select("query_id", "text_no", "chunk_id", "rank").rows()
    assert rows == [(0, 0, 6, 0), (0, 0, 4, 1), (0, 0, 5, 2), (0, 1, 7, 0), (3, 0, 9, 0)]


def test_the_highest_score_comes_first() -> None:
    found = ranked_lists([(0, 0, 1, 0.5), (0, 0, 2, 1.5)], "score")
    check(found, TEXT_LISTS, "lists")
    assert found["chunk_id"].to_list() == [2, 1]


@pytest.mark.parametrize("other", [0.0, 1.9])
def test_a_zero_vector_is_as_far_as_can_be(other: float) -> None:
    found = ranked_lists([(0, 0, 1, float("nan")), (0, 0, 2, other)], "distance")
    assert found.select("chunk_id", "distance").rows() == [(2, other), (1, 2.0)]


START = datetime(2024, 1, 1, tzinfo=UTC)


def scoped(batch: list[dict[str, Any]]) -> pl.DataFrame:
    rows = [{"query_id": n, "texts": ["common"], **query} for n, query in enumerate(batch)]
    return pl.DataFrame(rows, schema=SCOPED_QUERIES)


def test_the_list_of_current_chunks_is_made_once_until_the_corpus_changes(
    make_store: Make, filling: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visible_chunks, "LISTED_ABOVE", 1)
    store = make_store()
    filling.write(
        store, [{"chunk_id": n, "document_id": f"d{n}", "text": "common"} for n in range(5)]
    )
    replaced = "INSERT INTO superseded_chunks VALUES ('code', %s, %s, 'same', 4, NULL, NULL)"
    for n in range(3):
        key = document_key("code", "", f"d{n}")
        store.execute(replaced, (n, key))

    def listed(moment: datetime | None = None) -> str | None:
        one = Filter(superseded=collection_info(store).superseded["code"], as_of=moment)
        return search_filter(store, Deadline.after(None, ""), "code", one).visible

    store.forget_info()
    assert listed() is None  # versions are being found
    mark_found(store, "code", 0, 1)
    store.forget_info()
    assert listed(START) is None
    assert listed() == "{3,4}"
    first = listed()
    assert listed() is first
    filling.write(store, [{"chunk_id": 5, "document_id": "d5", "text": "common"}])
    store.forget_info()
    assert listed() == "{3,4,5}"
    everything = scoped([{"version_policy": "newest"}])
    assert set(bm25_search(store, "code", everything, k=9)["chunk_id"]) == {3, 4, 5}
