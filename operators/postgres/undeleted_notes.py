"""Documents that were missing from their source and that its last run did not delete; notes."""

import json
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


class Undeleted(NamedTuple):
    """The documents of one corpus and repo that may be gone from their source."""

    repo: str
    documents: int  # that the run did not see
    of: int  # that the run could have seen
    why: str  # many: more than a run deletes; empty: it saw none; unread: it failed


def read_undeleted(conn: psycopg.Connection[Any]) -> dict[str, list[Undeleted]]:
    """The records of all sources, by corpus. Invalid ones, as in a changed export, are ignored."""
    rows = conn.execute(
        'SELECT value FROM sync_state WHERE source = %s ORDER BY name COLLATE "C"', (SOURCE,)
    ).fetchall()
    by_corpus = defaultdict(list)
    for (value,) in rows:
        if _is_record(record := json.loads(value)):
            found = Undeleted(*(record[name] for name in Undeleted._fields))
            by_corpus[record["corpus"]].append(found)
    return dict(by_corpus)


def sentences(name: str, undeleted: Sequence[Undeleted], home: tuple[str, str]) -> list[str]:
    """A sentence for each source of the corpus ``name``; ``home`` is its collection and corpus."""
    return [label_text(f"{name}: {_sentence(one, *home)}") for one in undeleted]


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
        how = "run its ingestion again with --allow-mass-delete"
        return f"{of} are gone from their source and still answer; to delete them, {how}"
    if one.why == "unread":
        return f"{of} may be gone: their source was read in part; run its ingestion again"
    # without a repository each document is named: the corpus may hold other sources' documents
    which = ("--repo", one.repo) if one.repo else ("--document", "ID")
    how = shlex.join(["crosscorpus", "drop", "-C", collection, "--corpus", corpus, *which])
    return f"{of} may be gone: their source was empty; if they are, delete them: `{how}`"


def _is_record(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(name), str) for name in ("corpus", "repo"))
        and all(type(value.get(name)) is int for name in ("documents", "of"))
        and value.get("why") in REASONS
    )
