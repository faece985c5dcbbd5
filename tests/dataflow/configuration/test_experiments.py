"""What each shipped experiment changes, on the real retrieval graph, without a server."""

import pytest

from dataflow.configuration.config_model import load_config
from dataflow.configuration.loader import shipped
from dataflow.visualization.graph_diff import diff
from dataflow.visualization.render import describe_config

LISTS = {"merged", "fused"}
DEDUP = {"deduped", "unique"}
SEARCHES = {"vector_search", "text_search"}
INTENDED = {
    "missing_score_fraction": {"fused"},
    "search_depth_10": SEARCHES,
    "search_depth_200": SEARCHES,
    "corpus_ranks": {"fused"},
    "cosine_dedup": DEDUP | {"similarity_index"},
    "full_text_weight": {"lexical_weight"},
    "jaccard_dedup": DEDUP | {"similarity_index", "token_index"},
    "half_life": {"aged_hits"},
    "min_max": LISTS,
    "newest_dedup": DEDUP | {"similarity_index"},
    "no_dedup": DEDUP | {"similarity_index"},
    "no_recency": {"aged_hits"},
    "no_weights": {"weighted"},
    "one_scale": {"fused"},
    "corpus_normalization": {"fused"},
    "pg_textsearch": {"text_search"},
    "plain_text_search": {"text_search"},
    "reranked": {"reranked"},
    "rrf": LISTS,
    "rrf_steep": LISTS | {"vector_hits", "text_hits"},
    "comb_sum": {"fused"},
    "static_model": set(),
    "text_only": {"merged", "query_embeddings", "vector_search", "vector_hits"},
    "vector_lean": {"merged"},
    "vector_only": {"merged", "text_search", "text_hits"},
    "weighted_rrf": LISTS,
}
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
        *(change.where.rpartition(".")[0] for change in found.parameters),
    }
    return {n for n in differing if nodes[n].stage not in TOLD_ABOUT and not nodes[n].field_of}


@pytest.mark.parametrize("name", sorted(INTENDED))
def test_an_experiment_changes_what_it_is_about_and_nothing_else(name):
    assert {node.rpartition(".")[2] for node in changed(name)} == INTENDED[name]


@pytest.mark.parametrize(("name", "corpus"), [("no_docs", "docs"), ("no_review", "review")])
def test_an_experiment_without_a_corpus_lacks_its_branch_and_nothing_else(name, corpus):
    assert corpus not in load_config(name).corpora
    assert {node.partition(".")[0] for node in changed(name)} == {corpus, "trigger_weights"}


def test_another_model_is_a_setting_of_its_own():
    settings = diff(load_config("default"), load_config("static_model")).settings
    assert [change.where for change in settings] == ["embedding"]


def test_every_shipped_experiment_is_told_here():
    assert {"default", "no_docs", "no_review", *INTENDED} == set(shipped())
