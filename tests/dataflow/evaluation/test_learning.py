"""Weights that are learned by runs of the graph, on a small judged collection."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from dataflow import load_config
from dataflow.configuration.overrides import with_settings
from dataflow.evaluation import learning
from dataflow.evaluation.graph import evaluate
from operators.evaluation.judgements import check_judged, read_qrels, read_queries
from operators.evaluation.measures import scores
from operators.evaluation.weight_fitting import Learned

DEFAULT = load_config("default").with_changes({"languages": {"python": 1.3}})


def lesson(judged: Any, monkeypatch: pytest.MonkeyPatch, learned: Learned) -> learning.FitResult:
    """What becomes of a fit that learned this."""
    monkeypatch.setattr(learning, "climb", lambda *_, **__: learned)
    files = read_queries(judged.queries), read_qrels(judged.qrels)
    return learning.learn(judged.store, DEFAULT, *files, embedder=judged.embedder, depth=0)


def test_the_fit_measures_what_an_evaluation_measures(
    judged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = {"code.weights.question": 0.7, "wiki.vector_weight": 0.2, "full_weight_terms": 4}
    seen: list[Any] = []

    def climb(run: Any, start: Any, state: Any, **_: Any) -> Learned:
        assert start.items() >= {"code.weights.question": 1.0, "wiki.vector_weight": 0.5}.items()
        seen.extend(run({**start, **tried}, state)[0])
        return Learned({}, 0.0, 0.0)

    monkeypatch.setattr(learning, "climb", climb)
    queries = check_judged(read_queries(judged.queries), read_qrels(judged.qrels))
    learning.fit(judged.store, DEFAULT, *queries, judged.embedder)
    alone = {"tried": with_settings(DEFAULT, tried)}
    found = evaluate(judged.store, alone, *queries, embedder=judged.embedder, depth=0)
    values = [
        of.filter(pl.col("measure") == "nDCG@10").sort("query_id")["value"].to_numpy()
        for of in (found.scores, scores(found.runs, found.qrels, ["tried"]))
    ]
    assert seen == np.mean(values, axis=0).tolist()


def test_what_was_learned_is_a_file_that_loads(
    judged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = {"code.weights.question": 0.7, "code.vector_weight": 0.2, "full_weight_terms": 4}
    result = lesson(judged, monkeypatch, Learned(changed, 0.1, 0.01))
    text = learning.experiment_text(result, collection="team")
    assert "+0.1000, standard error 0.0100" in text
    assert "queries it did not see" in text
    loaded = load_config(yaml.safe_load(text))
    assert loaded == with_settings(load_config("default"), changed)


def test_a_loss_on_the_other_half_is_said(judged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    result = lesson(judged, monkeypatch, Learned({"search_depth": 1}, 0.1, 0.01))
    assert "nDCG@10 is 0." in result.loss


def test_where_nothing_gains_nothing_is_changed(
    judged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = lesson(judged, monkeypatch, Learned({}, 0.0, 0.0))
    assert result.experiment == {"extends": "default"}
    assert result.loss == ""
    assert "nothing is changed" in learning.experiment_text(result, collection="team")
