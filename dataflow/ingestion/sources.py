"""Ingests the sources of :mod:`crosscorpus.sources`, such as ``git``, with :func:`ingest_into`.

A sync with GitHub stores the fetched items: it has no source before the store is open.
"""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from dataflow.configuration.config_model import Config, as_config
from dataflow.configuration.hamilton_config import corpora_with
from dataflow.configuration.loader import shipped_maps
from dataflow.ingestion.loop import ingest
from dataflow.ingestion.run import IngestReport, OnEvent
from operators.embedding.protocol import Embedder
from operators.embedding.registry import load_embedder
from operators.postgres.inspect.who_sees import for_owner
from operators.postgres.schema.plain_text import index_plain_text
from operators.postgres.store import Store, collection_info, collections, open_store
from operators.sources.folder import folder_source as folder
from operators.sources.git.git_source import git_source as git
from operators.sources.github.github_api import GithubApi, open_github
from operators.sources.github.github_mirror import Found, OnFetched, mirror_source, refresh
from operators.sources.jsonl import documents_source as documents
from operators.sources.protocol import Source
from operators.sources.reader import reader_source
from operators.sources.records.record_map import RecordMap, read_map
from operators.sources.records.record_source import records_source
from operators.sources.wiki.wiki_source import wiki_source as wiki

__all__ = ["documents", "folder", "git", "ingest_into", "records"]
__all__ += ["run_into", "sync_github", "wiki"]


def records(path: Path | str, map: str | RecordMap, **how: Any) -> Source:
    """The documents that a map makes of a service's records.

    Args:
        path: JSON, CSV, mail, HTML, or a folder or a ZIP of such.
        map: the name of a shipped map (``crosscorpus map list``), a file, or a map.
        how: as for :func:`operators.sources.records.record_source.records_source`.

    Raises:
        CrosscorpusError: there is no such map or path.
    """
    read = map if isinstance(map, RecordMap) else read_map(map, shipped_maps())
    return records_source(path, read, **how)


def ingest_into(
    collection: str,
    source: Source | Any,
    *,
    config: Config | str | Path | Mapping[str, Any] = "default",
    model: str | None = None,
    dsn: str | None = None,
    on_event: OnEvent | None = None,
    **how: Any,
) -> IngestReport:
    """Update a collection to the state of ``source``; it is created if absent.

    Args:
        collection: its name.
        source: from :mod:`crosscorpus.sources`, such as ``sources.git("~/src/app")``, or a reader
            of your own (:func:`operators.sources.reader.reader_source`).
        config: states the model and the corpora.
        model: replaces the configuration's.
        dsn: the server; None: ``CROSSCORPUS_DSN``, else the user's embedded server.
        on_event: receives the progress of the run.
        how: as for :func:`dataflow.ingestion.loop.ingest`: ``prune``, ``secrets``, ``wait``, ...

    Returns:
        The report. It contains errors of single documents, which are not raised.

    Raises:
        CrosscorpusError: the source can't be read (then no collection is made for it), or the run
            cannot start: another model, no server.
    """
    source = source if isinstance(source, Source) else reader_source(source)
    source.check()
    if collection not in collections(dsn):
        next(source.scan(), None)
    run = partial(ingest, source=source, on_event=on_event, **how)
    return run_into(collection, run, config=config, model=model, dsn=dsn)


def run_into(
    collection: str,
    run: Callable[[Store, Embedder], IngestReport],
    *,
    config: Config | str | Path | Mapping[str, Any] = "default",
    model: str | None = None,
    dsn: str | None = None,
) -> IngestReport:
    """The report of ``run`` on the opened collection; arguments as for :func:`ingest_into`."""
    settings = as_config(config)
    embedder = load_embedder(model or settings.embedding)
    with open_store(dsn, collection, create=True) as store:
        report = run(store, embedder)
        index_plain_text(store, corpora_with(settings, "text_search", "plain"))
        store.forget_info()
        report.unsearched = sorted(set(collection_info(store).corpora) - set(settings.corpora))
        report.hidden = for_owner(store)
    return report


def sync_github(
    store: Store,
    embedder: Embedder,
    repository: str | Found,
    *,
    api: GithubApi | None = None,
    repo: str | None = None,
    full: bool = False,
    rights: bool | None = None,
    on_fetched: OnFetched | None = None,
    **options: Any,
) -> IngestReport:
    """Update the corpora ``review`` and ``issue`` of one repository to its state on GitHub.

    Args:
        embedder: the collection's model.
        repository: ``owner/name``, or the result of its lookup.
        api: an open connection; None: the environment's.
        repo, full, rights, on_fetched: see
            :func:`operators.sources.github.github_mirror.refresh`.
        options: as in :func:`dataflow.ingestion.loop.ingest`.

    Raises:
        CrosscorpusError: GitHub refuses or does not reply. Then no document was written, the store
            keeps the fetched items, and the next run resumes there.
    """
    fetching: dict[str, Any] = {"repo": repo, "full": full, "rights": rights}
    fetching["secrets"] = options.get("secrets")
    with open_github() if api is None else nullcontext(api) as connection:
        mirror = refresh(store, connection, repository, on_fetched=on_fetched, **fetching)
    return ingest(store, embedder, mirror_source(store, mirror), **options)
