"""What a description says of a graph of strangers."""

from dataflow.visualization.graph_model import describe


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
