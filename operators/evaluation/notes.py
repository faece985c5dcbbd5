"""Notes on the numbers of an evaluation."""

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
    """A sentence for each fact about the numbers that a reader would not expect.

    ``queries`` are the ``given_queries`` of the file that have judgements, ``qrels`` their
    judgements; ``homes`` has the doc_id of the judged documents that the collection has.
    """
    unjudged = given_queries.join(queries, on="query_id", how="anti")["query_id"]
    notes = _note(unjudged, "query", "queries", "without judgements left out")
    unknown = given_qrels.join(given_queries, on="query_id", how="anti")["query_id"]
    notes += _note(unknown, "judged query is", "judged queries are", "not in the file of queries")
    relevant = qrels.filter(pl.col("grade") > 0)
    hopeless = queries.join(relevant, on="query_id", how="anti")["query_id"]
    notes += _note(hopeless, "query has", "queries have", "no relevant document, and score 0")
    missing = relevant.join(homes, on="doc_id", how="anti")["doc_id"]
    rest = "not in the collection, and can't be found"
    notes += _note(missing, "relevant document is", "relevant documents are", rest)
    for config in configs:
        run = runs.filter(config=config)
        silent = queries.join(run, on="query_id", how="anti")["query_id"]
        notes += [
            f"{config} answers nothing to {note}" for note in _note(silent, "query", "queries")
        ]
    return tuple(notes)


def _note(ids: pl.Series, one: str, more: str, rest: str = "") -> list[str]:
    """The number of ``ids`` in a sentence, with the first of them; nothing if there are none."""
    ids = ids.unique().sort()
    sentence = f"{one if len(ids) == 1 else more} {rest}".strip()
    return [f"{len(ids)} {sentence}: {ids[0]}"] if len(ids) else []
