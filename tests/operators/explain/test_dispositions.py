from __future__ import annotations

from dataclasses import replace

import polars as pl

from operators import frames
from operators.dedup import across
from operators.explain.dispositions import (
    Limits,
    Run,
    dispositions,
)

LIMITS = Limits({"code": 50}, top_k=10, context_depth=30, budget=12_000, unit="characters")


def run(explain_targets: pl.DataFrame) -> Run:
    nothing = frames.empty(frames.FUSED)
    return Run(
        queries=frames.empty(frames.QUERIES),
        outcomes=frames.empty(frames.OUTCOMES),
        of_corpora={
            "merged": frames.empty(frames.MERGED),
            "deduped": frames.empty(frames.DEDUPED),
        },
        pooled=frames.empty(frames.UNIFIED),
        packed=frames.empty(frames.PACKED),
        citations=frames.empty(frames.CITATIONS),
        explain_targets=explain_targets,
        lists=dict.fromkeys(("fused", "weighted", "unique", "results"), nothing),
        passages=nothing.with_columns(parts=pl.lit([], pl.List(pl.Int64))),
    )


def test_a_passage_of_a_change_says_which_place_stands_for_it() -> None:
    shared = {"query_id": 0, "repo": "org/app", "start_line": 1, "score": 0.5}
    rows = [
        {"corpus": "history", "document_id": "1c9a", "text": "Take less (#1)", "chunk_id": 7},
        {"corpus": "review", "document_id": "pull/1", "text": "@ann: Why.", "chunk_id": 8},
    ]
    labelled = {"alternate_sources": [], "source_label": "[history: 1c9a Take less]"}
    hits = pl.DataFrame(
        [{**shared, **labelled, **row, "rank": n} for n, row in enumerate(rows)], frames.FUSED
    )
    named = pl.DataFrame(
        [{name: {**shared, **rows[1]}.get(name) for name in frames.EXPLAIN_TARGETS}],
        schema=frames.EXPLAIN_TARGETS,
    )
    unique = across.jaccard(hits)
    nothing = hits.clear()
    lists = {"fused": hits, "weighted": hits, "unique": unique, "results": nothing}
    given = replace(run(named), lists=lists)
    (found,) = dispositions(given, LIMITS).to_dicts()
    assert (found["disposition"], found["near_duplicate_of"]) == ("near_duplicate_across", 7)
    assert found["reason"] == (
        "it is of one change with [history: 1c9a Take less], which is better placed"
    )
