"""What is read from modules: variants and parameters."""

import pytest
from hamilton import ad_hoc_utils
from hamilton.function_modifiers import config

from dataflow.configuration.catalog import read_layer


def layer(*functions):
    return read_layer(ad_hoc_utils.create_temporary_module(*functions))


def test_a_function_with_a_variant_in_its_name_is_a_choice():
    @config.when(merged_variant="rrf")
    def merged__rrf(hits: int, rrf_k: float = 60.0) -> int:
        return hits

    @config.when(merged_variant="off")
    def merged__off(hits: int) -> int:
        return hits

    found = layer(merged__off, merged__rrf)
    assert found.variants == {"merged": ("off", "rrf")}
    assert found.parameters["rrf_k"].annotation is float


def test_a_stage_that_follows_another_stage_s_variant_is_no_choice_of_its_own():
    @config.when(packed_variant="tokens")
    def context_window__tokens(packed: int) -> int:
        return packed

    assert layer(context_window__tokens).variants == {}


def test_nodes_and_inputs_of_a_run_are_no_parameters():
    def hits(query: str = "", top_k: int = 3) -> int:
        return 1

    def merged(hits: int = 0, store: object = None) -> int:
        return hits

    assert list(layer(hits, merged).parameters) == ["top_k"]


def test_two_defaults_for_one_parameter_are_an_error():
    def one(top_k: int = 3) -> int:
        return 1

    def two(top_k: int = 4) -> int:
        return 1

    with pytest.raises(ValueError, match="'top_k' has the default"):
        layer(one, two)
