"""How many chunks newer versions replace."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from operators.postgres.superseded_counts import SupersededCounts

DAY = datetime(2024, 5, 1, tzinfo=UTC)
KNOWN = SupersededCounts((DAY, DAY + timedelta(days=3)), (4, 9))


@pytest.mark.parametrize(
    ("moment", "chunks"),
    [
        (None, 9),
        (DAY - timedelta(seconds=1), 0),
        (DAY, 4),
        (DAY + timedelta(days=2), 4),
        (DAY + timedelta(days=3), 9),
    ],
)
def test_a_moment_has_what_was_replaced_by_the_end_of_the_days_before_it(
    moment: datetime | None, chunks: int
) -> None:
    assert KNOWN.by(moment) == chunks


def test_where_nothing_is_replaced_there_is_none_at_any_moment() -> None:
    assert (SupersededCounts().by(None), SupersededCounts().by(DAY)) == (0, 0)
