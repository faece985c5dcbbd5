"""Deletes documents from a collection, and updates the versions that they were part of."""

import polars as pl

from dataflow.ingestion.version_discovery import find_versions
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.store import Store
from operators.postgres.write.removal import choose_documents, delete_chosen


def drop_documents(
    store: Store,
    *,
    corpus: str | None = None,
    repo: str | None = None,
    document: str | None = None,
    dry_run: bool = False,
) -> pl.DataFrame:
    """Delete documents: their rows, vectors, cached copies, and what a sync fetched for them.

    The next run of their source ingests them again, unless ``.crosscorpusignore`` or ``--exclude``
    leaves them out. The bytes of their texts stay in the server's files and log until it overwrites
    them: a secret must be rotated.

    Args:
        corpus, repo, document: as for :func:`operators.postgres.write.removal.choose_documents`.
        dry_run: delete nothing.

    Returns:
        The documents (:data:`operators.postgres.write.removal.CHOSEN`).

    Raises:
        CrosscorpusError: no filter is given, or no document passes all of them.
    """
    chosen = choose_documents(store, corpus=corpus, repo=repo, document=document)
    if not dry_run:
        delete_chosen(store, chosen)
        make_searchable(store, sorted(set(chosen["corpus"])))
        find_versions(store)
    return chosen
