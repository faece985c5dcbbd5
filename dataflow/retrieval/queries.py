"""From the caller's query to the query texts, vectors and weights of the searches.

One query is a batch of one. Override ``queries`` with a frame of many rows to run a batch.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import polars as pl
from hamilton.function_modifiers import config, tag

from operators.context.long_texts import reduced
from operators.embedding.query_vectors import with_vectors
from operators.question.ask import LONGEST_TEXT, ask, query_texts
from operators.question.intent import intent as read_intent
from operators.ranking import weighting


@tag(stage="question")
def question_filters(
    repos: list[str] | None = None,
    path_prefix: str | None = None,
    language: str | None = None,
    state: str | None = None,
    pattern: str | None = None,
    symbol: str | None = None,
    uses: str | None = None,
    author: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    as_of: datetime | None = None,
    only_corpora: list[str] | None = None,
) -> dict[str, Any]:
    """The caller's filters, by name."""
    return {
        **{"repos": repos, "path_prefix": path_prefix, "language": language, "state": state},
        **{"pattern": pattern, "symbol": symbol, "uses": uses, "author": author},
        **{"since": since, "until": until, "as_of": as_of, "corpora": only_corpora},
    }


@tag(stage="question")
def queries(
    query: str | list[str],
    triggers: list[str],
    question_filters: dict[str, Any],
    trigger: str | Mapping[str, float] | None = None,
    versions: str | list[str] | None = None,
    max_query_characters: int = LONGEST_TEXT,
) -> pl.DataFrame:
    """The queries with their filters and triggers, one row per query."""
    return ask(
        query,
        trigger=trigger,
        known_triggers=triggers,
        versions=versions,
        longest=max_query_characters,
        **question_filters,
    )


@tag(stage="question", frame="QUERIES")
@config.when(reduced_queries_variant="long")
def reduced_queries__long(queries: pl.DataFrame) -> pl.DataFrame:
    """The queries; long texts are reduced to their prose, names and last stack frames."""
    return reduced(queries)


@tag(stage="question", frame="QUERIES")
@config.when(reduced_queries_variant="off")
def reduced_queries__off(queries: pl.DataFrame) -> pl.DataFrame:
    """The queries unchanged."""
    return queries


@tag(stage="question", frame="INTENT")
def intent(
    queries: pl.DataFrame, reduced_queries: pl.DataFrame, now: datetime | None = None
) -> pl.DataFrame:
    """What each query asks for: names, phrases, places, versions, dates, why, who uses it."""
    return read_intent(queries, reduced_queries, now)


@tag(stage="question", frame="TRIGGER_WEIGHTS")
def trigger_weights(
    queries: pl.DataFrame,
    intent: pl.DataFrame,
    source_weights: dict[str, dict[str, float]],
    reason_corpora: Sequence[str] = ("history",),
) -> pl.DataFrame:
    """The weight of each corpus for the query's trigger; for a "why" query, commits count fully."""
    return weighting.trigger_weights(queries, intent, source_weights, reason_corpora=reason_corpora)


@tag(stage="question", io="embedding", frame="QUERY_EMBEDDINGS")
def query_embeddings(reduced_queries: pl.DataFrame, embedder: Any) -> pl.DataFrame:
    """The vector of each query text."""
    return with_vectors(query_texts(reduced_queries), embedder)


@tag(stage="question", io="embedding")
def other_embeddings(
    reduced_queries: pl.DataFrame, other_embedders: dict[str, Any]
) -> dict[str, pl.DataFrame]:
    """The vectors of each query text in the other vector spaces of the corpora, by space."""
    texts = query_texts(reduced_queries)
    return {space: with_vectors(texts, model) for space, model in other_embedders.items()}
