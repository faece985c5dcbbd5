"""The ledger's documents by id: the corpora of judged documents, and how many there are."""

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
