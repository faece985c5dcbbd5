import pytest

from operators.evaluation.grid import GridError, grid, point_name, read_settings


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
