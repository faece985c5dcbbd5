"""What is described and drawn of a graph of strangers, folded, and what changed between two."""

import json

import pytest

from dataflow.visualization.dot import to_dot
from dataflow.visualization.folding import fold
from dataflow.visualization.graph_diff import Change, compare, difference_picture, to_text
from dataflow.visualization.picture import (
    IMPLIED,
    PALETTE,
    drawn_edges,
    overview,
    picture,
)


def test_an_arrow_that_a_longer_path_implies_is_marked_so_and_counted(described):
    arrows, _ = drawn_edges(described())
    assert arrows["north.mean", "forecast"] == arrows["forecast", "bulletin"] == ""
    assert arrows["days", "bulletin"] == IMPLIED
    assert "1 pale arrows: a longer way leads there too" in to_dot(picture(described()))


def test_a_picture_has_the_variants_the_inputs_and_their_readers(described):
    shown = picture(described())
    assert shown.boxes["buoy.mean"].notes == ("trimmed",)
    assert ("weeks", "int", ("days",)) in shown.inputs
    assert shown.fill(shown.boxes["days"]) == PALETTE[0]


def test_alike_sub_graphs_are_one_cluster_with_all_of_them_in_its_title(described):
    shown = fold(picture(described({"north": {}, "south": {}})))
    assert shown.titles == {"buoy": "buoy", "north": "north, south x 2"}
    assert "south.mean" not in shown.boxes
    assert {name for edge in shown.arrows for name in edge} <= shown.boxes.keys()
    assert shown.outputs.keys() == shown.titles.keys()


@pytest.mark.parametrize("own", [{"mean_kind": "trimmed"}, {"window": 3}])
def test_one_with_a_variant_or_a_number_of_its_own_has_a_cluster_of_its_own(described, own):
    shown = fold(picture(described({"north": {}, "south": own})))
    assert list(shown.titles.values()) == ["buoy", "north", "south"]


def test_the_number_that_differs_stands_in_the_boxes(described):
    shown = fold(picture(described({"north": {}, "south": {"window": 3}})))
    assert shown.boxes["south.reading"].notes == ("window 3",)
    assert shown.boxes["north.reading"].notes == ("window 7",)
    assert shown.boxes["south.mean"].notes == ("plain",)


def test_in_a_difference_those_that_changed_alike_fold(described):
    first = described({"north": {}, "south": {}})
    trimmed = {"mean_kind": "trimmed"}
    both = fold(difference_picture(first, described({"north": trimmed, "south": trimmed})))
    assert both.titles["north"] == "north, south x 2"
    one = fold(difference_picture(first, described({"north": {}, "south": trimmed})))
    assert list(one.titles.values()) == ["buoy", "north", "south"]


TRIMMED = {"mean_kind": "trimmed"}


def test_a_variant_is_seen_in_the_sub_graph_where_it_takes_effect(described):
    found = compare(described(), described({"north": {}, "south": TRIMMED, "west": {}}))
    assert found.implementations == [
        Change("south.mean", "station.mean__plain", "station.mean__trimmed")
    ]


def test_a_number_is_seen_at_the_nodes_that_read_it(described):
    found = compare(described(), described({"north": {"window": 3}, "south": {}, "west": {}}, 2.0))
    assert found.parameters == [
        Change("forecast.gain", 1.5, 2.0),
        Change("north.reading.window", 7, 3),
    ]


def test_a_new_sub_graph_adds_its_nodes_and_a_removed_one_takes_them_away(described):
    less = described({"north": {}, "south": {}})
    assert "west.mean" in compare(less, described()).added
    assert "west.mean" in compare(described(), less).removed
    assert ("west.warm", "west.mean") in compare(less, described()).edges_added


def test_text_says_once_what_is_the_same_in_every_sub_graph(described):
    plain = {"north": {}, "south": {}}
    found = compare(described(plain), described({name: {"window": 3} for name in plain}))
    assert "  ~ north.reading.window: 7 -> 3\n" in to_text(found)  # the buoy keeps its own
    for one in (found.parameters, found.subgraphs):
        assert json.loads(json.dumps(found.to_json()))
        assert one


def test_the_picture_marks_what_changed_and_says_from_what_to_what(described):
    after = described({"north": {}, "south": TRIMMED, "west": {"window": 3}}, 2.0)
    boxes = difference_picture(described(), after).boxes
    assert (boxes["south.mean"].mark, boxes["south.mean"].notes) == (
        "changed",
        ("plain -> trimmed",),
    )
    assert boxes["west.reading"].notes == ("window 7 -> 3",)
    assert boxes["forecast"].notes == ("gain 1.5 -> 2.0",)
    assert boxes["north.mean"].mark == ""


def test_an_overview_has_a_box_for_each_stage_with_its_nodes_and_their_order(described):
    shown = overview(described())
    assert list(shown.boxes) == ["asked", "averaged", "measured", "told"]
    assert shown.boxes["told"].notes == ("bulletin", "forecast")
    assert {("asked", "measured"), ("measured", "averaged"), ("averaged", "told")} <= set(
        shown.arrows
    )
    assert shown.arrows["asked", "told"] == IMPLIED
