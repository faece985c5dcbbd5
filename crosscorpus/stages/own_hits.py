"""Nodes in the place of those that read a store: the hits come from searches of somebody's own."""

from typing import Any

import polars as pl
from hamilton.function_modifiers import tag

from crosscorpus.lists import as_frame
from operators.frames import NOTES, empty
from operators.versions import version_choice


@tag(stage="fusion", frame="UNIFIED")
def pooled_hits(found: dict[str, list[dict[str, Any]]]) -> pl.DataFrame:
    """The hits of every search, by the search's name, each list best first."""
    return as_frame(found)


@tag(stage="question", frame="VERSION_SCOPE")
def version_scope(queries: pl.DataFrame) -> pl.DataFrame:
    """The newest version of each topic answers."""
    return version_choice.version_scope(queries, None, default="newest", understand=False)


@tag(stage="context", frame="NOTES")
def context_notes() -> pl.DataFrame:
    """No notes: nobody knows what the searches did not find."""
    return empty(NOTES)
