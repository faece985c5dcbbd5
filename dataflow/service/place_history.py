"""Which commits changed a file, a folder, lines or a definition, newest first.

Where the working tree is at hand git says which; else the files that each commit lists. Only
commits that are stored, and that the caller may see, are named.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import polars as pl

from dataflow.driver.retrieval_driver import RetrievalDriver
from dataflow.driver.visibility import visible_filters
from dataflow.service.file_changes import SECONDS, trees_of
from dataflow.service.places import definition_of, place_named
from operators.errors import UnknownName
from operators.foundation.escape import label_text
from operators.postgres.search.place_history import commits_of
from operators.postgres.store import Home, by_store
from operators.ranking.named_places import read_place
from operators.ranking.query_filters import visible_parts
from operators.sources.git.git_process import GitError, git_output

MOST = 200
"""Commits of one place."""


class PlaceHistory(NamedTuple):
    """The commits of a place (``COMMITS``, and ``note``: what it reverts, or what reverted it)."""

    place: str
    commits: pl.DataFrame
    notes: list[str]


def place_history(driver: RetrievalDriver, homes: Mapping[str, Home], place: str) -> PlaceHistory:
    """The commits of ``place``: ``src/a.py``, ``src/a.py:10-40``, a folder, or ``Lock.release``."""
    path, repo, lines = _read(driver, homes, place)
    shown = label_text(path)
    known = _in_tree(homes, path, repo, lines)
    unread = f"no working tree at hand has these lines: these commits changed {shown}"
    notes = [unread] if lines and known is None else []
    filters = visible_parts(driver.graph.config["corpora"])
    parts = []
    for store, of in by_store(homes):
        seen = {there: filters[name] for there, name in of.items()}
        some = commits_of(store, path, seen, repo=repo, commits=known, most=MOST)
        parts.append(some.with_columns(pl.col("corpus").replace(of)))
    newest = {"descending": True, "nulls_last": True, "maintain_order": True}
    found = pl.concat(parts).sort("created_at", **newest)
    if found.is_empty():
        notes = [f"no commit that was read lists {shown}; those of many files list none"]
    undone = {one["reverts"]: one["commit"] for one in found.to_dicts() if one["reverts"]}
    pairs = found["commit", "reverts"].iter_rows()
    said = [_note(commit, reverts, undone) for commit, reverts in pairs]
    texts = [found[name].map_elements(label_text, pl.String) for name in ("subject", "author")]
    commits = found.with_columns(*texts, pl.Series("note", said, pl.String))
    return PlaceHistory(":".join(filter(None, (shown, lines))), commits, notes)


def _read(
    driver: RetrievalDriver, homes: Mapping[str, Home], place: str
) -> tuple[str, str | None, str | None]:
    """The path that ``place`` names, its repository and its lines; of no file: as it is written."""
    path, first, last = read_place(place)
    lines = f"{first}-{last or first}" if first is not None else None
    corpora = driver.graph.config["corpora"]
    try:
        row = place_named(homes, corpora, visible_filters(driver.config), path).row
    except UnknownName:
        if (defined := definition_of(driver, place)) is None:
            return path.strip("/"), None, lines
        row, lines = defined
    if row["path"] is None:  # git would be asked for a path that nobody checked
        return path, None, lines
    return row["path"], row["repo"], lines


def _in_tree(
    homes: Mapping[str, Home], path: str, repo: str | None, lines: str | None
) -> list[str] | None:
    """The commits that changed this, by a working tree; None: no tree at hand knows it.

    Lines are those of the commit that was read: the tree may have others by now.
    """
    wanted = f"-L{lines.replace('-', ',')}:{path}" if lines else "--follow"
    whole = () if lines else ("--", f":(literal){path}")
    for folder, at in trees_of(homes, repo) if repo is not None else ():
        how = ("-s", f"-n{MOST}", "--format=%H", wanted, at, *whole)
        with suppress(GitError, OSError):  # such as a folder that is not ours to enter
            told = git_output(folder, "log", *how, silence=SECONDS)
            if told:
                return told.split()
    return None


def _note(commit: str, reverts: str | None, undone: Mapping[str, str]) -> str | None:
    """What a commit undoes, or which one undoes it."""
    if reverts:
        return f"reverts {reverts[:10]}"
    by = next((other for one, other in undone.items() if commit.startswith(one)), None)
    return by and f"reverted by {by[:10]}"
