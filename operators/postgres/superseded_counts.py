"""How many chunks of a corpus newer versions replace, for the planning of searches."""

from collections.abc import Sequence
from typing import Any

import psycopg


def count_superseded(conn: psycopg.Connection[Any], corpora: Sequence[str]) -> dict[str, int]:
    """The superseded chunks of each of ``corpora`` whose topics or changelogs have versions."""
    if not corpora:
        return {}
    rows = conn.execute(
        "SELECT corpus, count(*) FILTER (WHERE relation <> 'gone') FROM superseded_chunks"
        " WHERE corpus = ANY(%s) GROUP BY corpus",
        (list(corpora),),
    )
    counted = {str(corpus): int(chunks) for corpus, chunks in rows}
    releases = "SELECT DISTINCT corpus FROM releases WHERE corpus = ANY(%s)"
    return {corpus: 0 for (corpus,) in conn.execute(releases, (list(corpora),))} | counted
