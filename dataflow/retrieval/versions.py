"""Which versions of a topic are searched: the newest by default, else those the query names.

An explicit input (``versions``, ``as_of``) beats the query's text; the text beats the
configuration's ``version_policy``.
"""

from typing import Any, Literal

import polars as pl
from hamilton.function_modifiers import tag

from operators.frames import empty
from operators.postgres.search.known_versions import KNOWN_VERSIONS, known_in
from operators.postgres.store import Home
from operators.ranking.query_filters import visible_parts
from operators.versions import version_choice


@tag(stage="question", io="postgres", fail_open="none")
def known_versions(
    homes: dict[str, Home],
    queries: pl.DataFrame,
    intent: pl.DataFrame,
    understand_versions: bool = True,
) -> pl.DataFrame | None:
    """All versions of all topics; read only if a query may name one."""
    if not version_choice.may_ask(queries, intent, understand=understand_versions):
        return empty(KNOWN_VERSIONS)
    return known_in(homes)


@tag(stage="question", frame="VERSION_SCOPE")
def version_scope(
    queries: pl.DataFrame,
    intent: pl.DataFrame,
    known_versions: pl.DataFrame | None,
    corpora: dict[str, Any],
    version_policy: Literal["newest", "all", "pinned", "as_of"] = "newest",
    understand_versions: bool = True,
) -> pl.DataFrame:
    """The version policy of each query, the versions it pins, and notes for the reader."""
    return version_choice.version_scope(
        queries,
        intent,
        known_versions,
        default=version_policy,
        understand=understand_versions,
        corpora=visible_parts(corpora),
    )


@tag(stage="question", frame="SCOPED_QUERIES")
def scoped_queries(reduced_queries: pl.DataFrame, version_scope: pl.DataFrame) -> pl.DataFrame:
    """The queries with the versions that each may see."""
    return version_choice.scoped(reduced_queries, version_scope)
