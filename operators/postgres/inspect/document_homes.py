"""The ledger's documents by id: the corpora and titles of judged ones, and how many there are."""

import polars as pl

from operators.postgres.store import Store

HOMES = pl.Schema({"doc_id": pl.String(), "corpus": pl.String()})


def count_documents(store: Store) -> dict[str, int]:
    """The number of documents that can be found, by corpus."""
    rows = store.rows(
        "SELECT corpus, count(DISTINCT document_id) FROM documents WHERE state = 'indexed'"
        " GROUP BY corpus ORDER BY corpus"
    )
    return {str(corpus): int(count) for corpus, count in rows}


def document_homes(store: Store, document_ids: pl.Series) -> pl.DataFrame:
    """The corpora of the documents that have one of the ids (columns ``HOMES``, in that order)."""
    rows = store.rows(
        "SELECT DISTINCT document_id, corpus FROM documents"
        " WHERE document_id = ANY(%s) AND state = 'indexed'",
        (document_ids.unique().sort().to_list(),),
    )
    return pl.DataFrame(rows, schema=HOMES, orient="row").sort("doc_id", "corpus")


def document_titles(store: Store, document_ids: pl.Series) -> dict[str, str]:
    """The title of each document that has one of the ids and another title, by its id."""
    rows = store.rows(
        "SELECT document_id, max(title) FROM documents WHERE document_id = ANY(%s)"
        " AND title NOT IN ('', document_id) GROUP BY document_id",
        (document_ids.drop_nulls().unique().to_list(),),
    )
    return {str(document_id): str(title) for document_id, title in rows}
