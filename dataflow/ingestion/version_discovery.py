"""The end of a run: which documents are versions of one topic, and which passages are current.

A corpus whose ledger is as it was costs one look at the ledger. Else its lineages are found anew
from what is kept of each document, and the passages of those that have changed are compared, one
lineage after the other, two documents at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from operators.postgres.inspect.verify import FINDINGS
from operators.postgres.schema.indexes import vacuum
from operators.postgres.store import Store
from operators.postgres.write import version_store as stored
from operators.postgres.write.version_store import Superseded
from operators.versions import alignment, lineage, text_sketches
from operators.versions.alignment import align, folded, holder
from operators.versions.normalized_names import NormalizedNames, normalize_names

SINCE = 1
"""Of telling since when a passage is superseded: raised where it is told otherwise."""

RULES = SINCE * 1_000_000 + lineage.RULES * 10_000 + alignment.RULES * 100 + text_sketches.RULES
"""Other rules than those a corpus's versions were found by mean another look at all of it."""

CODE = "code"
"""Of files without a version: folders v1 and v2 are interfaces there, both of them current."""

Named = tuple[Any, ...]
"""document_key, path, document_id and version."""

OnCompared = Callable[[int, int], None]
"""Told how many lineages were compared, of how many."""


@dataclass(frozen=True, slots=True)
class VersionsFound:
    """What was done.

    Attributes:
        corpora: whose documents had changed.
        lineages: topics of two versions or more, in those corpora.
        compared: of which the passages were compared.
        superseded: passages of those for which a newer one stands.
        only_old: passages of those that no newer version has.
    """

    corpora: tuple[str, ...] = ()
    lineages: int = 0
    compared: int = 0
    superseded: int = 0
    only_old: int = 0


def find_versions(store: Store, on_compared: OnCompared | None = None) -> VersionsFound:
    """Bring a collection's versions to what its documents are; nothing to do where none changed."""
    found = VersionsFound()
    done = []
    for changed in stored.changed_corpora(store, RULES):
        whole, found = _of_corpus(store, changed, found, on_compared)
        if whole:
            done.append(changed)
    if found.corpora:
        # the server plans a search by how many rows it counted, and as yet it counted none
        vacuum(store, stored.SEARCHED)
    for changed in done:
        stored.mark_found(store, changed.corpus, changed.ledger, RULES)
    return found


def verify_versions(store: Store, *, repair: bool = False) -> pl.DataFrame:
    """Whether a collection's versions are those of its documents; put right if ``repair``.

    Returns:
        Columns ``operators.postgres.inspect.verify.FINDINGS``: ``stale_versions`` for a corpus that
        was changed, or ingested by an earlier release, since its versions were found; and
        ``wrong_versions`` for one with passages that are superseded by none.
    """
    broken = stored.broken(store)
    stale = {changed.corpus for changed in stored.changed_corpora(store, RULES)}
    rows = [
        ("wrong_versions", corpus, f"{count} passages are said to stand for others that are gone")
        for corpus, count in broken
    ]
    says = "its documents have changed since versions were looked for"
    rows += [("stale_versions", corpus, says) for corpus in sorted(stale)]
    if repair:
        for corpus, _ in broken:
            stored.doubt(store, corpus)
        find_versions(store)
    found = [(kind, corpus, None, None, text, repair) for kind, corpus, text in rows]
    return pl.DataFrame(found, schema=FINDINGS, orient="row")


def _of_corpus(
    store: Store, of: stored.Changed, found: VersionsFound, on_compared: OnCompared | None
) -> tuple[bool, VersionsFound]:
    """Whether all of it could be done, and what was."""
    corpus = of.corpus
    documents = stored.candidates(store, corpus, _sketched(store, corpus))
    lineages = lineage.lineages(documents)
    before = stored.placed(store, corpus)
    changed = _changed(lineages, before.clear() if of.anew else before)
    whole, compared = True, 0
    relations = {"same": 0, "revised": 0, "gone": 0}
    for names, leaving in _together(changed, lineages, before):
        parts: list[pl.DataFrame] = []
        read: list[datetime | None] = []
        rows: list[Superseded] = []
        for name in names:
            parts.append(lineages.filter(pl.col("lineage_id") == name))
            at, old = _superseded(store, corpus, parts[-1])
            read += at
            rows += old
        versions = pl.concat(parts) if parts else lineages.clear()
        if not stored.write_lineages(store, corpus, versions, read, rows, leaving):
            whole = False  # somebody writes at the same time, whose own run comes to this as well
            continue
        for row in rows:
            relations[row.relation] += 1
        compared += len(names)
        if on_compared is not None and names:
            on_compared(compared, len(changed))
    return whole, replace(
        found,
        corpora=(*found.corpora, corpus),
        lineages=found.lineages + lineages["lineage_id"].n_unique(),
        compared=found.compared + len(changed),
        superseded=found.superseded + relations["same"] + relations["revised"],
        only_old=found.only_old + relations["gone"],
    )


def _sketched(store: Store, corpus: str) -> list[str]:
    """The documents that may be versions of something, each with its sketch kept."""
    keys, paths = stored.over_names(store, corpus, partial(_with_version, corpus))
    if paths:
        keys += stored.over_names(store, corpus, partial(_at_these, corpus, paths))
    for part in stored.unsketched(store, corpus, keys, text_sketches.RULES):
        made = [(k, at, text_sketches.sketch(text).astype("<u4").tobytes()) for k, at, text in part]
        stored.keep_sketches(store, corpus, made, text_sketches.RULES)
    return keys


def _with_version(corpus: str, documents: Iterable[Named]) -> tuple[list[str], set[str]]:
    """The keys of those that have a version or a date in their name, and their paths without it."""
    keys: list[str] = []
    paths: set[str] = set()
    for key, name in _normalized(corpus, documents):
        if name.version is not None or name.dated:
            keys.append(key)
            paths.add(name.path or "")
    return keys, paths


def _at_these(corpus: str, paths: set[str], documents: Iterable[Named]) -> list[str]:
    """The keys of those without a version whose path is among ``paths``."""
    return [
        key
        for key, name in _normalized(corpus, documents)
        if name.version is None and not name.dated and name.path and name.path in paths
    ]


def _normalized(corpus: str, documents: Iterable[Named]) -> Iterator[tuple[str, NormalizedNames]]:
    for key, path, document_id, version in documents:
        if corpus != CODE or version is not None:
            yield key, normalize_names(path, None, document_id, version)


def _changed(lineages: pl.DataFrame, before: pl.DataFrame) -> list[str]:
    """The lineages that are not as they are stored, or of which a document was stored anew."""
    columns = lineages.columns
    unlike = lineages.join(
        before.filter("compared").select(columns), on=columns, how="anti", nulls_equal=True
    )
    return sorted(set(unlike["lineage_id"]))


def _together(
    changed: list[str], lineages: pl.DataFrame, before: pl.DataFrame
) -> list[tuple[list[str], list[str]]]:
    """The lineages of ``changed`` that one transaction must write, and the documents that leave.

    Documents that were of one lineage and now are of several, or of none, are written at once: a
    reader would else meet a lineage of which a part is gone.
    """
    now = {name: name for name in changed}  # each points towards the first of its group

    def first(name: str) -> str:
        while now[name] != name:
            name = now[name]
        return name

    is_in = dict(lineages["document_key", "lineage_id"].iter_rows())
    leaving: dict[str, list[str]] = {}
    for (name,), of in before.group_by("lineage_id", maintain_order=True):
        keys = of["document_key"].to_list()
        held = sorted({first(is_in[key]) for key in keys if is_in.get(key) in now})
        group = held[0] if held else str(name)
        now.update(dict.fromkeys(held, group))
        if gone := [key for key in keys if key not in is_in]:
            now.setdefault(group, group)
            leaving.setdefault(group, []).extend(gone)
    groups: dict[str, list[str]] = {first(name): [] for name in now}
    for name in changed:
        groups[first(name)].append(name)
    left: dict[str, list[str]] = {name: [] for name in groups}
    for name, gone in leaving.items():
        left[first(name)] += gone
    return [(names, left[name]) for name, names in groups.items()]


class _Later(NamedTuple):
    """What comes after a version.

    Attributes:
        next: the version after it.
        newest: the last one.
        since: from when on the next one is visible.
        newest_since: from when on the last one is.
        replaced: since when passages of the next one that are old as well are superseded.
        told: since when a text, by the hash of it, is in some version after it.
    """

    next: stored.Stored
    newest: stored.Stored
    since: datetime | None
    newest_since: datetime | None
    replaced: dict[int, datetime | None]
    told: dict[int, datetime]


def _superseded(
    store: Store, corpus: str, versions: pl.DataFrame
) -> tuple[list[datetime | None], list[Superseded]]:
    """When each document was stored, None if it is gone; and the rows of its old passages."""
    rows: list[Superseded] = []
    read: list[datetime | None] = []
    later: _Later | None = None
    for row in versions.sort("position", descending=True).iter_rows(named=True):
        at, document = stored.passages(store, corpus, row["document_key"])
        read.append(at)
        own = [] if later is None else _rows(document, later, row)
        rows += own
        since = _visible_since(row["released_at"], document.created_at)
        told = {} if later is None else later.told
        if since is not None:
            for text in {hash(folded(passage.text)) for passage in document.passages}:
                told[text] = min(told.get(text, since), since)
        replaced = {r.chunk_id: r.superseded_at for r in own if r.relation != "gone"}
        newest, newest_since = (later.newest, later.newest_since) if later else (document, since)
        later = _Later(document, newest, since, newest_since, replaced, told)
    return read[::-1], rows


def _visible_since(released: datetime | None, created: datetime | None) -> datetime | None:
    """From when on a version replaces those before it.

    Nobody could see it before its commit, whatever date it states; and where a file's date is none
    of a release, it is still the one that ``as_of`` goes by.
    """
    return max(filter(None, (released, created)), default=None)


def _rows(document: stored.Stored, later: _Later, row: dict[str, str]) -> list[Superseded]:
    rows = []
    for pair in align(document.passages, later.next.passages):
        if pair.old is None:
            continue
        relation, by = pair.relation, None if pair.new is None else later.next.chunk_ids[pair.new]
        # A later version may have come out earlier: Node 22.14.0 before 18.20.8.
        dates = [later.since, later.replaced.get(by) if by is not None else None]
        if relation == "gone":
            # A branch of older releases may lack what the newest release has.
            text = document.passages[pair.old].text
            back = holder(text, later.newest.passages)
            if back is not None:
                relation, by = "same", later.newest.chunk_ids[back]
                # Until it comes again no version visible then replaces it.
                dates = [later.told.get(hash(folded(text))), later.newest_since]
        rows.append(
            Superseded(
                document.chunk_ids[pair.old],
                row["document_key"],
                relation,
                by,
                min(filter(None, dates), default=None),
                row["version"] if relation == "gone" else None,
            )
        )
    return rows
