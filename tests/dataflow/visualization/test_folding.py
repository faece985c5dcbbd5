"""Sub-graphs that look alike become one cluster; one that differs keeps its own."""

from dataclasses import replace

import pytest

from dataflow.visualization.folding import fold, group_title
from dataflow.visualization.graph_diff import difference_picture
from dataflow.visualization.graph_model import describe
from dataflow.visualization.picture import picture

FIVE = {"north": {}, "south": {}, "west": {}, "east": {}, "center": {}}


def test_alike_sub_graphs_are_one_cluster_with_all_of_them_in_its_title(described):
    shown = fold(picture(described({"north": {}, "south": {}})))
    assert shown.titles == {"buoy": "buoy", "north": "north, south x 2"}
    assert "south.mean" not in shown.boxes
    assert {name for edge in shown.arrows for name in edge} <= shown.boxes.keys()
    assert shown.outputs.keys() == shown.titles.keys()


def test_one_that_is_read_by_others_is_not_alike(described):
    # nothing reads west, and the forecast reads north and south
    assert "west" in fold(picture(described())).titles


@pytest.mark.parametrize("own", [{"mean_kind": "trimmed"}, {"window": 3}])
def test_one_with_a_variant_or_a_number_of_its_own_has_a_cluster_of_its_own(described, own):
    shown = fold(picture(described({"north": {}, "south": own})))
    assert list(shown.titles.values()) == ["buoy", "north", "south"]


def test_the_number_that_differs_stands_in_the_boxes(described):
    shown = fold(picture(described({"north": {}, "south": {"window": 3}})))
    assert shown.boxes["south.reading"].notes == ("window 3",)
    assert shown.boxes["north.reading"].notes == ("window 7",)
    assert shown.boxes["south.mean"].notes == ("plain",)


def test_a_parameter_of_identity_makes_no_difference(weather):
    graph = weather({"north": {}, "south": {"window": 3}})
    known_by = describe(graph, structure={"stations"}, identity={"window"})
    assert "north, south x 2" in fold(picture(known_by)).titles.values()


def test_a_mark_or_a_style_makes_a_difference(described):
    shown = picture(described({"north": {}, "south": {}}), {"south.mean": "output"})
    assert "south" in fold(shown).titles
    plain = picture(described({"north": {}, "south": {}}))
    box = replace(plain.boxes["south.mean"], style={"color": "red"})
    assert "south" in fold(replace(plain, boxes={**plain.boxes, "south.mean": box})).titles


def test_in_a_difference_those_that_changed_alike_fold(described):
    first = described({"north": {}, "south": {}})
    trimmed = {"mean_kind": "trimmed"}
    both = fold(difference_picture(first, described({"north": trimmed, "south": trimmed})))
    assert both.titles["north"] == "north, south x 2"
    one = fold(difference_picture(first, described({"north": {}, "south": trimmed})))
    assert list(one.titles.values()) == ["buoy", "north", "south"]


def test_a_title_names_two_and_counts_all():
    assert group_title(["a", "b", "c", "d"]) == "a, b, ... x 4"
    assert group_title(["a", "b"]) == "a, b x 2"
