"""Names that are called otherwise since version 0.2.0, each with the name that it has now.

A file, a call or a command that still uses an old name gets that name's successor in one line. The
nearest name that exists would often be another thing: ``score`` is no ``source``. An old name that
the graph at hand has is none: only what is unknown is looked up here.
"""

from collections.abc import Mapping

PARAMETERS = {
    "absent_share": "missing_score_fraction",
    "candidates": "search_depth",
    "exact_below": "exact_scan_max_rows",
    "full_text_words": "full_weight_terms",
    "gone_weight": "superseded_weight",
    "own_scale": "corpus_normalization",
}

STAGES = {"recency": "aged_hits"}
"""Stages that have variants."""

VARIANTS = {"fused": {"score": "comb_sum"}, "merged": {"minmax": "convex"}}
"""By the name of their stage."""

NODES = {
    **STAGES,
    "arranged": "context_order",
    "corpus_hits": "pooled_hits",
    "counts": "stage_counts",
    "fusion_components": "fused",
    "fusion_parts": "fused",
    "gone_factor": "superseded_factor",
    "merge_components": "merged",
    "merge_parts": "merged",
    "searches": "search_outcomes",
    "signatures": "similarity_index",
    "sought": "explain_targets",
    "text_confidence": "lexical_weight",
    "token_sets": "token_index",
    "verdicts": "dispositions",
}

COLUMNS = {
    "gone_since": "superseded_at",
    "only_up_to": "last_version",
    "rrf_score": "corpus_score",
    "text_confidence": "lexical_weight",
}

TEMPLATE_FIELDS = {name: COLUMNS[name] for name in ("gone_since", "only_up_to")}
"""In ``label`` and ``link``."""

EXPERIMENTS = {
    "absent_share": "missing_score_fraction",
    "candidates_10": "search_depth_10",
    "candidates_200": "search_depth_200",
    "own_scale": "corpus_normalization",
    "score_fusion": "comb_sum",
}
"""Shipped configurations."""

IN_A_FILE = "; `crosscorpus config upgrade FILE` rewrites a file"


def new_name(name: str, renames: Mapping[str, str]) -> str | None:
    """The name that ``name`` has now; None: it was never renamed. A corpus in front stays.

    >>> new_name("wiki.counts", NODES), new_name("results", NODES)
    ('wiki.stage_counts', None)
    """
    corpus, dot, own = name.rpartition(".")
    return f"{corpus}{dot}{renames[own]}" if own in renames else None


def renamed(name: str, renames: Mapping[str, str]) -> str | None:
    """What to say to somebody who uses ``name``; None: it was never renamed.

    >>> renamed("candidates", PARAMETERS)
    "'candidates' is called 'search_depth' now"
    """
    new = new_name(name, renames)
    return None if new is None else f"{name!r} is called {new!r} now"
