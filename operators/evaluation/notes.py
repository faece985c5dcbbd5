"""What the numbers of an evaluation leave out."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def evaluation_notes(
    given_queries: pl.DataFrame,
    given_qrels: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    homes: pl.DataFrame,
    runs: pl.DataFrame,
    configs: Sequence[str],
) -> tuple[str, ...]:
    """One sentence for each thing that a reader would not guess; none where all is plain.

    Args:
        given_queries: columns ``JUDGED_QUERIES``, all of the file.
        given_qrels: columns ``QRELS``, all of the file.
        queries: those with judgements.
        qrels: those of these queries.
        homes: doc_id of the judged documents that the collection has.
        runs: columns ``RUN``.
        configs: the configurations that were asked.
    """
    notes = []
    unjudged = given_queries.height - queries.height
    if unjudged:
        first = given_queries.join(queries, on="query_id", how="anti")["query_id"].sort()[0]
        notes.append(f"{_count(unjudged, 'query', 'queries')} without judgements left out: {first}")
    unknown = given_qrels.join(given_queries, on="query_id", how="anti")["query_id"].unique().sort()
    if len(unknown):
        what = _count(len(unknown), "judged query is", "judged queries are")
        notes.append(f"{what} not in the file of queries: {unknown[0]}")
    hopeless = queries.join(qrels.filter(pl.col("grade") > 0), on="query_id", how="anti")
    if hopeless.height:
        what = _count(hopeless.height, "query has", "queries have")
        notes.append(f"{what} no relevant document, and score 0: {hopeless['query_id'].sort()[0]}")
    missing = qrels.filter(pl.col("grade") > 0).join(homes, on="doc_id", how="anti")
    if missing.height:
        ids = missing["doc_id"].unique().sort()
        what = _count(len(ids), "relevant document is", "relevant documents are")
        notes.append(f"{what} not in the collection, and can't be found: {ids[0]}")
    for config in configs:
        run = runs.filter(pl.col("config") == config)
        silent = queries.join(run, on="query_id", how="anti")
        if silent.height:
            what = _count(silent.height, "query", "queries")
            notes.append(f"{config} answers nothing to {what}: {silent['query_id'].sort()[0]}")
    return tuple(notes)


def _count(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"
