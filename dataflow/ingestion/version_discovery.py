"""The end of a run: which documents are versions of one topic, and which passages are current.

The names of documents are stored when they are written. If one of those that may be versions of a
topic has changed, the step computes the lineages of the corpus again from names and sketches, and
compares the passages of the changed ones, one lineage after the other, two documents at a time.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import NamedTuple

import polars as pl

from operators.foundation.principals import UNMARKED
from operators.postgres.inspect.verify import FINDINGS
from operators.postgres.schema.indexes import vacuum
from operators.postgres.store import Store
from operators.postgres.write import version_store
from operators.postgres.write.version_store import Changed, Stored, SupersededChunk
from operators.versions import alignment, lineage, text_sketches
from operators.versions.alignment import align, folded, holder

SINCE = 3
"""Version of the rules for ``superseded_at``, the time when a passage is superseded."""

RULES = SINCE * 1_000_000 + lineage.RULES * 10_000 + alignment.RULES * 100 + text_sketches.RULES
"""A corpus whose versions come from other rules is compared again completely."""


def find_versions(store: Store, on_compared: Callable[[], None] = lambda: None) -> dict[str, int]:
    """Update a collection's versions for the corpora with changed documents.

    ``on_compared`` is called after each transaction.

    Returns:
        Each corpus whose candidates had changed, with the number of its lineages that had.
    """
    counts: dict[str, int] = {}
    done = []
    for changed in version_store.changed_corpora(store, RULES):
        stamp, counts[changed.corpus] = _find_in_corpus(store, changed, on_compared)
        if stamp is not None:
            done.append((changed.corpus, stamp))
    if counts:
        # the server plans a search by its row statistics, which do not exist yet
        vacuum(store, version_store.SEARCHED)
    for corpus, stamp in done:
        version_store.mark_found(store, corpus, stamp, RULES)
    return counts


def verify_versions(store: Store, *, repair: bool = False) -> pl.DataFrame:
    """The corpora whose versions do not match their documents; ``repair`` detects them again.

    Returns:
        Columns ``operators.postgres.inspect.verify.FINDINGS``: ``stale_versions`` for a corpus that
        has changed since its versions were detected, or that an earlier release ingested; and
        ``wrong_versions`` for a corpus with passages that a missing chunk supersedes.
    """
    wrong = version_store.broken(store)
    stale = {changed.corpus for changed in version_store.changed_corpora(store, RULES)}
    rows = [
        ("wrong_versions", corpus, f"{count} passages are said to stand for others that are gone")
        for corpus, count in wrong
    ]
    says = "its documents have changed since versions were looked for"
    rows += [("stale_versions", corpus, says) for corpus in sorted(stale)]
    if repair:
        for corpus, _ in wrong:
            version_store.invalidate_versions(store, corpus)
        find_versions(store)
    findings = [(kind, corpus, None, None, text, repair) for kind, corpus, text in rows]
    return pl.DataFrame(findings, schema=FINDINGS, orient="row")


def _find_in_corpus(
    store: Store, of: Changed, on_compared: Callable[[], None]
) -> tuple[int | None, int]:
    """The stamp of the corpus's candidates, and how many lineages have changed.

    There is no stamp if a changed lineage was not written.
    """
    corpus = of.corpus
    if of.anew:
        for part in version_store.unnamed(store, corpus):
            store.run(partial(version_store.keep_names, documents=part))
    candidates = version_store.candidates(store, corpus)
    sketches: dict[str, bytes] = {}
    for part in version_store.texts(store, corpus, candidates.unsketched):
        made = [(k, at, text_sketches.sketch(text).astype("<u4").tobytes()) for k, at, text in part]
        version_store.keep_sketches(store, made)
        sketches |= {key: sketch for key, _, sketch in made}
    # within one class of rights: hidden documents are no versions of visible ones
    lineages = pl.concat(
        [lineage.LINEAGES.to_frame()]
        + [
            _named_apart(lineage.lineages(documents), access)
            for access, documents in candidates.by_class(sketches).items()
        ]
    )
    before = version_store.placed(store, corpus)
    changed = _changed(lineages, before.clear() if of.anew else before)
    whole = True
    for names, leaving in _together(changed, lineages, before):
        parts: list[pl.DataFrame] = []
        read: list[datetime | None] = []
        rows: list[SupersededChunk] = []
        for name in names:
            parts.append(lineages.filter(pl.col("lineage_id") == name))
            at, old = _superseded(store, corpus, parts[-1])
            read += at
            rows += old
        versions = pl.concat(parts) if parts else lineages.clear()
        # another run that writes at the same time will do this step too
        whole &= version_store.write_lineages(store, corpus, versions, read, rows, leaving)
        on_compared()
    return candidates.stamp if whole else None, len(changed)


def _named_apart(lineages: pl.DataFrame, access: int) -> pl.DataFrame:
    """``lineages`` with names that those of other classes of rights do not have."""
    if access == UNMARKED:
        return lineages
    name = pl.col("lineage_id").str.slice(0, lineage.LONGEST_NAME) + f" [{access:x}]"
    return lineages.with_columns(lineage_id=name)


def _changed(lineages: pl.DataFrame, before: pl.DataFrame) -> list[str]:
    """The lineages that differ from the store's, or have a document that was written since."""
    known = before.filter("compared").select(lineages.columns)
    unlike = lineages.join(known, on=lineages.columns, how="anti", nulls_equal=True)
    return sorted(set(unlike["lineage_id"]))


def _together(
    changed: list[str], lineages: pl.DataFrame, before: pl.DataFrame
) -> list[tuple[list[str], list[str]]]:
    """The lineages of ``changed`` that one transaction must write, and the documents that leave.

    Documents of one lineage may now be of several, or of none. One transaction writes them all, so
    that no reader meets half a lineage.
    """
    now = {name: name for name in changed}  # each points towards the first of its group

    def first(name: str) -> str:
        while now[name] != name:
            name = now[name]
        return name

    is_in = dict(lineages["document_key", "lineage_id"].iter_rows())
    leaving: dict[str, list[str]] = {}
    members_before: dict[str, list[str]] = {}
    for name, key in before["lineage_id", "document_key"].iter_rows():
        members_before.setdefault(name, []).append(key)
    for name, keys in members_before.items():
        firsts = sorted({first(is_in[key]) for key in keys if is_in.get(key) in now})
        group = firsts[0] if firsts else name
        now.update(dict.fromkeys(firsts, group))
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
    """The successors of a version: the next version, and the last one."""

    next: Stored
    newest: Stored
    since: datetime | None  # when the next version becomes visible
    newest_since: datetime | None  # when the last one does
    replaced: dict[int, datetime | None]  # since when the next one's chunks are superseded
    text_since: dict[int, datetime]  # since when a later version has a text, by the text's hash


def _superseded(
    store: Store, corpus: str, versions: pl.DataFrame
) -> tuple[list[datetime | None], list[SupersededChunk]]:
    """When each document was stored (None: it is gone), and the rows of all old passages."""
    rows: list[SupersededChunk] = []
    read: list[datetime | None] = []
    later = _beyond(store, corpus, versions)
    for row in versions.sort("position", descending=True).iter_rows(named=True):
        at, document = version_store.passages(store, corpus, row["document_key"])
        read.append(at)
        own = [] if later is None else _rows(document, later, row)
        rows += own
        # It was not visible before its commit, whatever date it states. A file's date may be no
        # release date, but ``as_of`` still uses it.
        since = max(filter(None, (row["released_at"], document.created_at)), default=None)
        text_since = {} if later is None else later.text_since
        if since is not None:
            for text in {hash(folded(passage.text)) for passage in document.passages}:
                text_since[text] = min(text_since.get(text, since), since)
        replaced = {r.chunk_id: r.superseded_at for r in own if r.relation != "gone"}
        newest, newest_since = (later.newest, later.newest_since) if later else (document, since)
        later = _Later(document, newest, since, newest_since, replaced, text_since)
    return read[::-1], rows


def _beyond(store: Store, corpus: str, versions: pl.DataFrame) -> _Later | None:
    """The successor of a section that its file's next version lacks: the one with its text, if any.

    None for a topic that continues.
    """
    last = versions.filter(pl.col("ended_in").is_not_null())
    if last.is_empty():
        return None
    row = last.row(0, named=True)
    _, after = version_store.passages(store, corpus, row["moved_to"] or row["ended_in"])
    text = after if row["moved_to"] else Stored([], [], after.created_at)
    return _Later(text, text, after.created_at, after.created_at, {}, {})


def _rows(document: Stored, later: _Later, row: dict[str, str]) -> list[SupersededChunk]:
    rows = []
    for pair in align(document.passages, later.next.passages):
        if pair.old is None:
            continue
        relation, by = pair.relation, None if pair.new is None else later.next.chunk_ids[pair.new]
        # A later version may have come out earlier: Node 22.14.0 before 18.20.8.
        dates = [later.since, later.replaced.get(by) if by is not None else None]
        if relation == "gone":
            # A branch of older releases may lack passages of the newest release.
            text = document.passages[pair.old].text
            back = holder(text, later.newest.passages)
            if back is not None:
                relation, by = "same", later.newest.chunk_ids[back]
                # Until the text occurs again, no visible version replaces it.
                dates = [later.text_since.get(hash(folded(text))), later.newest_since]
        rows.append(
            SupersededChunk(
                document.chunk_ids[pair.old],
                row["document_key"],
                relation,
                by,
                min(filter(None, dates), default=None),
                row["version"] if relation == "gone" else None,
            )
        )
    return rows
