"""Ingesting one source into an open store: `ingest_git(store, embedder, folder)` and its kin."""

from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest

from dataflow.ingestion.loop import ingest
from dataflow.ingestion.run import IngestReport, Progress
from operators.embedding.protocol import Embedder
from operators.postgres.store import Store, set_background
from operators.sources.folder import folder_source
from operators.sources.git.git_source import git_source
from operators.sources.jsonl import documents_source
from operators.sources.protocol import Source
from operators.sources.wiki.wiki_source import wiki_source


def _ingesting(source: Callable[..., Source]) -> Callable[..., IngestReport]:
    """What ingests ``source``; its arguments follow the store and the embedder.

    The options are those of ``ingest``; ``prune`` says of exported files that they are all there
    is: what they lack is deleted.
    """
    own = signature(source).parameters

    def run(store: Store, embedder: Embedder, *args: Any, **options: Any) -> IngestReport:
        if "whole" in own:
            options["whole"] = bool(options.get("prune"))
        kept = {name: options.pop(name) for name in own.keys() & options.keys()}
        if embedder.model in ("words", "random"):  # tests count with its similarities as they are
            set_background(store, 0.0)
        return ingest(store, embedder, source(*args, **kept), **options)

    return run


ingest_documents = _ingesting(documents_source)
ingest_git = _ingesting(git_source)
ingest_folder = _ingesting(folder_source)
ingest_wiki = _ingesting(wiki_source)


def interrupted(ingesting: Callable[..., IngestReport], *args: Any, **options: Any) -> None:
    """Interrupt a run of ``ingesting`` after the first batch that it stored."""

    def on_event(progress: Progress) -> None:
        if progress.documents:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingesting(*args, on_event=on_event, **options)
