"""What-if: what another configuration gives, computed from an earlier run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflow.configuration.config_model import Config, load_config
from dataflow.configuration.loader import shipped
from dataflow.execution.memo import same
from dataflow.retrieval import corpus as corpus_nodes
from operators.errors import CrosscorpusError
from operators.postgres.search import chunk_reader

NOW = datetime(2025, 6, 1, tzinfo=UTC)
QUESTION = {"query": "why is the cache flushed twice?"}
CORPORA = ("code", "review", "wiki")
STAGES = [
    *(f"{corpus}.corpus_row" for corpus in CORPORA),
    *("merged", "chunks", "deduped", "unified", "aged_hits", "fused", "weighted", "reranked"),
    *("unique", "results", "packed"),
    *("context_window", "citations", "notes", "outcomes", "explain", "provenance"),
]


def experiments() -> st.SearchStrategy[str]:
    """What is shipped for the default's vectors, without a model that ranks again."""
    loaded = {name: load_config(name) for name in sorted(shipped())}
    vectors = loaded["default"].embedding
    rests = {n: one for n, one in loaded.items() if one.variants["reranked"] == "off"}
    return st.sampled_from([name for name, one in rests.items() if one.embedding == vectors])


# Few values each: a graph is built for each configuration, and what is built is kept.
SHARES = st.sampled_from([0.0, 0.3, 1.0])
CHANGES = st.one_of(
    st.deferred(experiments),  # each worker imports this file, and one loads what is shipped
    st.fixed_dictionaries({"top_k": st.sampled_from([0, 1, 8])}).map(lambda p: {"parameters": p}),
    SHARES.map(lambda w: {"corpus_defaults": {"parameters": {"vector_weight": w}}}),
    SHARES.map(lambda w: {"corpora": {"wiki": {"parameters": {"vector_weight": w}}}}),
    st.sampled_from([0.0, 0.5, 3.0]).map(
        lambda w: {"corpora": {"code": {"weights": {"pr_review": w}}}}
    ),
    st.just({"corpora": {"wiki": {"label": "{path}"}}}),
    st.just({"corpora": {"review": None}}),
    st.just({"corpora": {"review": {"filters": {"language": "python"}}}}),
)


def narrowed(change: str | dict[str, Any]) -> Config:
    """The default or an experiment over three corpora, with changes."""
    config = load_config(change if isinstance(change, str) else "default")
    gone: dict[str, Any] = {name: None for name in config.corpora if name not in CORPORA}
    config = config.with_changes({"corpora": gone})
    return config if isinstance(change, str) else config.with_changes(change)


@given(
    data=st.data(), first=CHANGES, second=CHANGES, trigger=st.sampled_from(["pr_review", "none"])
)
@settings(max_examples=12)
def test_every_stage_is_what_a_fresh_run_of_the_other_configuration_gives(
    driver_for: Any,
    make_world: Any,
    make_queries: Any,
    worlds: Any,
    data: st.DataObject,
    first: Any,
    second: Any,
    trigger: str,
) -> None:
    before, after = narrowed(first), narrowed(second)
    world = make_world(**data.draw(worlds))
    asked = make_queries(*sorted(world.found), trigger=trigger)
    overrides = {**world.overrides(*sorted(world.found)), "queries": asked}

    def known(config: Config, given_: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in given_.items() if k in driver_for(config).graph.nodes}

    def stages(config: Config) -> list[str]:
        return list(known(config, dict.fromkeys(STAGES)))

    trace = driver_for(before).trace(stages(before), {"now": NOW}, known(before, overrides))
    # what the first configuration has no corpus for was never given; a search would need a store
    missing = known(after, overrides).keys() - trace.overrides.keys()
    if missing:
        return
    found = driver_for(before).what_if(trace, after, final_vars=stages(after))
    fresh = driver_for(after).execute(stages(after), {"now": NOW}, known(after, overrides))
    for name in stages(after):
        mine, other = found[name], fresh[name]
        if name == "provenance":
            mine, other = ({k: v for k, v in p.items() if k != "timings"} for p in (mine, other))
        assert same(mine, other), name


def test_a_what_if_may_be_asked_what_if_in_turn_and_with_other_inputs(
    driver_for: Any, world: Any, make_queries: Any
) -> None:
    driver = driver_for(narrowed("default"))
    overrides = {**world.overrides(0), "queries": make_queries(0, trigger="pr_review")}
    trace = driver.trace(["results"], {"now": NOW, "top_k": 2}, overrides)
    off = driver.what_if(trace, {"variants": {"aged_hits": "off"}})
    back = driver.what_if(off, {"variants": {"aged_hits": "step"}}, inputs={"top_k": 4})
    assert (trace["results"].height, off["results"].height, back["results"].height) == (2, 2, 4)
    assert back["results"].head(2).equals(trace["results"])
    assert dict(back) == {"results": back["results"]}


@pytest.mark.parametrize(
    ("change", "searched"),
    [
        ({"corpus_defaults": {"parameters": {"vector_weight": 0.1}}}, 0),
        ({"corpora": {"wiki": {"filters": {"language": "python"}}}}, 2),
        ("plain_text_search", 3),
    ],
    ids=str,
)
def test_what_if_searches_only_what_is_searched_otherwise(
    open_driver, monkeypatch, change, searched
):
    asked = []

    def counted(what, works):
        def call(store, corpus, *rest, **options):
            asked.append((what, corpus))
            return works(store, corpus, *rest, **options)

        return call

    monkeypatch.setattr(chunk_reader, "fetch_chunks", counted("chunks", chunk_reader.fetch_chunks))
    monkeypatch.setattr(
        corpus_nodes, "search_vectors", counted("vector", corpus_nodes.search_vectors)
    )
    for name in ("bm25_search", "plain_search"):
        monkeypatch.setattr(corpus_nodes, name, counted("text", getattr(corpus_nodes, name)))
    config = load_config(change) if isinstance(change, str) else load_config().with_changes(change)
    wanted = ["results", "context_window", "citations", "notes", "fused"]
    inputs = {**QUESTION, "now": NOW}
    with open_driver() as driver:
        trace = driver.trace(wanted, inputs)
        assert len(asked) == 7  # two searches of three corpora, and the chunks of all
        asked.clear()
        found = driver.what_if(trace, change)
    assert len([1 for what, _ in asked if what != "chunks"]) == searched
    assert len(asked) <= searched + 1  # the chunks, where the lists differ
    with open_driver(config) as fresh:
        assert all(
            frame.equals(found[name]) for name, frame in fresh.execute(wanted, inputs).items()
        )


def test_what_if_keeps_the_model_and_says_so(driver):
    trace = driver.trace(["results"], QUESTION)
    with pytest.raises(CrosscorpusError, match="for 'static' build another driver"):
        driver.what_if(trace, {"embedding": "static"})
