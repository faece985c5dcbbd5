import polars as pl
import pytest

from operators.evaluation.evaluation_frames import COMPARISON, SUMMARY
from operators.evaluation.grid import GridError, grid, point_name, read_settings, sweep_table


def test_values_are_numbers_or_names():
    given = ["rrf_k=2,10.5", "unique=off,jaccard", "code.merged=rrf", "ef_search=1e2"]
    assert read_settings(given) == {
        "rrf_k": [2, 10.5],
        "unique": ["off", "jaccard"],
        "code.merged": ["rrf"],
        "ef_search": ["1e2"],
    }


@pytest.mark.parametrize(
    "value", ["9" * 6000, "[" * 5000, "!!timestamp z", "2020-99-99", "&a [*a]"]
)
def test_a_value_that_yaml_stumbles_over_is_a_word(value):
    assert read_settings([f"rrf_k={value}"]) == {"rrf_k": [value]}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["rrf_k"], "is no setting"),
        (["=1,2"], "is no setting"),
        (["rrf_k=1,,2"], "is no setting"),
        (["rrf_k=1,1"], "has a value twice"),
        (["rrf_k=1", "rrf_k=2"], "'rrf_k' is set twice"),
    ],
)
def test_settings_that_make_no_grid_are_errors(given, said):
    with pytest.raises(GridError, match=said):
        read_settings(given)


def test_every_combination_is_tried_the_last_varying_fastest():
    points = grid({"a": [1, 2], "b": ["x", "y"]})
    assert [point_name(point) for point in points] == ["a=1 b=x", "a=1 b=y", "a=2 b=x", "a=2 b=y"]
    with pytest.raises(GridError, match="needs a setting"):
        grid({})
    with pytest.raises(GridError, match="1000 combinations are too many"):
        grid({"a": range(10), "b": range(10), "c": range(10)})


def test_the_table_has_a_column_a_setting_and_a_row_a_combination_and_measure():
    points = grid({"k": [10, 2], "merged": ["rrf", "convex"]})
    means = [
        {"config": point_name(p), "measure": m, "slice": s, "mean": 0.5, "low": 0.4, "high": 0.6}
        for p in reversed(points)
        for m in ("nDCG@10", "AP")
        for s in ("all", "kind=x")
    ]
    against = [
        {"config": point_name(p), "measure": m, "difference": 0.1, "low": 0.0, "high": 0.2}
        for p in points
        for m in ("nDCG@10", "AP")
    ]
    table = sweep_table(
        points, pl.DataFrame(means, schema=SUMMARY), pl.DataFrame(against, schema=COMPARISON)
    )
    assert table.columns[:7] == ["point", "k", "merged", "measure", "mean", "low", "high"]
    assert table.select("k", "merged", "measure").rows()[:3] == [
        (10, "rrf", "nDCG@10"),
        (10, "rrf", "AP"),
        (10, "convex", "nDCG@10"),
    ]
    assert table.height == 8
    assert table.select("difference", "difference_low", "difference_high").row(0) == (0.1, 0, 0.2)
