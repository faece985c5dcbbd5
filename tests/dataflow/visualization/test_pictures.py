"""What is described and drawn of a graph of strangers, folded, and what changed between two."""

import pytest

from dataflow.visualization.folding import fold
from dataflow.visualization.graph_diff import Change, compare
from dataflow.visualization.picture import IMPLIED, PALETTE, overview, picture


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


@pytest.mark.parametrize("own", [{"mean_kind": "trimmed"}, {"window": 3}])
def test_one_with_a_variant_or_a_number_of_its_own_has_a_cluster_of_its_own(described, own):
    shown = fold(picture(described({"north": {}, "south": own})))
    assert list(shown.titles.values()) == ["buoy", "north", "south"]


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


def test_an_overview_has_a_box_for_each_stage_with_its_nodes_and_their_order(described):
    shown = overview(described())
    assert list(shown.boxes) == ["asked", "averaged", "measured", "told"]
    assert shown.boxes["told"].notes == ("bulletin", "forecast")
    assert {("asked", "measured"), ("measured", "averaged"), ("averaged", "told")} <= set(
        shown.arrows
    )
    assert shown.arrows["asked", "told"] == IMPLIED
