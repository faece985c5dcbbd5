"""Passages have what their reader cites, and their number is the one asked for."""

from __future__ import annotations

import json

from dataflow.driver.retrieval_driver import RetrievalDriver
from dataflow.frameworks.passages import passages_of

QUESTION = "why is the cache flushed twice?"


def test_metadata_says_where_a_passage_stands_and_how_near_it_is(driver: RetrievalDriver) -> None:
    found = {one.metadata["path"]: one for one in passages_of(driver.ask(QUESTION, top_k=9))}
    code = found["src/cache.py"]
    assert code.metadata["label"].startswith("[code: org/app/src/cache.py:1-")
    assert code.metadata["url"] == "https://example.org/cache.py#L1-L3"
    assert (code.metadata["corpus"], code.metadata["repo"]) == ("code", "org/app")
    assert (code.metadata["start_line"], code.metadata["end_line"]) == (1, 3)
    assert code.metadata["symbol"] == ["Cache", "Cache.flush"]
    assert 0.3 < code.metadata["similarity"] < 1
    assert found["docs/why.md"].metadata["version"] == "3.5"
    assert found["notes.md"].metadata["created_at"] == "2020-02-02T00:00:00+00:00"
    assert len({one.id for one in found.values()}) == len(found)
    for one in found.values():
        assert json.loads(json.dumps(one.metadata)) == one.metadata
        assert not {None, ""} & {v for v in one.metadata.values() if not isinstance(v, list)}


def test_a_passage_names_the_near_duplicates_that_it_stands_for(driver: RetrievalDriver) -> None:
    found = passages_of(driver.ask(QUESTION, top_k=9))
    copies = [one for one in found if one.metadata["repo"] == "org/copies"]
    assert copies[0].metadata["alternates"][0]["repo"] == "org/copies"
    assert copies[0].metadata["alternates"][0].keys() == {"label", "corpus", "repo", "url"}


def test_a_question_that_nothing_answers_is_said_to_be_weak(driver: RetrievalDriver) -> None:
    answers = [driver.ask(text, top_k=1) for text in ("which wine goes with a trout?", QUESTION)]
    assert [answer.evidence for answer in answers] == ["weak", "partial"]
    strange, good = map(passages_of, answers)
    assert strange[0].metadata["evidence"] == "weak"
    assert any("weak evidence" in note for note in strange[0].metadata["notes"])
    assert good[0].metadata["evidence"] == "partial"
