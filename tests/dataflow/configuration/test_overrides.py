import pytest

from dataflow.configuration.config_model import load_config
from dataflow.configuration.hamilton_config import hamilton_config, in_corpus
from dataflow.configuration.loader import ConfigError
from dataflow.configuration.overrides import with_setting, with_settings
from operators.errors import UnknownName

DEFAULT = load_config("default")


def value(config, corpus, parameter):
    return in_corpus(hamilton_config(config), corpus, parameter)


def test_a_parameter_is_set_wherever_the_graph_has_it():
    assert hamilton_config(with_setting(DEFAULT, "rrf_k", 7))["rrf_k"] == 7
    config = with_setting(DEFAULT, "vector_weight", 0.7)
    assert {value(config, corpus, "vector_weight") for corpus in config.corpora} == {0.7}
    assert value(with_setting(DEFAULT, "search_depth", 9), "wiki", "search_depth") == 9
    assert hamilton_config(with_setting(DEFAULT, "recency_days", 9))["recency_days"] == 9


def test_a_stage_is_set_to_a_variant():
    config = with_settings(DEFAULT, {"fused": "rrf", "merged": "rrf"})
    built = hamilton_config(config)
    assert (built["fused_variant"], built["merged_variant"]) == ("rrf", "rrf")


def test_a_corpus_has_its_own_until_all_are_set():
    own = with_setting(DEFAULT, "code.vector_weight", 0.1)
    assert (value(own, "code", "vector_weight"), value(own, "wiki", "vector_weight")) == (
        0.1,
        value(DEFAULT, "wiki", "vector_weight"),
    )
    weighed = with_setting(DEFAULT, "code.weights.question", 0.7)
    assert hamilton_config(weighed)["source_weights"]["code"]["question"] == 0.7
    every = with_setting(own, "vector_weight", 0.9)
    assert {value(every, corpus, "vector_weight") for corpus in every.corpora} == {0.9}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rrf", "did you mean 'rrf_k'"),
        ("zebra", "no parameter or stage 'zebra'"),
        ("cde.vector_weight", "did you mean 'code'"),
        ("code.top_k", "no parameter or stage 'code.top_k'"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_nearest(name, said):
    with pytest.raises(UnknownName, match=said):
        with_setting(DEFAULT, name, 1)


@pytest.mark.parametrize(("name", "value"), [("search_depth", 1.5), ("merged", "mean")])
def test_a_value_of_another_type_is_an_error(name, value):
    with pytest.raises((ConfigError, UnknownName)):
        with_setting(DEFAULT, name, value)


def test_the_name_of_a_rule_sets_its_weight_and_leaves_the_others() -> None:
    default = load_config("default")
    weights = with_setting(default, "signal_weights.by_commits", 0.2).parameters["signal_weights"]
    assert weights == {**default.parameters["signal_weights"], "by_commits": 0.2}
    with pytest.raises(UnknownName, match="did you mean 'by_commits'"):
        with_setting(default, "by_commit", 0.2)
