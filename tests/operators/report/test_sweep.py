import re

import polars as pl
import pytest

from operators.evaluation.evaluation_frames import COMPARISON, SUMMARY
from operators.evaluation.grid import grid, point_name, sweep_table
from operators.report.sweep import sweep_page


def page_of(settings):
    points = grid(settings)
    means = [
        {
            "config": point_name(p),
            "measure": "AP",
            "slice": "all",
            "mean": 0.5,
            "low": 0.4,
            "high": 1,
        }
        for p in points
    ]
    against = [
        {"config": point_name(p), "measure": "AP", "difference": 0.1, "low": 0.0, "high": 0.2}
        | {"p": 0.01, "p_corrected": 0.01 if at == 0 else 0.5}
        for at, p in enumerate(points)
    ]
    table = sweep_table(
        points, pl.DataFrame(means, schema=SUMMARY), pl.DataFrame(against, schema=COMPARISON)
    )
    return sweep_page(table, list(settings), {"AP": 0.45}, queries=12, title="Tried & told")


@pytest.mark.parametrize(
    "settings",
    [{"k": [2, 60]}, {"merged": ["rrf", "convex"]}, {"k": [1.5, 2], "a": [1, 2], "b": ["x"]}],
)
def test_every_combination_is_in_the_table_and_the_best_known_difference_is_marked(settings):
    page = page_of(settings)
    for point in grid(settings):
        assert point_name(point) in page
    assert page.count("+0.100 *") == 1
    assert "Tried &amp; told" in page
    assert "12 judged queries" in page


def test_the_page_loads_nothing():
    page = page_of({"k": [2, 60]})
    assert not re.search(r'(?:src|href)="https?:', page)
