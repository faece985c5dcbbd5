from __future__ import annotations

import polars as pl

from operators import frames
from operators.explain.dispositions import Run
from operators.explain.steps import explain


def test_what_no_stage_reached_has_no_numbers() -> None:
    fused = frames.empty(frames.FUSED)
    run = Run(
        queries=frames.empty(frames.QUERIES),
        outcomes=frames.empty(frames.OUTCOMES),
        merged=frames.empty(frames.MERGED).with_columns(corpus=pl.lit("")),
        deduped=frames.empty(frames.DEDUPED).with_columns(corpus=pl.lit("")),
        pooled_hits=frames.empty(frames.UNIFIED),
        fused=fused,
        weighted=fused,
        reranked=fused,
        version_order=fused,
        phrase_order=fused,
        unique=fused,
        results=fused,
        context_candidates=fused,
        packed=frames.empty(frames.PACKED),
        citations=frames.empty(frames.CITATIONS),
        explain_targets=frames.empty(frames.EXPLAIN_TARGETS),
    )
    found = explain(
        run,
        frames.empty(frames.DISPOSITIONS),
        None,
        fused_by="fused__rrf",
        reranked=False,
        budget=12_000,
    )
    frames.check(found, frames.EXPLAIN, "explain")
    assert found.is_empty()
