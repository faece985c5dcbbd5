"""Documents that were missing from their source and that its last run did not delete; notes."""

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
import psycopg

from operators.foundation.escape import label_text
from operators.frames import NOTES

SOURCE = "undeleted"
"""The ``source`` of their records in ``sync_state``; ``name`` is the owner's key."""

REASONS = ("many", "empty", "unread")

LEFT_OUT = """
    SELECT (jsonb_populate_record(NULL::documents, value::jsonb)).*
    FROM sync_state WHERE starts_with(source, 'left_out:')
"""
"""SQL query: what was left out, as rows of the ledger without chunks."""

_CREDENTIALS = re.compile(r"(?<=://)[^\s/@]+@")


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


def sentences(name: str, held: Sequence[Undeleted], home: tuple[str, str]) -> list[str]:
    """A sentence for each source of the corpus ``name``; ``home`` is its collection and corpus."""
    return [label_text(f"{name}: {_sentence(one, *home)}") for one in held]


def unnamed(name: str) -> list[str]:
    """The sentence for a caller who may see only a part of the corpus ``name``."""
    return [f"{name}: some documents may be gone from their source"]


def notes(said: Mapping[str, Iterable[str]], queries: pl.DataFrame) -> pl.DataFrame:
    """``NOTES``: for each query the sentences of the corpora that it searches."""
    rows = [
        (query_id, sentence)
        for query_id, corpora in queries["query_id", "corpora"].iter_rows()
        for corpus in sorted(said)
        if corpora is None or corpus in corpora
        for sentence in said[corpus]
    ]
    return pl.DataFrame(rows, schema=NOTES, orient="row")


def _sentence(one: Undeleted, collection: str, corpus: str) -> str:
    of = f"{one.documents} of {one.of} documents{f' of {one.repo}' if one.repo else ''}"
    if one.why == "many":
        how = _command(one, "--allow-mass-delete")
        return f"{of} are gone from their source and still answer; to delete them, {how}"
    if one.why == "unread":
        return f"{of} may be gone: their source was read in part; to read it again, {_command(one)}"
    # without a repository each document is named: the corpus may hold other sources' documents
    which = ("--repo", one.repo) if one.repo else ("--document", "ID")
    how = _shown("drop", "-C", collection, "--corpus", corpus, *which)
    return f"{of} may be gone: their source was empty; if they are, delete them: {how}"


def _command(one: Undeleted, *options: str) -> str:
    if one.command is None:
        return " ".join(["run its ingestion again", *(f"with {name}" for name in options)])
    return f"run {_shown(*one.command, *options)}"


def _shown(*arguments: str) -> str:
    return f"`{_CREDENTIALS.sub('...@', shlex.join(['crosscorpus', *arguments]))}`"


def _is_record(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(name), str) for name in ("corpus", "repo"))
        and all(type(value.get(name)) is int for name in ("documents", "of", "run"))
        and value.get("why") in REASONS
    )
