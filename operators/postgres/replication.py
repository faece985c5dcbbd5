"""The lag of a replica behind its primary: answers must say that recent ingestions may be missing.

Queries go to the server at ``CROSSCORPUS_READ_DSN``, which may be a hot standby.
"""

from collections.abc import Mapping

import polars as pl

from operators.errors import plain_text
from operators.frames import NOTES
from operators.postgres.errors import DatabaseError
from operators.postgres.store import Home, Store

LATE_S = 60.0  # lag behind the primary from which answers have a note

# A replica that has replayed all that it received is not late, however long its primary is idle.
# Without a receiver the lag is unknown: assume it began at the last commit or checkpoint.
BEHIND = """
    SELECT CASE
        WHEN NOT pg_is_in_recovery() THEN 0
        WHEN pg_last_wal_receive_lsn() <= pg_last_wal_replay_lsn()
             AND EXISTS (SELECT FROM pg_stat_wal_receiver) THEN 0
        ELSE extract(epoch FROM clock_timestamp() - greatest(
            pg_last_xact_replay_timestamp(), (SELECT checkpoint_time FROM pg_control_checkpoint())))
    END::float8
"""


def lateness(store: Store) -> str | None:
    """The warning about a store on a replica that is ``LATE_S`` behind, else None."""
    try:
        row = store.row(BEHIND) if store.replica else None
    except DatabaseError as error:
        return f"how far the replica is behind the primary can't be told: {plain_text(error)}"
    if row is None or row[0] < LATE_S:
        return None
    hours, minutes = divmod(int(row[0] // 60), 60)
    behind = f"{hours} h {minutes} min" if hours else f"{minutes} min"
    return (
        f"the replica is up to {behind} behind the primary: what was ingested since is not found; "
        "wait for it, or unset CROSSCORPUS_READ_DSN to ask the primary"
    )


def notes(homes: Mapping[str, Home], queries: pl.DataFrame) -> pl.DataFrame:
    """``NOTES``: one line a query if the server of all ``homes`` is a late replica."""
    sentence = lateness(next(iter(homes.values())).store)
    rows = [(query_id, sentence) for query_id in queries["query_id"] if sentence]
    return pl.DataFrame(rows, schema=NOTES, orient="row")
