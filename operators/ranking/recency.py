"""The factor for a chunk's age."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from operators.arrays.segments import Floats, Integers, positions

DAY_US = 86_400_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_DATE = np.iinfo(np.int64).min  # the value that numpy never uses for a time


def step(age_us: Integers, *, days: float = 30, boost: float = 1.15) -> Floats:
    """``boost`` where 0 <= age <= ``days``, both ends included, else 1.

    ``age_us`` is in microseconds, as :func:`ages` gives it; 0 days mean today: less than a day.
    """
    last = round(days * DAY_US) if days else DAY_US - 1
    recent = (age_us >= 0) & (age_us <= last)
    return np.where(recent, boost, 1.0)


def ages(hits: pl.DataFrame, queries: pl.DataFrame, now: datetime | None) -> Integers:
    """The age of each row of ``hits`` (query_id, created_at) in microseconds.

    The clock is ``now``; without it, the query's own ``as_of``; without both, the present. A naive
    ``now`` is UTC. An unknown date gives the lowest integer, so that no rule takes it for recent.
    """
    created = _microseconds(hits["created_at"])
    moment = now or datetime.now(UTC)
    since = moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH
    clock: int | Integers = since // timedelta(microseconds=1)
    if now is None and queries["as_of"].null_count() < queries.height:
        as_of = _microseconds(queries["as_of"])
        moments = np.append(np.where(as_of == NO_DATE, clock, as_of), clock)
        clock = moments[positions(queries["query_id"].to_numpy(), hits["query_id"].to_numpy())]
    known = created != NO_DATE
    return np.where(known, clock - np.where(known, created, 0), NO_DATE)


def _microseconds(times: pl.Series) -> Integers:
    return times.to_numpy().astype("datetime64[us]").view(np.int64)
