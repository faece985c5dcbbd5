"""The sources of a context, as Markdown links."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from operators.errors import first_of
from operators.foundation.escape import markdown_text
from operators.frames import CITATIONS, frame_of

MOST_ALTERNATES = 5


def cite(packed: pl.DataFrame) -> pl.DataFrame:
    """``CITATIONS``: one row for each passage of a context, none for anything outside of it.

    A citation is ``[wiki: Title](url)``, or plain text if there is no safe link. It names the
    sources of near-duplicates: ``(also found in [review: PR #456](...))``.

    Args:
        packed: columns ``PACKED``; the notes have no number and no citation.
    """
    cited = packed.drop_nulls("number")
    names = ("source_label", "source_url", "alternate_sources")
    links = [
        citation(label, url, others or ())
        for label, url, others in zip(*(cited[name].to_list() for name in names), strict=True)
    ]
    citations = pl.Series("citation", links, dtype=pl.String)
    return frame_of([*cited.get_columns(), citations], CITATIONS)


def citation(label: str, url: str | None, alternates: Sequence[dict[str, Any]]) -> str:
    """One source and the sources of its near-duplicates, as Markdown; each source once.

    >>> citation("[wiki: Home]", "https://example.org/Home", [])
    '[wiki: Home](https://example.org/Home)'
    """
    own = link(label, url)
    others = dict.fromkeys(link(one["source_label"], one["source_url"]) for one in alternates)
    others.pop(own, None)
    if not others:
        return own
    return f"{own} (also found in {first_of(list(others), MOST_ALTERNATES)})"


def link(label: str, url: str | None) -> str:
    """``label``, in brackets, as a Markdown link; without a ``url`` as escaped Markdown text."""
    shown = f"[{markdown_text(label[1:-1])}]"
    return f"{shown}({url})" if url else shown
