from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from dataflow import Answer, Passage
from operators.errors import CrosscorpusError, UnknownName

QUERY = "why is the cache flushed?"


def test_an_answer_has_its_passages_context_citations_and_notes(driver: Any) -> None:
    answer = driver.ask(QUERY, trigger="question", top_k=2)
    out = driver.execute(
        ["results", "context_window"], {"query": QUERY, "trigger": "question", "top_k": 2}
    )
    assert isinstance(answer, Answer)
    assert [one.chunk_id for one in answer] == out["results"]["chunk_id"].to_list()
    assert answer.frame.equals(out["results"])
    assert answer.context == out["context_window"]["text"].item()
    assert (len(answer), answer[0].rank, isinstance(answer[0], Passage)) == (2, 0, True)
    assert answer[0].label in answer.citations[0].replace("\\", "")
    assert answer.provenance["parameters"]["top_k"] == 2


def test_people_ask_so_that_the_trigger_is_question_and_none_is_a_name(driver: Any) -> None:
    answers = [driver.ask(QUERY, **of) for of in ({}, {"trigger": "question"}, {"trigger": "none"})]
    mixes = [one.provenance["trigger"] for one in answers]
    assert mixes == [[[{"trigger": "question", "share": 1.0}]]] * 2 + [[[]]]


def test_a_language_weighs_for_one_run_and_in_a_configuration_and_both_are_told(
    driver: Any, open_driver: Any
) -> None:
    def scores(answer: Answer) -> dict[str | None, float]:
        return {one.path: one.score for one in answer}

    plain, python = driver.ask(QUERY), {"python": 1.3, "cobol": 9.0}
    asked = driver.ask(QUERY, languages=python)
    weighed = scores(plain) | {"cache.py": scores(plain)["cache.py"] * 1.3}
    assert scores(asked) == weighed
    assert driver.ask(QUERY).frame.equals(plain.frame)
    told = [one.provenance["parameters"]["languages"] for one in (plain, asked)]
    assert told == [{}, python]
    with open_driver({"extends": "default", "languages": python}) as configured:
        assert configured.ask(QUERY).frame.equals(asked.frame)
    with open_driver({"extends": "default", "variants": {"weighted": "off"}}) as off:
        weighs = [scores(off.ask(QUERY, languages=of))["cache.py"] for of in ({}, python)]
    assert weighs[1] == weighs[0] * 1.3
    with pytest.raises(CrosscorpusError, match="weight of 'python' must be 0 or more, got -1"):
        driver.ask(QUERY, languages={"python": -1.0})


def test_what_a_caller_says_has_one_meaning_whichever_name_it_has(driver: Any) -> None:
    said = {"corpora": ("wiki",), "path": "src/", "version": "2.0", "language": None, "top_k": 3}
    inputs = driver.question_inputs(QUERY, repos=("org/app",), **said)
    meant = {"only_corpora": ["wiki"], "path_prefix": "src/", "versions": ["2.0"], "top_k": 3}
    assert inputs == {"query": QUERY, "trigger": "question", "repos": ["org/app"], **meant}
    assert driver.question_inputs(QUERY, versions="newest")["versions"] == "newest"
    assert driver.ask(QUERY, corpora=["wiki"]).frame.equals(
        driver.ask(QUERY, only_corpora=["wiki"]).frame
    )
    with pytest.raises(CrosscorpusError, match="path and path_prefix mean the same: give only one"):
        driver.ask(QUERY, path="src/", path_prefix="docs/")


def test_a_repository_that_nothing_has_is_an_error_where_the_caller_says_so(driver: Any) -> None:
    assert not driver.ask(QUERY, repos=["nobody/nothing"]).passages
    for wrong in ({"repos": ["nobody/nothing"]}, {"language": "klingon"}):
        with pytest.raises(UnknownName, match=r"no document .* '(nobody/nothing|klingon)' here"):
            driver.ask(QUERY, must_exist=True, **wrong)


def test_many_coroutines_share_a_driver_and_few_threads(driver: Any) -> None:
    async def ask_all() -> list[Any]:
        return await asyncio.gather(*(driver.aask(QUERY, top_k=n % 3 + 1) for n in range(24)))

    before = threading.active_count()
    answers = asyncio.run(ask_all())
    assert threading.active_count() - before <= 2 * driver.config.workers
    assert [len(one) for one in answers] == [n % 3 + 1 for n in range(24)]
    for answer in answers:
        assert answer[0] == answers[0][0]
