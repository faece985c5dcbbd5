"""The shipped configurations, on the real retrieval graph, without a server."""

import pytest

from dataflow.configuration.config_model import load_config
from dataflow.configuration.loader import shipped
from dataflow.driver.config_graphs import describe_config, diff_configs
from dataflow.driver.retrieval_driver import build_graph

EXPERIMENTS = sorted(set(shipped()) - {"default"})


def test_the_default_has_the_seven_corpora():
    assert sorted(load_config("default").corpora) == [
        "code",
        "docs",
        "history",
        "issue",
        "memory",
        "review",
        "wiki",
    ]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_builds_and_differs_from_the_default(name):
    assert diff_configs(load_config("default"), load_config(name))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_states_its_hypothesis(name):
    assert shipped()[name].read_text(encoding="utf-8").startswith("# Hypothesis: ")


def test_the_documented_nodes_exist():
    described = describe_config(load_config("default"))
    for node in ("vector_hits", "text_hits", "merged", "chunks", "deduped", "unified"):
        assert f"wiki.{node}" in described.nodes
    for node in (
        "queries",
        "query_embeddings",
        "fused",
        "weighted",
        "reranked",
        "unique",
        "results",
        "context_window",
        "citations",
        "notes",
        "outcomes",
        "provenance",
    ):
        assert node in described.nodes


def test_another_corpus_is_one_entry_in_the_configuration():
    config = load_config({"extends": "default", "corpora": {"slack": {"label": "{title}"}}})
    described = describe_config(config)
    assert "slack.merged" in described.nodes
    assert "slack.unified" in described.nodes["pooled_hits"].needs


def test_every_node_says_its_stage():
    described = describe_config(load_config("default"))
    assert [n.name for n in described.nodes.values() if not n.stage] == []


def test_searches_leave_the_calling_thread_and_may_fail():
    from dataflow.execution.plan import node_tags

    nodes = build_graph(load_config("default")).graph.nodes
    for name in ("wiki.vector_search", "wiki.text_search", "wiki.read_chunks"):
        assert {"io", "fail_open"} <= set(node_tags(nodes[name]))


def test_no_secret_can_be_in_what_hamilton_prints():
    config = build_graph(load_config("default")).graph.config
    assert "dsn" not in repr(config).lower()
    assert "postgres" not in repr(config).lower()
