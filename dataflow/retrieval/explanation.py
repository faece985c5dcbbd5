"""Why a passage is where it is, or is not there: computed only when it is asked for."""

from dataclasses import fields
from typing import Any

import polars as pl
from hamilton.function_modifiers import tag

from dataflow.retrieval.branches import from_each_corpus
from operators.context.templates import label_names
from operators.explain import dispositions as reasons
from operators.explain import steps
from operators.explain.explain_targets import find_targets
from operators.postgres.store import Home

_OF_ALL = [one.name for one in fields(reasons.Stages) if one.name not in ("merged", "deduped")]


@tag(stage="explanation", io="postgres")
@from_each_corpus(merged="merged")
def explain_targets(
    homes: dict[str, Home],
    embedder: Any,
    other_embedders: dict[str, Any],
    scoped_queries: pl.DataFrame,
    pooled_hits: pl.DataFrame,
    merged: dict[str, pl.DataFrame],
    corpora: dict[str, Any],
    explain_chunks: list[Any] | None = None,
) -> pl.DataFrame:
    """The chunks that a caller names for an explanation, found or not; none by default."""
    return find_targets(
        homes,
        {**other_embedders, "": embedder},
        scoped_queries,
        pooled_hits,
        merged,
        corpora,
        names=explain_chunks or (),
    )


@tag(stage="explanation")
@from_each_corpus(_OF_ALL, merged="merged", deduped="deduped")
def stages(
    frames: dict[str, pl.DataFrame],
    merged: dict[str, pl.DataFrame],
    deduped: dict[str, pl.DataFrame],
) -> reasons.Stages:
    """The frames of all stages, side by side."""
    each = {"merged": reasons.of_all(merged), "deduped": reasons.of_all(deduped)}
    return reasons.Stages(**frames, **each)


@tag(stage="explanation")
def dispositions(
    stages: reasons.Stages,
    corpora: dict[str, Any],
    packed_variant: str,
    top_k: int = 10,
    context_depth: int = 30,
    context_budget: int = 12_000,
    inert_markdown: bool = False,
) -> pl.DataFrame:
    """What became of every result and every named chunk: its places, its fate and the reason."""
    limits = reasons.Limits(
        search_depths={name: one["inputs"]["search_depth"] for name, one in corpora.items()},
        top_k=top_k,
        context_depth=context_depth,
        budget=context_budget,
        unit=packed_variant,
        label_names=label_names(corpora),
        inert_markdown=inert_markdown,
    )
    return reasons.dispositions(stages, limits)


@tag(stage="explanation")
def explain(
    stages: reasons.Stages,
    dispositions: pl.DataFrame,
    trigger_weights: pl.DataFrame,
    languages: dict[str, float],
    fused_variant: str,
    weighted_variant: str,
    reranked_variant: str,
    context_budget: int = 12_000,
) -> pl.DataFrame:
    """Every number behind every result and every named chunk, one a row."""
    return steps.explain(
        stages,
        dispositions,
        trigger_weights if weighted_variant != "off" else None,
        languages=languages,
        fused_by=f"fused__{fused_variant}",
        reranked=reranked_variant != "off",
        budget=context_budget,
    )
