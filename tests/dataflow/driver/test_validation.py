"""A call of the driver: names that nothing has, old names, values of another type."""

import polars as pl
import pytest

from dataflow.configuration.config_model import load_config
from dataflow.driver.retrieval_driver import build_graph
from dataflow.driver.validation import check_call
from operators.errors import CrosscorpusError
from operators.frames import LEXICAL_WEIGHT, UNIFIED, empty


@pytest.fixture(scope="module")
def graph():
    """The shipped retrieval graph."""
    return build_graph(load_config()).graph


OLD_UNIFIED = empty(UNIFIED).rename({"corpus_score": "rrf_score", "last_version": "only_up_to"})
OLD_WEIGHT = empty(LEXICAL_WEIGHT).rename({"lexical_weight": "text_confidence"})


@pytest.mark.parametrize(
    ("final_vars", "inputs", "overrides", "said"),
    [
        (["verdicts"], {}, {}, "'verdicts' is called 'dispositions' now"),
        (["wiki.counts"], {}, {}, "'wiki.counts' is called 'wiki.stage_counts' now"),
        (["recency"], {}, {}, "'recency' is called 'aged_hits' now"),
        ([], {"candidates": 3}, {}, "'candidates' is called 'search_depth' now"),
        (
            [],
            {"wiki.exact_below": 3},
            {},
            "'wiki.exact_below' is called 'wiki.exact_scan_max_rows' now",
        ),
        ([], {}, {"corpus_hits": 1}, "'corpus_hits' is called 'pooled_hits' now"),
        ([], {}, {"own_scale": 0.5}, "'own_scale' is called 'corpus_normalization' now"),
        (
            [],
            {},
            {"pooled_hits": OLD_UNIFIED},
            "override 'pooled_hits': the column 'rrf_score' is called 'corpus_score' now",
        ),
        (
            [],
            {},
            {"lexical_weight": OLD_WEIGHT},
            "override 'lexical_weight': the column 'text_confidence' is called 'lexical_weight' "
            "now",
        ),
    ],
)
def test_an_old_name_in_a_call_is_an_error_with_the_new_one(
    graph, final_vars, inputs, overrides, said
):
    with pytest.raises(CrosscorpusError) as error:
        check_call(graph, final_vars, inputs, overrides, fixed=())
    assert str(error.value) == said


def test_the_column_recency_keeps_its_name(graph):
    aged = empty(UNIFIED).with_columns(recency=pl.lit(1.0))
    check_call(graph, [], {}, {"aged_hits": aged}, fixed=())
