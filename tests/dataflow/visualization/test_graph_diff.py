"""Differences between two graphs, inside sub-graphs too."""

import json

from dataflow.visualization.graph_diff import Change, compare, difference_picture, to_text

TRIMMED = {"mean_kind": "trimmed"}


def test_the_same_graph_differs_in_nothing(described):
    found = compare(described(), described())
    assert not found
    assert to_text(found) == "no difference\n"


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


def test_settings_that_no_node_shows_are_compared(described):
    found = compare(described(), described(), {"workers": 8}, {"workers": 3})
    assert found.settings == [Change("workers", 8, 3)]


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


def test_the_picture_has_what_either_graph_has(described):
    less, more = described({"north": {}, "south": {}}), described()
    shown = difference_picture(less, more)
    assert shown.boxes["west.mean"].mark == "added"
    assert shown.arrows["west.reading", "west.mean"] == "added"
    back = difference_picture(more, less)
    assert back.boxes["west.mean"].mark == "removed"
    assert back.arrows["west.reading", "west.mean"] == "removed"
    assert back.arrows["forecast", "bulletin"] == ""


def test_a_long_value_that_differs_is_not_spelled(weather):
    from dataflow.visualization.graph_model import describe

    first, second = (
        describe(weather(gain=dict.fromkeys(range(30), number)), structure={"stations"})
        for number in (1, 2)
    )
    assert difference_picture(first, second).boxes["forecast"].notes == ("gain differs",)
