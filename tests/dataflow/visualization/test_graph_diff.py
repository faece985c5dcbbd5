"""Differences between two configurations, inside sub-graphs too."""

import json

from dataflow.visualization.graph_diff import Change, diff, to_diff_dot, to_text
from dataflow.visualization.render import describe_config
from operators.report.graphs import ADDED, CHANGED


def defaults(**variants):
    return {"variants": {"text_search": "bm25", "merged": "convex"} | variants}


def test_the_same_configuration_differs_in_nothing(small, catalog):
    found = diff(small(), small(), catalog)
    assert not found
    assert to_text(found) == "no difference\n"


def test_a_variant_is_seen_in_each_corpus_where_it_takes_effect(small, catalog):
    found = diff(small(), small(corpus_defaults=defaults(merged="vector_only")), catalog)
    assert found.implementations == [
        Change("code.merged", "small_corpus.merged__convex", "small_corpus.merged__vector_only")
    ]
    assert ("code.text_lists", "code.merged") in found.edges_removed
    assert found.removed == ["code.text_lists"]


def test_a_parameter_is_seen_at_the_nodes_that_read_it(small, catalog):
    changed = small(
        corpora={
            "code": {"weights": {"pr_review": 1.2}, "parameters": {"search_depth": 9}},
            "wiki": {"variants": {"merged": "rrf"}},
        }
    )
    found = diff(small(), changed, catalog)
    assert found.parameters == [
        Change("code.unified.search_depth", 50, 9),
        Change("code.vector_search.search_depth", 50, 9),
    ]


def test_a_new_corpus_adds_its_nodes_and_a_removed_one_takes_them_away(small, catalog, content):
    more = small(corpora={**content["corpora"], "docs": {}})
    assert "docs.merged" in diff(small(), more, catalog).added
    assert "docs.merged" in diff(more, small(), catalog).removed
    assert ("docs", "fused") in diff(small(), more, catalog).edges_added


def test_settings_that_no_node_shows_are_compared(small, catalog):
    found = diff(small(), small(workers=3, on_corpus_error="raise"), catalog)
    assert found.settings == [Change("on_corpus_error", "skip", "raise"), Change("workers", 8, 3)]


def test_a_weight_is_seen_where_it_is_read(small, catalog):
    changed = small(
        corpora={"code": {"weights": {"pr_review": 2.0}}, "wiki": {"variants": {"merged": "rrf"}}}
    )
    found = diff(small(), changed, catalog)
    assert [c.where for c in found.parameters] == ["provenance.source_weights"]


def test_text_and_json_say_the_same(small, catalog):
    found = diff(small(), small(corpus_defaults=defaults(merged="rrf"), workers=2), catalog)
    text = to_text(found)
    assert "~ code.merged: small_corpus.merged__convex -> small_corpus.merged__rrf" in text
    assert "~ workers: 8 -> 2" in text
    assert json.loads(json.dumps(found.to_json()))["settings"] == [
        {"where": "workers", "before": 8, "after": 2}
    ]


def test_text_says_once_what_is_the_same_in_every_corpus(small, catalog):
    both = small(corpora={"code": {}, "wiki": {}})
    changed = small(corpora={"code": {}, "wiki": {}}, corpus_defaults=defaults(merged="rrf"))
    text = to_text(diff(both, changed, catalog))
    assert "  ~ *.merged: small_corpus.merged__convex -> small_corpus.merged__rrf\n" in text
    assert "code." not in text


def test_the_picture_of_a_difference_colours_what_changed(small, catalog, content):
    more = small(corpora={**content["corpora"], "docs": {}}, variants={"fused": "comb_sum"})
    dot = to_diff_dot(describe_config(small(), catalog), describe_config(more, catalog))
    (docs,) = [line for line in dot.splitlines() if line.strip().startswith('"docs.merged" [')]
    assert f'fillcolor="{ADDED}"' in docs
    assert f'fillcolor="{CHANGED}"' in dot
