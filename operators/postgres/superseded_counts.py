"""How many chunks of a corpus newer versions replace, for the planning of searches.

The counts are by day, so that the number at a past time is known without reading the chunks.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any

import psycopg


@dataclass(frozen=True, eq=False)
class SupersededCounts:
    """The number of chunks of a corpus that newer versions replace."""

    days: tuple[datetime, ...] = ()  # ends of the days on which newer versions appeared, ascending
    counts: tuple[int, ...] = ()  # how many chunks were replaced by the end of each day

    def by(self, moment: datetime | None) -> int:
        """A lower bound of the number at ``moment``; None: the current number."""
        days = len(self.days) if moment is None else bisect_right(self.days, moment)
        return self.counts[days - 1] if days else 0


def count_superseded(
    conn: psycopg.Connection[Any], corpora: Sequence[str]
) -> dict[str, SupersededCounts]:
    """The superseded chunks of each of ``corpora`` whose topics or changelogs have versions.

    A chunk with an unknown time counts as superseded from the beginning.
    """
    if not corpora:
        return {}
    counted: dict[str, list[tuple[datetime, int]]] = {}
    for corpus, day, chunks in conn.execute(
        "SELECT corpus, coalesce(date_trunc('day', superseded_at, 'UTC'), '0001-01-01Z')"
        " + interval '1 day' AS day, count(*) FILTER (WHERE relation <> 'gone')"
        " FROM superseded_chunks WHERE corpus = ANY(%s) GROUP BY corpus, day ORDER BY corpus, day",
        (list(corpora),),
    ):
        counted.setdefault(corpus, []).append((day, chunks))
    releases = "SELECT DISTINCT corpus FROM releases WHERE corpus = ANY(%s)"
    for (corpus,) in conn.execute(releases, (list(corpora),)):
        counted.setdefault(corpus, [])
    return {
        corpus: SupersededCounts(
            tuple(day for day, _ in days), tuple(accumulate(chunks for _, chunks in days))
        )
        for corpus, days in counted.items()
    }
