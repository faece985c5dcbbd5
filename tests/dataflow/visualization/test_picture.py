"""What is drawn of a graph, and what is left out because it follows."""

from dataflow.visualization.graph_model import describe
from dataflow.visualization.picture import (
    PALETTE,
    all_edges,
    drawn_edges,
    drawn_nodes,
    picture,
    spelled,
    stage_colours,
)


def test_parts_of_results_are_not_drawn_and_arrows_run_through_them(described):
    found = described()
    assert not {"north.warm", "north.wet"} & drawn_nodes(found).keys()
    assert ("north.reading", "north.mean") in all_edges(found)


def test_a_part_of_a_result_is_drawn_where_the_result_is_not(weather):
    assert "north.warm" in drawn_nodes(describe(weather(), only={"north.warm", "north.mean"}))


def test_an_arrow_that_a_longer_path_implies_is_left_out(described):
    arrows, _ = drawn_edges(described())
    assert ("north.mean", "forecast") in arrows
    assert ("forecast", "bulletin") in arrows
    assert ("north.mean", "bulletin") not in arrows


def test_what_is_read_inside_a_sub_graph_beside_its_result_is_one_bundle(weather):
    graph = weather()
    only = {"buoy.mean", "buoy.spread", "buoy.reading", "buoy.warm", "buoy", "forecast"}
    _, bundles = drawn_edges(describe(graph, only=only))
    assert bundles == set()


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
