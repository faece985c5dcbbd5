"""Searches by words, and which chunks they see."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from operators.foundation.tokenizer import tokens
from operators.frames import TEXT_LISTS, check
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.search.batches import SearchTimeout
from operators.postgres.search.text_search import bm25_search, plain_search
from operators.postgres.store import Store
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
    asked = [zipf_text(random_, 12) for _ in range(20)]
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


def test_capped_candidates_are_scored_with_all_terms(held: Held, filling: Any) -> None:
    store, texts = held
    query = f"{WORDS[0]} {WORDS[60]} {WORDS[90]}"
    found = bm25_search(store, "code", filling.queries([{"texts": [query]}]), k=5, candidate_cap=8)
    scores = dict(oracle(texts, query, 400))
    assert len(found) == 5
    for chunk_id, score in found.select("chunk_id", "score").iter_rows():
        assert score == pytest.approx(scores[chunk_id], abs=1e-4)
        assert {WORDS[60], WORDS[90]} & set(texts[chunk_id].split())


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
        for _ in range(20)
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
    ["the of and", "", "\0", "'; DROP TABLE chunks; --"],
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


def test_a_search_past_its_time_says_so(held: Held, filling: Any) -> None:
    store, _ = held
    queries = filling.queries([{"texts": [WORDS[0]]}] * 300)
    with pytest.raises(SearchTimeout, match=r"corpus 'code' took longer than 0\.001 s") as error:
        bm25_search(store, "code", queries, k=50, timeout_s=0.001)
    assert isinstance(error.value, TimeoutError)
