"""Deletes documents and the copies of their text: cached vectors, and what a sync fetched for them.

The server keeps the bytes of deleted rows in its files and its log until it overwrites them.
"""

from functools import partial

import polars as pl

from operators.errors import CrosscorpusError, UnknownName, suggest
from operators.foundation.sanitize import clean_text
from operators.postgres.store import Connection, Store
from operators.postgres.undeleted_notes import SOURCE as UNDELETED
from operators.postgres.write.document_writer import delete_documents
from operators.postgres.write.embedding_cache import forget_unused_vectors

CHOSEN = pl.Schema(
    {
        **dict.fromkeys(("corpus", "repo", "document_id", "path"), pl.String()),
        "chunks": pl.Int32(),
    }
)

_FORGET_ITEMS = """
    DELETE FROM sync_items USING documents d, sync_state s
    WHERE d.corpus = %s AND d.repo = %s AND d.document_id = ANY(%s)
      AND s.name = 'repository' AND s.value::json->>'repo' = d.repo
      AND sync_items.source = s.source AND sync_items.number::text = d.metadata::json->>'{}'
"""
_FORGET_PROGRESS = """
    WITH fetched AS (
        SELECT source, value::json->>'repo' AS repo FROM sync_state
        WHERE name = 'repository' AND value::json->>'repo' = %s
    ), items AS (
        DELETE FROM sync_items i USING fetched f WHERE i.source = f.source AND NOT EXISTS (
            SELECT 1 FROM documents d WHERE d.repo = f.repo AND d.corpus IN ('review', 'issue')
              AND i.number::text IN (d.metadata::json->>'pr_number',
                                     d.metadata::json->>'issue_number'))
    )
    DELETE FROM sync_state s USING fetched f WHERE s.source = f.source AND s.name <> 'repository'
"""
_FORGET_RUNS = """
    DELETE FROM runs
    WHERE strpos(source, ' ') > 0
      AND (finished_at IS NOT NULL OR strpos(source || ' ', ' ' || %s::text || ' ') > 0)
      AND NOT EXISTS (SELECT 1 FROM (SELECT DISTINCT repo FROM documents) AS d
                      WHERE strpos(source || ' ', ' ' || d.repo || ' ') > 0)
"""
_ON_GITHUB = {"review": "pr_number", "issue": "issue_number"}


def choose_documents(
    store: Store, *, corpus: str | None = None, repo: str | None = None, document: str | None = None
) -> pl.DataFrame:
    """``CHOSEN``: the documents that pass all given filters, also those that could not be read.

    ``document`` is an id or a path.

    Raises:
        CrosscorpusError: no filter is given.
        UnknownName: no document passes; suggests the nearest corpus, repository or path.
    """
    filters = {"corpus": corpus, "repo": repo, "document": document}
    conditions = {name: clean_text(value) for name, value in filters.items() if value is not None}
    if not conditions:
        raise CrosscorpusError(
            "say what to drop: a corpus (--corpus), a repository (--repo) or a document"
        )
    columns = {"corpus": "corpus", "repo": "repo", "document": "document_id, path"}
    where = " AND ".join(f"%s IN ({columns[name]})" for name in conditions)
    rows = store.rows(
        f"SELECT corpus, repo, document_id, path, chunks FROM documents WHERE {where}"
        " ORDER BY corpus, repo, document_id",
        list(conditions.values()),
    )
    if not rows:
        raise UnknownName(_nothing(store, conditions))
    return pl.DataFrame(rows, schema=CHOSEN, orient="row")


def delete_chosen(store: Store, chosen: pl.DataFrame) -> None:
    """Delete ``chosen`` (``CHOSEN``), and the data that a sync fetched for them."""
    for (corpus, repo), part in chosen.partition_by("corpus", "repo", as_dict=True).items():
        names = part["document_id"].to_list()
        for first in range(0, len(names), 500):
            some = names[first : first + 500]
            if (number := _ON_GITHUB.get(str(corpus))) is not None:
                store.execute(_FORGET_ITEMS.format(number), (corpus, repo, some))
            delete_documents(store, str(corpus), str(repo), some)
        store.run(partial(_forget_source, corpus=str(corpus), repo=str(repo)))
    forget_unused_vectors(store)


def _forget_source(conn: Connection, corpus: str, repo: str) -> None:
    """Delete the sync position of a fetched source, and all state of one without documents.

    A sync then fetches everything again. The address and the runs of a source without documents
    must not remain, and its items may have had no documents before.
    """
    if corpus in _ON_GITHUB:
        conn.execute(_FORGET_PROGRESS, (repo,))
    empty = "NOT EXISTS (SELECT 1 FROM documents WHERE corpus = %(corpus)s AND repo = %(repo)s)"
    parameters = {"corpus": corpus, "repo": repo, "owner": f"{corpus} {repo}"}
    conn.execute(
        f"DELETE FROM sync_state WHERE right(source, -strpos(source, ' ')) = %(owner)s AND {empty}",
        parameters,
    )
    conn.execute(
        "DELETE FROM sync_state WHERE source = %(undeleted)s"
        f" AND right(name, -strpos(name, ' ')) = %(owner)s AND {empty}",
        parameters | {"undeleted": UNDELETED},
    )
    conn.execute(_FORGET_RUNS, (repo,))


def _nothing(store: Store, conditions: dict[str, str]) -> str:
    """The error if no document passes all filters: the filter without documents, a suggestion."""
    for name, value in conditions.items():
        column = {"document": "coalesce(path, document_id)"}.get(name, name)
        known = [str(row[0]) for row in store.rows(f"SELECT DISTINCT {column} FROM documents")]
        if value not in known:
            near = suggest(value, known)
            return f"no {name} {value!r}{near if near.startswith(',') or len(known) < 20 else ''}"
    return f"no document is of {' and '.join(f'{n} {v!r}' for n, v in conditions.items())}"
