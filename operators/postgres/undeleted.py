"""Documents that were missing from their source and that its last run did not delete."""

import json
from collections import defaultdict
from typing import Any, NamedTuple

import psycopg

SOURCE = "undeleted"
"""The ``source`` of their records in ``sync_state``; ``name`` is the owner's key."""

REASONS = ("many", "empty", "unread")


class Undeleted(NamedTuple):
    """The documents of one corpus and repo that may be gone from their source."""

    repo: str
    documents: int  # that the run did not see
    of: int  # that the run could have seen
    why: str  # many: more than a run deletes; empty: it saw none; unread: it failed
    command: tuple[str, ...] | None  # the arguments of the command that read the source


def read_undeleted(conn: psycopg.Connection[Any]) -> dict[str, list[Undeleted]]:
    """The records of all sources, by corpus. Invalid ones, as in a changed export, are ignored."""
    rows = conn.execute(
        'SELECT value FROM sync_state WHERE source = %s ORDER BY name COLLATE "C"', (SOURCE,)
    ).fetchall()
    records = [record for (value,) in rows if _is_record(record := json.loads(value))]
    runs = [record["run"] for record in records]
    commands: dict[int, list[str]] = {}
    if runs:  # an import brings no commands: users must not run those of another machine
        held = "SELECT run_id, command FROM runs WHERE run_id = ANY(%s) AND command IS NOT NULL"
        commands = dict(conn.execute(held, (runs,)).fetchall())
    by_corpus = defaultdict(list)
    for record in records:
        command = commands.get(record["run"])
        arguments = None if command is None else tuple(command[1:])
        repo, corpus = record["repo"], record["corpus"]
        counts = (record["documents"], record["of"])
        by_corpus[corpus].append(Undeleted(repo, *counts, record["why"], arguments))
    return dict(by_corpus)


def _is_record(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(name), str) for name in ("corpus", "repo"))
        and all(type(value.get(name)) is int for name in ("documents", "of", "run"))
        and value.get("why") in REASONS
    )
