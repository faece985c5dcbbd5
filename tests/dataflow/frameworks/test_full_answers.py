"""As many passages come back as were asked for, however many near-duplicates stand before them."""

from __future__ import annotations

import asyncio

import pytest

from dataflow.driver.retrieval_driver import RetrievalDriver
from dataflow.frameworks.full_answers import aask, ask

QUESTION = "why is the cache flushed twice?"
WIKI = {"corpora": ["wiki"]}


@pytest.mark.parametrize("top_k", [1, 2, 3, 5])
def test_near_duplicates_that_are_left_out_are_replaced_from_below(
    driver: RetrievalDriver, top_k: int
) -> None:
    found = ask(driver, QUESTION, {"top_k": top_k})
    assert len({one.text for one in found}) == len(found) == top_k
    assert asyncio.run(aask(driver, QUESTION, {"top_k": top_k})).passages == found.passages


def test_near_duplicates_that_fill_a_search_are_replaced_too(driver: RetrievalDriver) -> None:
    assert len(driver.ask(QUESTION, top_k=2, **WIKI)) == 1  # 120 pages are one passage
    found = ask(driver, QUESTION, {"top_k": 2, **WIKI})
    assert [one.repo for one in found] == ["org/copies", "org/wiki"]


def test_what_has_no_more_is_not_asked_for_ever(driver: RetrievalDriver) -> None:
    assert len(ask(driver, QUESTION, {"top_k": 1000})) == 5
    assert len(ask(driver, QUESTION, {"top_k": 9, "repos": []})) == 0
