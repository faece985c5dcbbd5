"""Every line that a regular expression matches, in the chunks that a query may see."""

from functools import partial
from typing import Any

import polars as pl
from psycopg.rows import TupleRow

from operators.postgres.search.batches import Deadline, run
from operators.postgres.search.version_filters import seen
from operators.postgres.search.visible_chunks import search_filters
from operators.postgres.store import Connection, Store

OCCURRENCES = pl.Schema(
    {
        "corpus": pl.String(),
        "repo": pl.String(),
        "document_id": pl.String(),
        "path": pl.String(),
        "chunk_id": pl.Int64(),
        "line": pl.UInt32(),  # of the file, from 1; null where the text has no lines of a file
        "text": pl.String(),  # of a longer line the LONGEST characters around the match
    }
)

LONGEST = 200


def occurrences(
    store: Store, corpus: str, queries: pl.DataFrame, *, most: int, timeout_s: float | None
) -> pl.DataFrame:
    """``OCCURRENCES``: the first ``most`` lines that the query's ``pattern`` matches, by file.

    Args:
        corpus: its name in the collection.
        queries: columns ``SCOPED_QUERIES``; one query, whose filters and versions apply.

    Raises:
        SearchTimeout: ``timeout_s`` has passed.
    """
    deadline = Deadline.after(timeout_s, f"looking for lines in corpus {corpus!r}")
    rows = []
    for query_id, scope in search_filters(store, deadline, corpus, queries).items():
        (pattern,) = queries.filter(query_id=query_id)["pattern"]
        parameters: dict[str, Any] = {"corpus": corpus, "wanted": pattern, "most": most}
        # OFFSET keeps the expression away from chunks that the caller may not see
        statement = f"""
            SELECT c.repo, c.document_id, c.path, min(c.chunk_id), c.line,
                substr(c.text, greatest(1, least(length(c.text) - {LONGEST}, strpos(c.text,
                    coalesce(substring(c.text, %(wanted)s), '')) - {LONGEST // 2})), {LONGEST})
            FROM (SELECT s.repo, s.document_id, s.path, s.chunk_id,
                         s.start_line + l.n - 1 AS line, l.text
                  FROM (SELECT c.* FROM chunks c WHERE {seen(scope, "c", parameters)} OFFSET 0) s,
                       regexp_split_to_table(s.text, E'\\n') WITH ORDINALITY AS l(text, n)
                  WHERE l.text ~ %(wanted)s::text) c
            GROUP BY c.repo, c.document_id, c.path, c.line, c.text
            ORDER BY c.repo, c.path, c.document_id, c.line, 4 LIMIT %(most)s
            """
        found = run(store, deadline, partial(_read, statement, parameters))
        rows += [(corpus, *row) for row in found]
    return pl.DataFrame(rows, schema=OCCURRENCES, orient="row")


def _read(statement: str, parameters: dict[str, Any], conn: Connection) -> list[TupleRow]:
    return conn.execute(statement, parameters).fetchall()
