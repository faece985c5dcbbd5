"""A call of the driver: names that nothing has, values of another type."""

import polars as pl
import pytest

from dataflow.configuration.config_model import load_config
from dataflow.driver.retrieval_driver import build_graph
from dataflow.driver.validation import check_call
from operators.frames import UNIFIED, empty


@pytest.fixture(scope="module")
def graph():
    """The shipped retrieval graph."""
    return build_graph(load_config()).graph


def test_the_column_recency_keeps_its_name(graph):
    aged = empty(UNIFIED).with_columns(recency=pl.lit(1.0))
    check_call(graph, [], {}, {"aged_hits": aged}, fixed=())
