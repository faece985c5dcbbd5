"""Corrects a wrong topic permanently: joins two, or splits one.

A correction is stored in the collection, by its documents, and stays when they are read again.
"""

import polars as pl

from dataflow.ingestion.version_discovery import find_versions
from operators.errors import CrosscorpusError
from operators.postgres.inspect.version_history import version_place
from operators.postgres.inspect.version_topics import MEMBERS, document_named, lineage_named
from operators.postgres.store import Store
from operators.postgres.write import version_store
from operators.versions.corrections import Correction


def join_topics(store: Store, one: str, other: str, corpus: str | None = None) -> pl.DataFrame:
    """Make one topic of two, each named by a document of it.

    Returns:
        The versions of the topic: columns ``operators.postgres.inspect.version_topics.MEMBERS``.

    Raises:
        UnknownName: no document has such a name.
        CrosscorpusError: both are one topic already, are of two corpora or repositories, or have a
            version in common, or one has no version.
    """
    a, b = document_named(store, one, corpus), document_named(store, other, corpus)
    if a["document_key"] == b["document_key"]:
        raise CrosscorpusError(f"{one!r} and {other!r} are one topic already")
    if a["corpus"] != b["corpus"]:
        raise CrosscorpusError(
            f"{one!r} is in the corpus {a['corpus']}, {other!r} in {b['corpus']}: a topic is in one"
        )
    keys = sorted((a["document_key"], b["document_key"]))
    made = Correction("join", keys[0], keys[1])
    both = _keys(store, a) | _keys(store, b)
    splits = [
        of
        for of in version_store.corrections(store, a["corpus"])
        if of.kind == "split" and {*of[1:]} <= both
    ]
    version_store.keep_correction(store, a["corpus"], made, splits)
    find_versions(store)
    members = _members_of(store, a["corpus"], a["document_key"])
    if members.is_empty() or b["document_key"] not in members["document_key"]:
        version_store.forget_correction(store, a["corpus"], made)
        find_versions(store)
        raise CrosscorpusError(
            f"{one!r} and {other!r} cannot be one topic: both have a version in common, are of two"
            " repositories, or one states no version"
        )
    return members


def split_topic(store: Store, name: str, at: str, corpus: str | None = None) -> pl.DataFrame:
    """Make two topics of the one that ``name`` names; the second begins with the version ``at``.

    Returns:
        The versions of the second topic, as :func:`join_topics` does; none where it has one only.

    Raises:
        UnknownName: no topic has that name, or it has no such version.
        CrosscorpusError: ``at`` is its oldest version.
    """
    rows = lineage_named(store, name, corpus).to_dicts()
    place = version_place(rows, at)
    if place == 0:
        raise CrosscorpusError(f"version {at} is the oldest of {rows[0]['lineage_id']!r}")
    of, keys = rows[0]["corpus"], {row["document_key"] for row in rows}
    made = Correction("split", rows[place]["document_key"], rows[place - 1]["document_key"])
    later = {row["document_key"] for row in rows[place:]}
    joins = [
        old
        for old in version_store.corrections(store, of)
        if old.kind == "join" and {*old[1:]} <= keys and len(later & {*old[1:]}) == 1
    ]
    version_store.keep_correction(store, of, made, joins)
    find_versions(store)
    return _members_of(store, of, rows[place]["document_key"])


def _keys(store: Store, row: dict[str, str | None]) -> set[str]:
    """The documents of the topic of ``row``."""
    if row["lineage_id"] is None:
        return {str(row["document_key"])}
    return {*lineage_named(store, row["lineage_id"], row["corpus"])["document_key"]}


def _members_of(store: Store, corpus: str, key: str) -> pl.DataFrame:
    placed = version_store.placed(store, corpus)
    of = placed.filter(document_key=key)["lineage_id"].to_list()
    return lineage_named(store, of[0], corpus) if of else pl.DataFrame(schema=MEMBERS)
