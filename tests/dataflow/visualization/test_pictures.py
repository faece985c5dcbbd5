"""What is described and drawn of a graph of strangers, folded, and what changed between two."""

import json
from dataclasses import replace

import pytest

from dataflow.visualization.dot import to_dot
from dataflow.visualization.folding import fold, group_title
from dataflow.visualization.graph_diff import Change, compare, difference_picture, to_text
from dataflow.visualization.graph_model import describe
from dataflow.visualization.picture import (
    IMPLIED,
    PALETTE,
    all_edges,
    drawn_edges,
    drawn_nodes,
    overview,
    picture,
    spelled,
    stage_colours,
)


def test_sub_graphs_are_learned_from_the_names(described):
    found = described()
    assert list(found.outputs) == ["buoy", "north", "south", "west"]
    assert found.nodes["north.mean"].subgraph == "north"
    assert found.nodes["forecast"].subgraph == ""


def test_a_node_says_what_runs_and_with_which_numbers(described):
    nodes = described().nodes
    mean = nodes["buoy.mean"]
    assert (mean.implementation, mean.variant, mean.short) == (
        "station.mean__trimmed",
        "trimmed",
        "mean",
    )
    reading = nodes["north.reading"]
    assert (reading.stage, reading.io, reading.needs) == ("measured", True, ("days",))
    assert reading.parameters == {"site": "north", "window": 7}
    assert nodes["forecast"].parameters == {"gain": 1.5}
    assert nodes["north.warm"].field_of == "north.reading"


def test_nodes_that_only_hand_a_value_on_are_left_out(described):
    nodes = described().nodes
    assert not {"north", "north.days", "north.site"} & nodes.keys()
    assert nodes["forecast"].needs == ("buoy", "north.mean", "south.mean")


def test_the_result_of_a_sub_graph_that_works_something_out_stays_and_is_inside(described):
    found = described()
    assert found.nodes["buoy"].subgraph == "buoy"
    assert found.outputs["buoy"] == "buoy"
    assert found.outputs["north"] == "north.mean"


def test_run_time_inputs_have_their_types_and_configuration_is_none(described):
    found = described()
    assert found.inputs == {"cut": "int", "days": "int", "weeks": "int", "window": "int"} or (
        "weeks" in found.inputs and "gain" not in found.inputs
    )


def test_a_sub_graph_that_nothing_reads_is_described_by_its_result(described):
    assert "west.mean" in described().nodes
    assert "west.spread" not in described().nodes


def test_keys_that_build_the_graph_are_no_parameters(weather):
    shown = describe(weather(), structure={"gain"})
    assert shown.nodes["forecast"].parameters == {}


def test_a_part_of_a_graph_has_no_loose_ends(weather):
    part = describe(weather(), only={"forecast", "bulletin", "north.mean"})
    assert set(part.nodes) == {"forecast", "bulletin", "north.mean"}
    assert part.nodes["forecast"].needs == ("north.mean",)
    assert list(part.outputs) == ["north"]
    assert part.inputs == {}


def test_parts_of_results_are_not_drawn_and_arrows_run_through_them(described):
    found = described()
    assert not {"north.warm", "north.wet"} & drawn_nodes(found).keys()
    assert ("north.reading", "north.mean") in all_edges(found)


def test_a_part_of_a_result_is_drawn_where_the_result_is_not(weather):
    assert "north.warm" in drawn_nodes(describe(weather(), only={"north.warm", "north.mean"}))


def test_an_arrow_that_a_longer_path_implies_is_marked_so_and_counted(described):
    arrows, _ = drawn_edges(described())
    assert arrows["north.mean", "forecast"] == arrows["forecast", "bulletin"] == ""
    assert arrows["days", "bulletin"] == IMPLIED
    assert "1 pale arrows: a longer way leads there too" in to_dot(picture(described()))


def test_what_is_read_inside_a_sub_graph_beside_its_result_is_one_bundle(weather):
    graph = weather()
    only = {"buoy.mean", "buoy.spread", "buoy.reading", "buoy.warm", "buoy", "forecast"}
    _, bundles = drawn_edges(describe(graph, only=only))
    assert bundles == {}


def test_stages_have_colours_in_the_order_of_the_data(described):
    colours = stage_colours(described())
    assert list(colours) == ["asked", "measured", "averaged", "told"]
    assert list(colours.values()) == list(PALETTE[:4])


def test_a_picture_has_the_variants_the_inputs_and_their_readers(described):
    shown = picture(described())
    assert shown.boxes["buoy.mean"].notes == ("trimmed",)
    assert ("weeks", "int", ("days",)) in shown.inputs
    assert shown.fill(shown.boxes["days"]) == PALETTE[0]


def test_the_mark_of_a_part_is_seen_at_the_node_that_gives_it(described):
    shown = picture(described(), {"north.warm": "output", "forecast": "override"})
    assert shown.boxes["north.reading"].mark == "output"
    assert shown.boxes["forecast"].mark == "override"


def test_a_long_value_is_cut():
    assert len(spelled("x" * 90)) == 40


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


def test_an_overview_has_a_box_for_each_stage_with_its_nodes_and_their_order(described):
    shown = overview(described())
    assert list(shown.boxes) == ["asked", "averaged", "measured", "told"]
    assert shown.boxes["told"].notes == ("bulletin", "forecast")
    assert {("asked", "measured"), ("measured", "averaged"), ("averaged", "told")} <= set(
        shown.arrows
    )
    assert shown.arrows["asked", "told"] == IMPLIED


def test_stages_that_need_each_other_have_one_arrow_in_an_overview(described):
    found = described()
    nodes = dict(found.nodes)
    days = nodes["days"]
    nodes["days"] = replace(days, needs=(*days.needs, "log"))
    nodes["log"] = replace(days, name="log", stage="told", needs=())
    arrows = overview(replace(found, nodes=nodes)).arrows
    assert ("asked", "told") in arrows
    assert ("told", "asked") not in arrows
