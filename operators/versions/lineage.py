"""Finds the documents that are versions of one topic, and their order.

Two documents of different versions are one topic if their paths and titles are the same without
their own versions (:mod:`operators.versions.normalized_names`). There are two exceptions. If only
the file names have a version, which may be a page's number, and the titles differ, then the
contents must be alike too. If several pages share such names, then the content decides which page
continues which.

A page that ends with one version and a page that begins with a later one may be one page that was
renamed or relocated: the more of its names has changed, the more of its content must be the same.
Two documents of one version are never one topic.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby, pairwise, product
from typing import Any

import numpy as np
import polars as pl

from operators.frames import UTC, check
from operators.versions.moved_sections import Ends, run_ends
from operators.versions.normalized_names import normalize_names
from operators.versions.renames import Page, beside, is_name, joined
from operators.versions.section_titles import section_titles
from operators.versions.text_sketches import alike, likely
from operators.versions.version_key import VersionKey, version_key

RULES = 6
"""The number of these rules: lineages of a corpus from other rules are computed again."""

LINEAGE_DOCUMENTS = pl.Schema(
    {
        "document_key": pl.String(),
        "repo": pl.String(),
        "document_id": pl.String(),
        "path": pl.String(),
        "title": pl.String(),
        "version": pl.String(),
        "doc_date": UTC,
        "date_source": pl.String(),
        "topic": pl.String(),  # as the source names it; null: it does not
        "sketch": pl.Binary(),  # of operators.versions.text_sketches; null if there is none
    }
)

LINEAGES = pl.Schema(
    {
        "document_key": pl.String(),
        "lineage_id": pl.String(),
        "version": pl.String(),
        "position": pl.Int64(),  # 0: the oldest
        "newest": pl.Boolean(),
        "released_at": UTC,
        # Of operators.versions.moved_sections.Ends; null on the rows between them.
        **dict.fromkeys(Ends._fields, pl.String()),
    }
)

FEW_PAIRS = 2_500
"""The most pairs of documents of one path and title that are all compared."""

SAME_NAMES = 0.2
"""The minimum similarity if only titles show that two pages are one."""

DATED = 0.5
"""The minimum similarity if names differ by a date: minutes of two meetings are no versions."""

LONGEST_NAME = 300
"""The longest name of a lineage, in characters."""

_IN_FILE = ("pdf", "name")
_UNTRUSTED = (None, "mtime", "unknown")


def lineages(documents: pl.DataFrame) -> pl.DataFrame:
    """The topics of one corpus that have two versions or more, or whose text moved or is gone.

    Documents that name their topic are of it and of no other.

    Args:
        documents: columns ``LINEAGE_DOCUMENTS``, a row per document. One without a version counts
            only if others have one under the same names.

    Returns:
        ``LINEAGES``, by lineage and position. A lineage is named by the path of its newest version
        without that version, and by its title too if several have that path. The same for every
        order of ``documents``.
    """
    check(documents, LINEAGE_DOCUMENTS, "documents")
    pages = sorted((_page(row) for row in documents.iter_rows(named=True)), key=_total)
    topics: list[tuple[list[Page], Ends]] = []
    for _, of in groupby(sorted(pages, key=lambda p: p.repo), key=lambda p: p.repo):
        topics += _repo_lineages(list(of))
    rows = []
    shared = Counter(_name(run) for run, _ in topics)
    taken: Counter[str] = Counter()
    for run, ends in sorted(topics, key=lambda of: (_name(of[0]), _total(of[0][-1]))):
        name = _name(run)
        if shared[name] > 1:
            name = f"{name}#{run[-1].names.title or ''}"[:LONGEST_NAME]
            taken[name] += 1
            name += f" ({taken[name]})" if taken[name] > 1 else ""
        for index, (page, date) in enumerate(zip(run, _released(run), strict=True)):
            last = page is run[-1]
            beyond = ends.split_from if index == 0 else None, *(ends[1:] if last else (None, None))
            rows.append((page.key, name, page.names.version, index, last, date, *beyond))
    return pl.DataFrame(rows, schema=LINEAGES, orient="row")


def _page(row: dict[str, Any]) -> Page:
    names = normalize_names(row["path"], row["title"], row["document_id"] or "", row["version"])
    source = row["date_source"]
    date = row["doc_date"] if source not in _UNTRUSTED else None
    moment = date.timestamp() if date else float("inf")
    hashes = np.frombuffer(row["sketch"] or b"", dtype="<u4")
    kind = 1 if names.version is not None else 2 if names.dated else 3
    # A page without a version comes last, and is ordered by its date.
    order = (kind, version_key(names.version), 0.0 if kind == 1 else moment)
    return Page(
        row["document_key"] or "",
        row["repo"] or "",
        names,
        order,
        date,
        source,
        hashes,
        topic=row["topic"] or None,
    )


def _repo_lineages(pages: list[Page]) -> list[tuple[list[Page], Ends]]:
    """The lineages among the pages of one repo, each from its oldest page on."""
    named, pages = _by_topic(pages)
    pages = _by_their_headings(pages)
    groups: dict[tuple[str, str, str], list[Page]] = defaultdict(list)
    for page in pages:
        path, title, identifier = page.names.path, page.names.title, page.names.identifier
        alone = identifier if path is None and title is None else ""
        groups[(path or "", title or "", alone)].append(page)
    runs: list[list[Page]] = []
    loose: list[Page] = []
    for _, of in sorted(groups.items()):
        runs += _runs([p for p in of if p.order[0] == 1])
        runs += [r for r in _runs([p for p in of if p.order[0] == 2], DATED) if len(r) > 1]
        loose += [p for p in of if p.order[0] == 3]
    runs = joined(runs)
    _settle(loose, runs)
    runs = named + runs
    return [
        (run, ends)
        for run, ends in zip(runs, run_ends(runs, pages), strict=True)
        if len(run) > 1 or any(ends)
    ]


def _by_topic(pages: list[Page]) -> tuple[list[list[Page]], list[Page]]:
    """The runs of the topics that documents name, and the documents that name none.

    Of two documents of one topic and version the first by key counts.
    """
    topics: dict[str, dict[Any, Page]] = defaultdict(dict)
    for page in sorted(pages, key=_total):
        if page.topic is not None:
            topics[page.topic].setdefault(page.order, page)
    return [list(of.values()) for _, of in sorted(topics.items())], [
        page for page in pages if page.topic is None
    ]


def _by_their_headings(pages: list[Page]) -> list[Page]:
    """``pages``; for sections of one file, the title is the heading, with its position.

    A section's ``around`` are the headings before and after it, in the order of the identifiers.
    """
    files: dict[tuple[str, Any], list[Page]] = defaultdict(list)
    for page in pages:
        if page.names.path and page.names.title and page.order[0] == 1:
            files[page.names.path, page.order].append(page)
    retitled: dict[str, Page] = {}
    for of in files.values():
        if len(of) == 1:
            continue
        of.sort(key=lambda page: (_numbers_by_value(page.names.identifier), page.key))
        titles = section_titles([page.names.title or "" for page in of])
        for index, (page, title) in enumerate(zip(of, titles, strict=True)):
            around = (*titles[max(index - 2, 0) : index], "", *titles[index + 1 : index + 3])
            names = page.names._replace(title=title or page.names.title)
            retitled[page.key] = replace(page, names=names, around=frozenset(around) - {""})
    return [retitled.get(page.key, page) for page in pages]


def _numbers_by_value(identifier: str) -> list[tuple[int, str]]:
    """A sort key that puts ``section-2`` before ``section-10``."""
    parts = re.findall(r"[0-9]{1,9}|[^0-9]+|[0-9]+", identifier)
    return [(int(part) if part[:1].isdecimal() else -1, part) for part in parts]


def _runs(pages: list[Page], least: float | None = None) -> list[list[Page]]:
    """Pages that share their names, as runs of versions; ``least``: the minimum similarity."""
    by_version = [list(of) for _, of in groupby(sorted(pages, key=_total), key=lambda p: p.order)]
    several = least is None and any(len(of) > 1 for of in by_version)
    if least is None:
        least = SAME_NAMES if pages and pages[0].names.path is None else 0.0
    runs: list[list[Page]] = []
    for of in by_version:
        ends = [run[-1] for run in runs]
        continued = _sections(of, ends) if several else _continued(of, ends, least)
        for index, page in enumerate(of):
            if index in continued:
                runs[continued[index]].append(page)
            else:
                runs.append([page])
    return runs


def _continued(pages: list[Page], ends: list[Page], least: float) -> dict[int, int]:
    """Which of ``ends`` each page of a version continues, by index; surest pairs first."""
    if least == 0.0 and len(pages) == 1 and len(ends) == 1:
        return {0: 0}
    if least == 0.0:
        same = pairs = set(product(range(len(pages)), range(len(ends))))
    else:
        same = _same_identifier(pages, ends)
        pairs = same | set(likely([p.hashes for p in pages], [p.hashes for p in ends]))
    scored = []
    for i, j in pairs:
        close = alike(pages[i].hashes, ends[j].hashes)
        if (i, j) in same or close >= least:
            scored.append((-((i, j) in same), -close, i, j))
    return _surest(scored)


def _sections(pages: list[Page], ends: list[Page]) -> dict[int, int]:
    """As :func:`_continued`, for documents of one path and one title, several in some version.

    Text, surrounding headings and identifier decide which continues which. If few have the
    title, the remaining ones are paired as well: nothing contradicts it.
    """
    if len(pages) * len(ends) <= FEW_PAIRS:
        pairs = set(product(range(len(pages)), range(len(ends))))
    else:
        pairs = set(likely([p.hashes for p in pages], [p.hashes for p in ends]))
    scored = []
    for i, j in pairs | _same_identifier(pages, ends):
        page, end = pages[i], ends[j]
        same = page.names.identifier == end.names.identifier
        named = same and is_name(page.names.identifier)
        close = alike(page.hashes, end.hashes)
        scored.append((-(close + beside(page, end) / 2 + same / 4 + named), i, j))
    return _surest(scored)


def _same_identifier(pages: list[Page], ends: list[Page]) -> set[tuple[int, int]]:
    indexes: dict[str, list[int]] = defaultdict(list)
    for index, end in enumerate(ends):
        indexes[end.names.identifier].append(index)
    return {(i, j) for i, p in enumerate(pages) for j in indexes.get(p.names.identifier, ())}


def _surest(scored: Iterable[tuple[Any, ...]]) -> dict[int, int]:
    """Pairs whose members are each in one pair at most, the lowest of ``scored`` first."""
    chosen: dict[int, int] = {}
    used: set[int] = set()
    for *_, i, j in sorted(scored):
        if i not in chosen and j not in used:
            chosen[i] = j
            used.add(j)
    return chosen


def _settle(loose: Sequence[Page], runs: list[list[Page]]) -> None:
    """Put each page without a version into the run of its path: by its date, else as the newest."""
    at: dict[str | None, list[list[Page]]] = defaultdict(list)
    for run in runs:
        for path in {p.names.path for p in run if p.order[0] == 1}:
            at[path].append(run)
    pages = Counter(page.names.path for page in loose)
    for page in sorted(loose, key=lambda p: p.names.path or ""):
        path = page.names.path
        if not path or pages[path] > 1 or path not in at:
            continue
        close, run = max(
            ((max(alike(page.hashes, p.hashes) for p in run), run) for run in at[path]),
            key=lambda pair: pair[0],
        )
        if close < SAME_NAMES:
            continue
        date = page.released_at
        later = [n for n, p in enumerate(run) if date and p.released_at and p.released_at > date]
        # Versions are ordered by number, so a page is placed only if all later versions are newer.
        run.insert(later[0] if later and len(later) == len(run) - later[0] else len(run), page)


def _released(run: Sequence[Page]) -> list[datetime | None]:
    """The pages' dates; dates in files count only if they grow with the versions.

    A PDF that was printed today has today's date, whatever its version.
    """
    file_dates = [p.released_at for p in run if p.date_source in _IN_FILE and p.released_at]
    if all(one <= two for one, two in pairwise(file_dates)):
        return [p.released_at for p in run]
    return [None if p.date_source in _IN_FILE else p.released_at for p in run]


def _name(run: list[Page]) -> str:
    repo, names = run[-1].repo, run[-1].names
    name = names.path or names.title or names.identifier
    return (f"{repo}/{name}" if repo else name)[:LONGEST_NAME]


def _total(page: Page) -> tuple[tuple[int, VersionKey, float], str]:
    return page.order, page.key
