"""Nodes in the place of those that read a store: the hits come from searches of somebody's own."""

from typing import Any

import polars as pl
from hamilton.function_modifiers import tag

from crosscorpus.lists import as_frame, as_labels
from operators.dedup.similarity_index import SimilarityIndex, index_similarity
from operators.frames import NOTES, empty
from operators.versions import version_choice


@tag(stage="score", frame="UNIFIED")
def unified(found: dict[str, list[dict[str, Any]]]) -> pl.DataFrame:
    """The hits of every search, by the search's name, each list best first."""
    return as_frame(found)


@tag(stage="order", frame="LABELS")
def labels(found: dict[str, list[dict[str, Any]]]) -> pl.DataFrame:
    """The label and the link of each hit, as the searches give them."""
    return as_labels(found)


@tag(stage="score")
def similarity_index(unified: pl.DataFrame) -> SimilarityIndex:
    """Texts and token sets of the hits."""
    return index_similarity(unified)


@tag(stage="question", frame="VERSION_SCOPE")
def version_scope(queries: pl.DataFrame, intent: pl.DataFrame) -> pl.DataFrame:
    """The newest version of each topic answers."""
    return version_choice.version_scope(queries, intent, None, default="newest", understand=False)


@tag(stage="context", frame="NOTES")
def context_notes() -> pl.DataFrame:
    """No notes: nobody knows what the searches did not find."""
    return empty(NOTES)
