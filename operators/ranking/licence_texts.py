"""The factor for licence texts: a page of law has words of every question and answers hardly any.

``LICENSE`` of the Apache Software Foundation has "add", "own", "source", "work" and "use" in its
sentences, and ranks above the page that says how to add a source of one's own.
"""

import re

import numpy as np
import polars as pl

from operators.arrays.segments import Floats
from operators.foundation.short_cache import cached_if_short

_LICENCE = re.compile(
    r"(?:^|/)(?:licen[cs]es/(?:[^/.]+|[^/]*\d|[^/]*(?=\.(?:txt|md|rst|html)$))"
    r"|(?:un|mit-|apache-|bsd-)?licen[cs]e|copying|copyright|notice|patents)"
    r"(?:[-.](?:mit|apache|[al]?gpl|lesser|bsd|mpl|isc|cc|zlib)[\w.-]*?)?"
    r"(?:\.(?:txt|md|rst|html))?$",
    re.IGNORECASE,
)
_ABOUT_ONE = re.compile(
    r"li[cz]en[cçsz]|copyright|patent|copying|warrant|trademark|redistribut|commercial"
    r"|\b[AL]?GPL|\b(?:(?-i:MIT)|BSD|MPL|Apache.2)\b",
    re.IGNORECASE,
)


def licence_factor(hits: pl.DataFrame, queries: pl.DataFrame, *, weight: float) -> Floats:
    """``weight`` for a hit in a licence, unless its query is about licences, else 1.

    Args:
        hits: columns query_id and path.
        queries: columns query_id and texts.

    >>> queries = pl.DataFrame({"query_id": [0, 1], "texts": [["How to add one?"], ["License?"]]})
    >>> hits = pl.DataFrame({"query_id": [0, 0, 1], "path": ["LICENSE", "docs/add.md", "LICENSE"]})
    >>> licence_factor(hits, queries, weight=0.5).tolist()
    [0.5, 1.0, 1.0]
    """
    factor = np.ones(hits.height)
    rows = [row for row, path in enumerate(hits["path"]) if path and _is_licence(path)]
    if rows:
        texts = dict(queries["query_id", "texts"].iter_rows())
        asked = hits["query_id"].to_list()
        for row in rows:
            if not any(_ABOUT_ONE.search(text) for text in texts.get(asked[row]) or ()):
                factor[row] = weight
    return factor


@cached_if_short(65_536)
def _is_licence(path: str) -> bool:
    return _LICENCE.search(path) is not None
