"""What lies on this machine: a git tree, a folder of documents, a wiki, documents as JSON lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dataflow.ingestion.loop import ingest
from dataflow.ingestion.report import IngestReport
from operators.embedding.protocol import Embedder
from operators.postgres.store import Store
from operators.sources.folder import folder_source
from operators.sources.git.git_source import git_source
from operators.sources.jsonl import documents_source
from operators.sources.wiki.wiki_source import wiki_source


def ingest_documents(
    store: Store, embedder: Embedder, path: Path | str, *, prune: bool = False, **options: Any
) -> IngestReport:
    """Ingest a JSONL file (:mod:`operators.sources.jsonl`); options as in `ingest`.

    Args:
        store: the open collection.
        embedder: its model.
        path: the file, plain or gzipped.
        prune: the file is all there is of the corpora and repos in it: documents that an earlier
            file brought in and this one lacks are deleted.
    """
    return ingest(store, embedder, documents_source(path), prune=prune, **options)


def ingest_git(
    store: Store,
    embedder: Embedder,
    path: Path | str,
    *,
    repo: str | None = None,
    exclude: Sequence[str] = (),
    **options: Any,
) -> IngestReport:
    """Ingest a git working tree; options as in :func:`ingest`."""
    return ingest(store, embedder, git_source(path, repo, exclude=exclude), **options)


def ingest_folder(
    store: Store,
    embedder: Embedder,
    path: Path | str,
    *,
    corpus: str = "docs",
    repo: str | None = None,
    base_url: str | None = None,
    **options: Any,
) -> IngestReport:
    """Ingest a folder of documents (:mod:`operators.sources.folder`); options as in `ingest`.

    ``base_url`` is kept for later runs that give none; an empty one drops it.
    """
    return ingest(store, embedder, folder_source(path, corpus, repo, base_url=base_url), **options)


def ingest_wiki(
    store: Store,
    embedder: Embedder,
    path: Path | str,
    *,
    repo: str | None = None,
    base_url: str | None = None,
    **options: Any,
) -> IngestReport:
    """Ingest a wiki; options as in :func:`ingest_folder`."""
    return ingest(store, embedder, wiki_source(path, repo, base_url=base_url), **options)
