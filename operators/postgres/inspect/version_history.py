"""A topic's versions, and the changes between two: `versions list` and `versions diff`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl

from operators.errors import CrosscorpusError, UnknownName, suggest
from operators.postgres.inspect.version_topics import lineage_named
from operators.postgres.store import Store
from operators.postgres.write.version_store import corrections, passages
from operators.versions.alignment import align
from operators.versions.corrections import Correction
from operators.versions.normalized_names import normalize_names
from operators.versions.version_diff import Change, changes
from operators.versions.version_key import version_key

NAMED = 12
"""Versions that an error lists."""

COUNTED = ("same", "revised", "gone", "new")


@dataclass(frozen=True)
class VersionDiff:
    """What changed between two versions of a topic."""

    topic: str  # its name
    before: dict[str, Any]  # a row of operators.postgres.inspect.version_topics.MEMBERS
    after: dict[str, Any]
    changes: list[Change]  # the paragraphs that differ, in the order of the newer one


def list_versions(store: Store, name: str, corpus: str | None = None) -> pl.DataFrame:
    """A topic's versions, oldest first, with the number of same and changed passages.

    Returns:
        Columns of ``operators.postgres.inspect.version_topics.MEMBERS`` and, against the version
        before (null for the oldest), ``same``, ``revised``, ``gone`` (only in the one before),
        ``new``; and ``continues``, see :func:`continues`.

    Raises:
        CrosscorpusError: no topic has that name, or several have.
    """
    members = lineage_named(store, name, corpus)
    texts = (
        passages(store, row["corpus"], row["document_key"])[1].passages
        for row in members.iter_rows(named=True)
    )
    counts: list[Counter[str] | None] = [None]
    counts += [Counter(p.relation for p in align(one, two)) for one, two in pairwise(texts)]
    said = corrections(store, members["corpus"][0])
    return members.with_columns(
        *(
            pl.Series(kind, [None if c is None else c[kind] for c in counts], dtype=pl.Int64)
            for kind in COUNTED
        ),
        pl.Series("continues", continues(members.to_dicts(), said), dtype=pl.String),
    )


def continues(rows: Sequence[dict[str, Any]], said: Sequence[Correction]) -> list[str | None]:
    """What else than its version is new in the names of each version, against the one before.

    None where nothing is: path and title are the same.
    """
    begun = {of.one for of in said if of.kind == "split"}
    joins = [{of.one, of.other} for of in said if of.kind == "join"]
    keys = [row["document_key"] for row in rows]
    found: list[str | None] = []
    for place, row in enumerate(rows):
        parts = ["begins here by hand"] if row["document_key"] in begun else []
        changed = _renamed(rows[place - 1], row) if place else []
        spanned = (pair & {*keys[:place]} and pair & {*keys[place:]} for pair in joins)
        if changed and any(spanned):
            parts.append("joined by hand")
        found.append("; ".join(parts + changed) or None)
    return found


def _renamed(before: dict[str, Any], row: dict[str, Any]) -> list[str]:
    """What the path and the title of the version before were, as far as they differ."""
    one, two = (
        normalize_names(of["path"], of["title"], of["document_id"], of["version"])
        for of in (before, row)
    )
    moved = [f"moved from {before['path']}"] if one.path != two.path else []
    return [*moved, f"was {before['title']!r}"] if one.title != two.title else moved


def diff_versions(
    store: Store,
    name: str,
    older: str | None = None,
    newer: str | None = None,
    corpus: str | None = None,
) -> VersionDiff:
    """The changes of a topic from version ``older`` (None: the one before) to ``newer`` (newest).

    :func:`operators.postgres.inspect.version_topics.lineage_named` finds the topic by ``name``.

    Raises:
        CrosscorpusError: no such topic or version, or ``older`` is not older than ``newer``.
    """
    rows = lineage_named(store, name, corpus).to_dicts()
    after = version_place(rows, newer) if newer is not None else len(rows) - 1
    before = version_place(rows, older) if older is not None else after - 1
    if before < 0:
        raise CrosscorpusError(f"version {newer} is the oldest of {rows[0]['lineage_id']!r}")
    if before >= after:
        raise CrosscorpusError(
            f"version {rows[before]['version']} is not older than {rows[after]['version']}: "
            "give the older one with --from"
        )
    one, two = (
        passages(store, rows[n]["corpus"], rows[n]["document_key"])[1].passages
        for n in (before, after)
    )
    return VersionDiff(rows[0]["lineage_id"], rows[before], rows[after], changes(one, two))


def version_place(rows: list[dict[str, Any]], version: str) -> int:
    """The place of ``version`` in the rows of a topic; ``UnknownName`` where it has none such."""
    for place, row in enumerate(rows):
        if row["version"] is not None and version_key(row["version"]) == version_key(version):
            return place
    known = [row["version"] for row in rows if row["version"]]
    near = suggest(version, known) if len(known) > NAMED else ""
    near = near if "mean" in near else ""
    named = known if len(known) <= NAMED else [known[0], "...", *known[1 - NAMED :]]
    raise UnknownName(
        f"no version {version!r} of {rows[0]['lineage_id']!r}{near}; it has {', '.join(named)}"
    )
