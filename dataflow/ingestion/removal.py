"""Deletes documents from a collection, and updates the versions that they were part of."""

import polars as pl

from dataflow.ingestion.version_discovery import find_versions
from operators.postgres.inspect.verify import FINDINGS
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.store import Store
from operators.postgres.write.removal import choose_documents, delete_for_good, erase, to_be_erased


def drop_documents(
    store: Store,
    *,
    corpus: str | None = None,
    repo: str | None = None,
    document: str | None = None,
    dry_run: bool = False,
) -> tuple[pl.DataFrame, list[str]]:
    """Delete documents permanently: their rows, vectors, cached copies, statistics and the log.

    The next run of their source ingests them again, unless ``.crosscorpusignore`` or ``--exclude``
    leaves them out. While the server rewrites tables into new files, ingestions wait; queries
    continue, except for moments.

    Args:
        corpus, repo, document: as for :func:`operators.postgres.write.removal.choose_documents`.
        dry_run: delete nothing.

    Returns:
        The documents (:data:`operators.postgres.write.removal.CHOSEN`), and what the server could
        not erase, in sentences.

    Raises:
        CrosscorpusError: no filter is given, or no document passes all of them.
    """
    if not dry_run and to_be_erased(store):  # an earlier call was interrupted
        erase(store)
    chosen = choose_documents(store, corpus=corpus, repo=repo, document=document)
    if dry_run:
        return chosen, []
    corpora = sorted(set(chosen["corpus"]))
    delete_for_good(store, chosen)
    make_searchable(store, corpora)
    find_versions(store)
    return chosen, erase(store)


def verify_erased(store: Store, *, repair: bool = False) -> pl.DataFrame:
    """The corpora where an interrupted drop deleted documents but did not erase them yet.

    Returns:
        Columns ``operators.postgres.inspect.verify.FINDINGS``; kind ``not_erased``.
    """
    corpora = to_be_erased(store)
    if repair and corpora:
        erase(store)
    says = "what was dropped is still in files of the server"
    rows = [("not_erased", corpus, None, None, says, repair) for corpus in corpora]
    return pl.DataFrame(rows, schema=FINDINGS, orient="row")
