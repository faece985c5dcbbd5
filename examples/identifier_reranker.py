"""A reranker of one's own: passages that have the question's identifiers come first.

Who writes ``ctx.exit`` or ``max_size`` means that very name. BM25 counts the name among other words
and an embedding model has never seen it, so a passage about the same subject may come before the
one that has the name.
"""

import re

import polars as pl

from operators.foundation.tokenizer import is_name, words
from operators.ranking import total_order

_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w+)*")


def reranked__identifiers(
    ranked: pl.DataFrame, queries: pl.DataFrame, identifier_boost: float = 0.3
) -> pl.DataFrame:
    """The list with each score times 1 + ``identifier_boost`` times the share of names found."""
    rows = queries.select("query_id", pl.col("texts").list.join("\n")).iter_rows()
    named = {query_id: _identifiers(text) for query_id, text in rows}
    factor = [
        1 + identifier_boost * _share(named[query_id], f"{document} {text or ''}")
        for query_id, document, text in ranked["query_id", "document_id", "text"].iter_rows()
    ]
    return total_order.ranked(ranked, ranked["score"] * pl.Series(factor, dtype=pl.Float64))


def _identifiers(text: str) -> list[set[str]]:
    """The snake_case, CamelCase and dotted names of a text, each as its words."""
    return [set(words(one)) for one in _DOTTED.findall(text) if "." in one or is_name(one)]


def _share(identifiers: list[set[str]], text: str) -> float:
    """The share of the identifiers whose words a text has, as it writes them; 0 for none."""
    said = set(words(text)) if identifiers else set()
    return sum(one <= said for one in identifiers) / max(len(identifiers), 1)
