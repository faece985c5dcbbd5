"""A topic's versions, and the changes between two: `versions list` and `versions diff`."""

from dataclasses import dataclass
from typing import Any

from operators.errors import CrosscorpusError, UnknownName
from operators.postgres.inspect.version_topics import lineage_named
from operators.postgres.store import Store
from operators.postgres.write.version_store import passages
from operators.versions.version_diff import Change, changes
from operators.versions.version_key import version_key

NAMED = 12
"""Maximum number of versions that an error lists."""


@dataclass(frozen=True)
class VersionDiff:
    """What changed between two versions of a topic."""

    topic: str  # its name
    before: dict[str, Any]  # a row of operators.postgres.inspect.version_topics.MEMBERS
    after: dict[str, Any]
    changes: list[Change]  # the paragraphs that differ, in the order of the newer one


def diff_versions(
    store: Store,
    name: str,
    older: str | None = None,
    newer: str | None = None,
    corpus: str | None = None,
) -> VersionDiff:
    """The changes of a topic from ``older`` (default: the previous) to ``newer`` (the newest).

    :func:`operators.postgres.inspect.version_topics.lineage_named` finds the topic by ``name``.

    Raises:
        CrosscorpusError: no such topic or version, or ``older`` is not older than ``newer``.
    """
    rows = lineage_named(store, name, corpus).to_dicts()
    after = version_place(rows, newer) if newer is not None else len(rows) - 1
    before = version_place(rows, older) if older is not None else after - 1
    if before < 0:
        oldest = rows[after]["version"]
        raise CrosscorpusError(f"version {oldest} is the oldest of {rows[0]['lineage_id']!r}")
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
    """The index of ``version`` in the rows of a topic; raises ``UnknownName`` if it is absent."""
    for index, row in enumerate(rows):
        if row["version"] is not None and version_key(row["version"]) == version_key(version):
            return index
    known = [row["version"] for row in rows if row["version"]]
    named = known if len(known) <= NAMED else [known[0], "...", *known[1 - NAMED :]]
    raise UnknownName(
        f"no version {version!r} of {rows[0]['lineage_id']!r}; it has {', '.join(named)}"
    )
