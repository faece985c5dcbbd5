"""What the numbers of a configuration may be: outside of it a search fails late, or misleads.

A number without an entry may be any that is finite.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple


class Bounds(NamedTuple):
    """Each of the two ends, if there is one, and whether the lower belongs to it."""

    least: float
    most: float = math.inf
    above: bool = False


_COUNT = Bounds(0)
_SHARE = Bounds(0, 1)
_THRESHOLD = Bounds(0, 1, above=True)
_POSITIVE = Bounds(0, above=True)

BOUNDS = {
    "missing_score_fraction": _SHARE,
    "candidate_cap": Bounds(1),
    "search_depth": _COUNT,
    "context_budget": _COUNT,
    "cosine_threshold": _THRESHOLD,
    "ef_search": Bounds(1),
    "exact_scan_max_rows": _COUNT,
    "full_weight_terms": _COUNT,
    "superseded_weight": _COUNT,
    "jaccard_threshold": _THRESHOLD,
    "max_citations": _COUNT,
    "max_query_characters": Bounds(1),
    "corpus_normalization": _SHARE,
    "recency_boost": _COUNT,
    "recency_days": _POSITIVE,
    "rerank_depth": _COUNT,
    "rrf_k": _POSITIVE,
    "top_k": _COUNT,
    "vector_weight": _SHARE,
}


def out_of_bounds(name: str, value: Any) -> str | None:
    """What was expected of the parameter ``name`` instead of ``value``; None if that is well.

    >>> out_of_bounds("vector_weight", 7), out_of_bounds("rrf_k", 0), out_of_bounds("top_k", 0)
    ('expected from 0 to 1, got 7', 'expected above 0, got 0', None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value):
        return f"expected a finite number, got {value}"
    least, most, above = BOUNDS.get(name, Bounds(-math.inf))
    if (least < value if above else least <= value) and value <= most:
        return None
    if math.isinf(most):
        wanted = f"above {least:g}" if above else f"{least:g} or more"
    else:
        wanted = f"above {least:g} and at most {most:g}" if above else f"from {least:g} to {most:g}"
    return f"expected {wanted}, got {value}"
