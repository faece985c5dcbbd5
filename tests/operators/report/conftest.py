from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from operators import frames

# If any of it acts, the page's root element says so.
MARK = "document.documentElement.dataset.acted=1"
HOSTILE = (
    f"</script><script>{MARK}</script><img src=x onerror={MARK}>"
    f'<a href="https://evil.example/">\'"`${{1}}</style></title>\u202e\u200b &amp; <!--'
)


@pytest.fixture(scope="session")
def hostile() -> str:
    return HOSTILE


@pytest.fixture
def explained() -> Callable[[str], dict[str, Any]]:
    """What a run gives for its explanation, with a word wherever a text may stand.

    A result with a copy, one below the results, and one that nothing found.
    """

    def make(word: str) -> dict[str, Any]:
        copy = {"chunk_id": 9, "corpus": "code", "source_label": f"[code: {word}]"}
        plain = {"query_id": 4, "corpus": "wiki", "near_duplicates": []}
        rows = [
            {"chunk_id": 1, "disposition": "context", "score": 0.75, "result_rank": 0, "number": 1}
            | {"near_duplicates": [{**copy, "source_url": "https://example.org/copy"}]},
            {"chunk_id": 2, "disposition": "below_top_k", "score": 0.25},
            {"chunk_id": 3, "disposition": "not_found"},
        ]
        places: list[dict[str, int]] = [
            {"vector": 0, "fused": 0, "unique": 0, "results": 0},
            {"vector": 40, "fused": 40, "unique": 70},
            {},
        ]
        dispositions = [
            {**plain, "source_label": f"[wiki: {row['chunk_id']} {word}]", "reason": f"r {word}"}
            | {"source_url": "https://example.org/page"}
            | {"ranks": [{"list": name, "rank": rank} for name, rank in ranks.items()]}
            | row
            for ranks, row in zip(places, rows, strict=True)
        ]
        told = [
            (chunk, stage, quantity, value, rank)
            for chunk, score in ((1, 0.75), (2, 0.25))
            for stage, quantity, value, rank in (
                ("fused", "part", 0.5, 0),
                ("fused", "recency", 1.0, None),
                ("fused", "score", 0.5, 0),
                ("weighted", "weight", score / 0.5, None),
                ("weighted", "score", score, 0),
            )
        ]
        explain = [
            {"query_id": 4, "chunk_id": c, "stage": s, "quantity": q, "value": v, "rank": r}
            | {"detail": word}
            for c, s, q, v, r in told
        ]
        question = {"query_id": 4, "texts": [f"why {word}?", word], "trigger": []}
        result = {"query_id": 4, "chunk_id": 1, "text": word * 900, "alternate_sources": []}
        return {
            "queries": pl.DataFrame([question], schema=frames.QUERIES),
            "results": pl.DataFrame([result], schema=frames.SHOWN),
            "explain": pl.DataFrame(explain, schema=frames.EXPLAIN),
            "dispositions": pl.DataFrame(dispositions, schema=frames.DISPOSITIONS),
            "provenance": {
                "degraded": [word],
                "model": word,
                "variants": {"fused": word, "corpora": {"wiki": {"merged_variant": word}}},
                "parameters": {"top_k": 1, "corpora": {}},
            },
        }

    return make
