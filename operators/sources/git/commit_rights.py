"""Who may see which part of a commit: its message, the names of its files, and their changes.

A commit has no path, so rules of its repository decide about its message. A rule with a path
decides about files: of a commit it hides the lines of the list ``Files:`` and the hunks of the diff
that are about them. So a commit's chunks are cut along their files where these have other readers,
and such a chunk has a class of its own.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from itertools import groupby
from operator import itemgetter
from typing import Any

import polars as pl

from operators.foundation.principals import ALLOWED, EVERYONE
from operators.frames import CHANGED_PATHS, FILES
from operators.sources.also import reads_as_prose
from operators.sources.chunking.chunker import chunk_id
from operators.sources.git.commit_log import MAX_FILES
from operators.sources.protocol import APART_FROM, metadata_json
from operators.sources.rights_rules import Rights

Readers = tuple[str, ...] | None
"""The principals that may see something; None: it is unmarked."""

Row = dict[str, Any]
"""A chunk by its columns."""


def chunks_by_readers(
    chunks: pl.DataFrame, documents: pl.DataFrame, rights: Rights
) -> pl.DataFrame:
    """``chunks`` in which those of commits are cut where readers differ.

    A chunk with other readers than its document names them in its metadata (``ALLOWED``).

    Args:
        chunks: columns of ``CHUNKS``, all chunks of each document together.
        documents: their documents, ``DOCUMENTS`` with ``allowed`` (List(String)).
        rights: the rules that ``allowed`` comes from.
    """
    key = ["corpus", "repo", "document_id"]
    commits: dict[Any, tuple[dict[str, Any], Readers]] = {}
    apart = chunks["metadata"].str.contains(f'"{ALLOWED}":', literal=True).any()
    if apart or any(rule.path for rule in rights.rules):
        for *of, metadata, own in documents.select(*key, "metadata", "allowed").iter_rows():
            if known := commit_facts(metadata):
                commits[tuple(of)] = known, None if own is None else tuple(own)
    if not commits:
        return chunks
    rows: list[Row] = []
    for one, group in groupby(chunks.iter_rows(named=True), itemgetter(*key)):
        chunk_rows = list(group)
        rows += cut_commit(chunk_rows, *commits[one], rights) if one in commits else chunk_rows
    return pl.DataFrame(rows, schema=chunks.schema, orient="row")


def commit_facts(metadata: str | None) -> dict[str, Any]:
    """The metadata of a commit that names files; empty for any other document."""
    known = json.loads(metadata or "{}")
    return known if "commit" in known and known.get("files") else {}


def cut_commit(
    rows: Sequence[Row], known: Mapping[str, Any], own: Readers, rights: Rights
) -> list[Row]:
    """All chunks of a commit, cut so that each has the same readers throughout.

    Args:
        rows: its chunks, by ``ordinal``.
        known: the document's metadata.
        own: who may see its message.

    Returns:
        ``rows`` if all of it has the same readers. Else new chunks follow the others; they have no
        embedding, and no chunk tells the number of files.
    """
    corpus, repo, document_id = (rows[0][key] for key in ("corpus", "repo", "document_id"))
    readers = partial(file_readers, rights, corpus, repo, own)
    line_readers = _readers_of_lines(_lines(rows), known, own, readers, _strictest(rights, own))
    changed = [path for row in rows for path in json.loads(row["metadata"]).get(CHANGED_PATHS, ())]
    changed_files = [(path, readers(path)) for path in dict.fromkeys(changed)]
    made: list[Row] = []
    more: list[Row] = []
    for row in rows:
        numbered = enumerate(row["text"].split("\n"), row["start_line"] - 1)
        by_readers = groupby(numbered, lambda line: line_readers.get(line[0], own))
        cut = [(to, list(lines)) for to, lines in by_readers]
        runs = [(to, run) for to, run in cut if any(text.strip() for _, text in run)]
        for at, (to, run) in enumerate(runs):
            part = row | _told(row, changed_files, to, own)
            if len(runs) > 1:
                end = run[-1][0] + bool(run[-1][1])  # after the last line break there is no line
                part["text"] = "\n".join(text for _, text in run).rstrip("\n") + "\n"
                part |= {"start_line": run[0][0] + 1, "end_line": max(end, run[0][0] + 1)}
                part |= {"embedding": None} if "embedding" in row else {}
            (more if at else made).append(part)
    for ordinal, part in enumerate(more, max(row["ordinal"] for row in rows) + 1):
        part |= {"ordinal": ordinal, "chunk_id": chunk_id(corpus, repo, document_id, ordinal)}
    every = [*made, *more]
    return every if any(f'"{ALLOWED}":' in row["metadata"] for row in (*every, *rows)) else [*rows]


def file_readers(rights: Rights, corpus: str, repo: str, own: Readers, path: str) -> Readers:
    """Who may see what a commit says of the file at ``path``: those who see both of them.

    Without a rule with a path about the file, all who see the commit do.
    """
    file_corpus = "docs" if reads_as_prose(path, {}) else "code"
    theirs, here = (rights.rule_of(of, repo, path) for of in (file_corpus, corpus))
    by_path = [n for n in (theirs, here) if n is not None and rights.rules[n].path is not None]
    if not by_path:
        return own
    last = rights.rules[by_path[0] if theirs is None else theirs]
    return _both(rights, own, last.allow)


def _both(rights: Rights, own: Readers, other: Sequence[str]) -> Readers:
    """Those of ``own`` who are among ``other`` too, by name: a group's members are not known."""
    if own is None:
        return tuple(other) if rights.unmarked == "everyone" else None
    if EVERYONE in other:
        return own
    return tuple(other) if EVERYONE in own else tuple(sorted({*own} & {*other}))


def _strictest(rights: Rights, own: Readers) -> Readers:
    """Those who see all files: the readers of lines about files that can't be told."""
    by_path = (rule.allow for rule in rights.rules if rule.path is not None)
    return reduce(partial(_both, rights), by_path, own)


def _lines(rows: Iterable[Row]) -> dict[int, str]:
    """The lines of a document by their numbers from 0; a line may be in several chunks."""
    lines: dict[int, str] = {}
    for row in rows:
        for number, text in enumerate(row["text"].split("\n"), row["start_line"] - 1):
            lines[number] = lines.get(number, "") + text
    return lines


def _readers_of_lines(
    lines: Mapping[int, str],
    known: Mapping[str, Any],
    own: Readers,
    readers: Callable[[str], Readers],
    strictest: Readers,
) -> dict[int, Readers]:
    """Who may see each line but those of the message."""
    last = max((number for number, text in lines.items() if text.strip()), default=0)
    end = known.get(APART_FROM, last + 1)  # of the list
    files = int(known["files"])
    begin = end - min(files, MAX_FILES) - (files > MAX_FILES)
    if lines.get(begin - 1) != FILES:  # better a line of the message too much
        begin = 1 + next((n for n in sorted(lines) if lines[n] == FILES), end - 1)
    listed = {n: lines[n] for n in range(begin, end) if n in lines}
    found: dict[int, Readers] = {number: readers(path) for number, path in listed.items()}
    if files > MAX_FILES:
        found[end - 1] = strictest
    if found:
        found[begin - 1] = own if own in found.values() else found[begin]
    paths = sorted(set(listed.values()), key=len, reverse=True)
    here = strictest
    for number in sorted(n for n in lines if n >= end):
        if lines[number].startswith("@@ "):
            header = lines[number][3:] + " "
            path = next((path for path in paths if header.startswith(f"{path} ")), None)
            here = strictest if path is None else readers(path)
        found[number] = here
    return found


def _told(
    row: Row, changed: Sequence[tuple[str, Readers]], to: Readers, own: Readers
) -> dict[str, str]:
    """The metadata of a chunk that ``to`` may see: the files that they may, and how many."""
    known = json.loads(row["metadata"])
    paths = [path for path, readers in changed if readers == to]
    told: dict[str, Any] = {CHANGED_PATHS: paths or None, "files": None}
    told[ALLOWED] = None if to == own else list(to or ())
    return {"metadata": metadata_json({**known, **told})}
