"""The whole experiment graph on a small judged collection."""

import json

import polars as pl
import pytest
from evaluating import DEFAULT, asked, documents

from dataflow import load_config
from dataflow.evaluation.graph import check_models
from operators.errors import CrosscorpusError, UnknownName
from operators.evaluation.judgements import JudgementError
from operators.evaluation.measures import scores
from operators.postgres.store import ModelMismatch


def test_a_run_has_every_corpus_and_only_the_judged_ones_count(found):
    part = found.runs.filter(pl.col("query_id") == "code-lock")
    assert set(part["corpus"]) == {"code", "review", "wiki"}
    every = scores(found.runs, found.qrels, list(found.configs))
    assert not every.equals(found.scores)


def test_a_reranker_of_the_caller_orders_the_head_of_each_list_once(judged):
    pairs = []

    def longest_code_first(given):
        pairs.extend(given)
        return [len(passage) * float("def " in passage) for _, passage in given]

    few = {"corpus_defaults": {"parameters": {"search_depth": 4}}}
    evaluation = asked(
        judged,
        {"reranked": load_config("reranked").with_changes(few)},
        retrieval_inputs={"reranker": longest_code_first},
        depth=30,
    )
    assert len(set(pairs)) == len(pairs)
    passages = [text for question, text in pairs if question == "return cache" and "def " in text]
    assert 4 <= len(passages) <= 8
    listed = documents(evaluation, "code-cache", "reranked")
    assert len(listed) >= 30
    word, number = listed[0].removeprefix("code/")[:-4], listed[0][-4]
    longest = [passage for passage in passages if len(passage) == max(map(len, passages))]
    assert any(f"def {word}_{number}()" in passage for passage in longest)


def test_a_failing_search_is_an_error_and_no_bad_ranking(judged, tmp_path):
    search = """
from operators.postgres.search.timed_search import SearchRequest, Searched

def text_search__broken(search_request: SearchRequest) -> Searched:
    raise OSError("my index is gone")
"""
    (tmp_path / "mine.py").write_text(search)
    broken = {"corpus_modules": [str(tmp_path / "mine.py")]}
    broken |= {"corpus_defaults": {"variants": {"text_search": "broken"}}}
    with pytest.raises(CrosscorpusError, match="my index is gone"):
        asked(judged, {"broken": load_config({"extends": "default", **broken})})


def test_what_does_not_fit_together_is_an_error_that_says_so(judged, tmp_path):
    line = {"query_id": "q", "text": "t", "judged_corpora": ["wki"]}
    (tmp_path / "q").write_text(json.dumps(line))
    (tmp_path / "r").write_text("q 0 code/cache0.py 1")
    with pytest.raises(UnknownName, match="unknown judged corpus 'wki', did you mean 'wiki'"):
        asked(judged, queries=tmp_path / "q", qrels=tmp_path / "r")
    (tmp_path / "r").write_text("other 0 code/cache0.py 1")
    with pytest.raises(JudgementError, match="no query has a judgement"):
        asked(judged, queries=tmp_path / "q", qrels=tmp_path / "r")
    (tmp_path / "r").write_text("q 0 elsewhere 1")
    with pytest.raises(CrosscorpusError, match="has none of the 1 judged documents"):
        asked(judged, queries=tmp_path / "q", qrels=tmp_path / "r")
    with pytest.raises(CrosscorpusError, match="unknown option 'dpth'"):
        asked(judged, dpth=3)


def test_another_model_than_the_collections_is_an_error(judged):
    with pytest.raises(ModelMismatch, match="configuration 'default' embeds with 'minilm'"):
        check_models(judged.store, {"default": DEFAULT})
