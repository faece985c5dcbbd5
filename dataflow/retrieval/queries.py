"""From what a caller asks to what the corpora can search with.

One question is a batch of one. Overriding ``queries`` with a frame of many rows runs a batch.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import polars as pl
from hamilton.function_modifiers import config, tag

from operators.context.long_texts import reduced
from operators.context.question import LONGEST_TEXT, ask, query_texts
from operators.embedding.query_vectors import with_vectors
from operators.ranking import weighting
from operators.ranking.lexical_weight import lexical_weights


@tag(stage="question")
def question_filters(
    repos: list[str] | None = None,
    path_prefix: str | None = None,
    language: str | None = None,
    state: str | None = None,
    pattern: str | None = None,
    symbol: str | None = None,
    as_of: datetime | None = None,
    only_corpora: list[str] | None = None,
    versions: str | list[str] | None = None,
) -> dict[str, Any]:
    """What the caller asks to see of the corpora, by name."""
    return {
        **{"repos": repos, "path_prefix": path_prefix, "language": language, "state": state},
        **{"pattern": pattern, "symbol": symbol, "as_of": as_of},
        **{"corpora": only_corpora, "versions": versions},
    }


@tag(stage="question")
def queries(
    query: str | list[str],
    triggers: list[str],
    question_filters: dict[str, Any],
    trigger: str | Mapping[str, float] | None = None,
    max_query_characters: int = LONGEST_TEXT,
) -> pl.DataFrame:
    """The questions with their filters and triggers, one row a question."""
    return ask(
        query,
        trigger=trigger,
        known_triggers=triggers,
        longest=max_query_characters,
        **question_filters,
    )


@tag(stage="question", frame="QUERIES")
@config.when(reduced_queries_variant="long")
def reduced_queries__long(queries: pl.DataFrame) -> pl.DataFrame:
    """The questions with what is searched of long texts: prose, names and the last frames."""
    return reduced(queries)


@tag(stage="question", frame="QUERIES")
@config.when(reduced_queries_variant="off")
def reduced_queries__off(queries: pl.DataFrame) -> pl.DataFrame:
    """The questions as they are."""
    return queries


@tag(stage="question", frame="TRIGGER_WEIGHTS")
def trigger_weights(
    queries: pl.DataFrame,
    source_weights: dict[str, dict[str, float]],
    reason_corpora: Sequence[str] = ("history",),
) -> pl.DataFrame:
    """The weight of each corpus for the trigger of the question; asked why, commits count fully."""
    return weighting.trigger_weights(queries, source_weights, of_reasons=reason_corpora)


@tag(stage="question", frame="LEXICAL_WEIGHT")
def lexical_prior(reduced_queries: pl.DataFrame, full_weight_terms: int = 8) -> pl.DataFrame:
    """How much the words of each question count, by its wording alone."""
    return lexical_weights(reduced_queries, full_weight_terms=full_weight_terms)


@tag(stage="question", io="embedding", frame="QUERY_EMBEDDINGS")
def query_embeddings(reduced_queries: pl.DataFrame, embedder: Any) -> pl.DataFrame:
    """The vector of every query text."""
    return with_vectors(query_texts(reduced_queries), embedder)


@tag(stage="question", io="embedding")
def other_embeddings(
    reduced_queries: pl.DataFrame, other_embedders: dict[str, Any]
) -> dict[str, pl.DataFrame]:
    """The vector of every query text in each other space that a corpus has, by the space."""
    texts = query_texts(reduced_queries)
    return {space: with_vectors(texts, model) for space, model in other_embedders.items()}
