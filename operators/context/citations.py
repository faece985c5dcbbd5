"""What was used, as Markdown that links to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from operators.arrays.rows import take
from operators.frames import CITATIONS, frame_of

MOST_ALTERNATES = 5


def cite(packed: pl.DataFrame, *, max_citations: int = 8) -> pl.DataFrame:
    """``CITATIONS``: one row for each of the first ``max_citations`` sources of a context.

    A citation is ``[wiki: Title](url)``, plain text where there is no safe link, and says where
    copies were found: ``(also found in [review: PR #456](...))``.

    Args:
        packed: columns ``PACKED``; so that only what is in the context is cited.
        max_citations: of each query.
    """
    place = packed["number"].to_numpy()  # NaN for the notes
    cited = take(packed, np.flatnonzero(place <= max_citations))
    names = ("source_label", "source_url", "alternate_sources")
    said = [
        citation(label, url, others or ())
        for label, url, others in zip(*(cited[name].to_list() for name in names), strict=True)
    ]
    citations = pl.Series("citation", said, dtype=pl.String)
    return frame_of([*cited.get_columns(), citations], CITATIONS)


def citation(label: str, url: str | None, alternates: Sequence[dict[str, Any]]) -> str:
    """One source and where its copies are, as Markdown; each place is named once.

    >>> citation("[wiki: Home]", "https://example.org/Home", [])
    '[wiki: Home](https://example.org/Home)'
    """
    own = link(label, url)
    others = dict.fromkeys(link(one["source_label"], one["source_url"]) for one in alternates)
    others.pop(own, None)
    if not others:
        return own
    named = list(others)[:MOST_ALTERNATES]
    more = len(others) - len(named)
    rest = f" and {more} more" if more else ""
    return f"{own} (also found in {', '.join(named)}{rest})"


def link(label: str, url: str | None) -> str:
    """``label``, which has its brackets, as a Markdown link; as it is where there is no ``url``."""
    return f"{label}({url})" if url else label
