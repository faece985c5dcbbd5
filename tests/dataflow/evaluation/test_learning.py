from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import load_config
from dataflow.evaluation.learning import fetched
from operators.evaluation.judgements import check_judged, read_qrels, read_queries


def test_what_is_fitted_has_the_weights_of_languages_as_a_question_has_them(judged: Any) -> None:
    asked = check_judged(read_queries(judged.queries), read_qrels(judged.qrels))
    default = load_config("default")
    plain, weighed = (
        fetched(judged.store, default.with_changes(more), *asked, judged.embedder)[1]
        for more in ({}, {"languages": {"python": 1.3}})
    )
    factors = np.where(plain.of_hits("corpus") == "code", 1.3, 1.0)
    assert (weighed.of_hits("recency") == plain.of_hits("recency") * factors).all()
    assert (factors > 1).any()
