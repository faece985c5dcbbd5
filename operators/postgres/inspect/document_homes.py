"""Documents of the ledger by id: where judged ones are, and how many."""

import polars as pl

from operators.postgres.store import Store

DOCUMENT_HOMES = pl.Schema(
    {
        "doc_id": pl.String(),  # as the judgements name it
        "corpus": pl.String(),
        "repo": pl.String(),
        "document_id": pl.String(),
        "path": pl.String(),
    }
)


def count_documents(store: Store) -> dict[str, int]:
    """The number of searchable documents, by corpus."""
    rows = store.rows(
        "SELECT corpus, count(DISTINCT document_id) FROM documents WHERE state = 'indexed'"
        " GROUP BY corpus ORDER BY corpus"
    )
    return {str(corpus): int(count) for corpus, count in rows}


def document_homes(store: Store, judged_ids: pl.Series) -> pl.DataFrame:
    """The judged documents that the store has (columns ``DOCUMENT_HOMES``, in their order).

    An id is a document's, ``REPOSITORY:ID``, or either followed by ``:FIRST-LAST`` (lines).
    """
    rows = store.rows(
        "WITH given AS (SELECT DISTINCT unnest(%s::text[]) AS id),"
        " judged AS (SELECT id, id AS name FROM given UNION"
        r" SELECT id, regexp_replace(id, ':\d+-\d+$', '') FROM given),"
        " stored AS (SELECT corpus, repo, document_id, path FROM documents WHERE state = 'indexed')"
        " SELECT id, stored.* FROM judged JOIN stored ON document_id = name UNION"
        " SELECT id, stored.* FROM judged JOIN stored ON repo || ':' || document_id = name",
        (judged_ids.to_list(),),
    )
    return pl.DataFrame(rows, schema=DOCUMENT_HOMES, orient="row").sort(list(DOCUMENT_HOMES))
