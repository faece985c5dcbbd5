import polars as pl
import pytest

from dataflow import load_config
from dataflow.configuration.overrides import with_settings
from dataflow.evaluation.graph import evaluate
from dataflow.evaluation.sweep import UNCHANGED, sweep
from operators.errors import CrosscorpusError, UnknownName
from operators.evaluation.judgements import read_qrels, read_queries

DEFAULT = load_config("default")


def swept(judged, settings, **options):
    return sweep(
        judged.store,
        options.pop("config", DEFAULT),
        settings,
        read_queries(judged.queries),
        read_qrels(judged.qrels),
        embedder=judged.embedder,
        **options,
    )


def test_every_combination_has_the_scores_of_an_evaluation_of_its_own(judged):
    settings = {
        "vector_weight": [0.0, 0.6],
        "search_depth": [2, 50],
        "unique": ["jaccard", "off"],
    }
    found = swept(judged, settings, batch_size=7)
    assert found.table["point"].n_unique() == 8
    for weight, candidates, unique in ((0.0, 2, "off"), (0.6, 50, "jaccard")):
        point = {"vector_weight": weight, "search_depth": candidates, "unique": unique}
        name = " ".join(f"{k}={v}" for k, v in point.items())
        alone = evaluate(
            judged.store,
            {name: with_settings(DEFAULT, point)},
            judged.queries,
            judged.qrels,
            embedder=judged.embedder,
            depth=0,
            measure_names=("nDCG@10", "R@50"),
        )
        keys = ["measure", "query_id"]
        ours = found.scores.filter(pl.col("config") == name).sort(keys)
        assert ours.select("query_id", "value").equals(
            alone.scores.sort(keys).select("query_id", "value")
        )


def test_the_combination_that_is_the_configuration_differs_in_nothing(judged):
    found = swept(judged, {"search_depth": [50, 3]}, measures=["AP"])
    same = found.table.row(0, named=True)
    assert (same["search_depth"], same["difference"], same["p"]) == (50, 0.0, 1.0)
    assert same["mean"] == pytest.approx(found.unchanged["AP"])
    assert UNCHANGED not in found.table["point"].to_list()


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"zebra": [1]}, UnknownName, "no parameter or stage 'zebra'"),
        ({"search_depth": ["many"]}, CrosscorpusError, "expected int, got 'many'"),
        ({}, CrosscorpusError, "needs a setting"),
    ],
)
def test_a_sweep_of_nothing_is_an_error_before_any_search(judged, settings, error, said):
    with pytest.raises(error, match=said):
        swept(judged, settings)
