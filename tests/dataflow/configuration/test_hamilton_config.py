"""What the retrieval graph is built from, and what each shipped experiment changes in it."""

import pytest

from dataflow.configuration.config_model import load_config
from dataflow.configuration.hamilton_config import hamilton_config
from dataflow.driver.config_graphs import describe_config
from dataflow.driver.config_graphs import diff_configs as diff
from dataflow.driver.retrieval_driver import build_graph

TOLD_ABOUT = {"explanation", "outcomes"}
"""Stages that tell about a ranking and don't make it."""


def changed(name):
    """The nodes of an experiment that differ from the default's, fields of a node left out."""
    before, after = load_config("default"), load_config(name)
    nodes = {**describe_config(before).nodes, **describe_config(after).nodes}
    found = diff(before, after)
    differing = {
        *found.added,
        *found.removed,
        *(change.where for change in found.implementations),
        *(n for change in found.parameters for n in nodes if change.where.startswith(f"{n}.")),
    }
    return {n for n in differing if nodes[n].stage not in TOLD_ABOUT and not nodes[n].field_of}


@pytest.mark.parametrize(("name", "corpus"), [("no_docs", "docs"), ("no_review", "review")])
def test_an_experiment_without_a_corpus_lacks_its_branch_and_nothing_else(name, corpus):
    assert corpus not in load_config(name).corpora
    assert {node.partition(".")[0] for node in changed(name)} == {corpus, "trigger_weights"}


def test_a_whole_number_becomes_a_float_where_the_parameter_is_one(small):
    config = small(
        corpus_defaults={
            "variants": {"text_search": "bm25", "merged": "convex"},
            "parameters": {"vector_weight": 1},
        }
    )
    weight = hamilton_config(config)["corpora"]["code"]["inputs"]["vector_weight"]
    assert (weight, type(weight)) == (1.0, float)


def test_a_corpus_overrides_the_defaults_of_all_corpora(small):
    built = hamilton_config(small())
    corpora = built["corpora"]
    assert (built["merged_variant"], corpora["code"]["config"]) == ("convex", {})
    assert corpora["wiki"]["config"]["merged_variant"] == "rrf"


def test_a_parameter_outside_the_corpora_does_not_reach_into_them(small):
    built = hamilton_config(small(parameters={"rrf_k": 5}))
    assert built["rrf_k"] == 5
    assert built["corpora"]["wiki"]["inputs"]["rrf_k"] == 60


def test_another_corpus_is_one_entry_in_the_configuration():
    config = load_config({"extends": "default", "corpora": {"slack": {"label": "{title}"}}})
    described = describe_config(config)
    assert "slack.text_search" in described.nodes["text_searches"].needs


def test_no_secret_can_be_in_what_hamilton_prints():
    config = build_graph(load_config("default")).graph.config
    assert "dsn" not in repr(config).lower()
    assert "postgres" not in repr(config).lower()
