"""Notes on the numbers of an evaluation."""

from collections.abc import Sequence

import polars as pl

from operators.errors import counted, first_of
from operators.evaluation.statistics import lowest_p
from operators.evaluation.tables import SIGNIFICANT


def evaluation_notes(
    given_queries: pl.DataFrame,
    given_qrels: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    homes: pl.DataFrame,
    runs: pl.DataFrame,
    configs: Sequence[str],
    *,
    usual_trigger: str | None = None,
) -> tuple[str, ...]:
    """A sentence for each fact about the numbers that a reader would not expect.

    ``queries`` are the ``given_queries`` of the file that have judgements, ``qrels`` their
    judgements; ``homes`` has the doc_id of the judged documents that the collection has.
    ``usual_trigger`` is that of the command `query`.
    """
    unjudged = given_queries.join(queries, on="query_id", how="anti")["query_id"]
    notes = _note(unjudged, "query", "queries", "without judgements left out")
    unknown = given_qrels.join(given_queries, on="query_id", how="anti")["query_id"]
    notes += _note(unknown, "judged query is", "judged queries are", "not in the file of queries")
    relevant = qrels.filter(pl.col("grade") > 0)
    hopeless = queries.join(relevant, on="query_id", how="anti")["query_id"]
    notes += _note(hopeless, "query has", "queries have", "no relevant document, and score 0")
    missing = relevant.join(homes, on="doc_id", how="anti")["doc_id"]
    rest = (
        f"not in the collection, and {'counts' if missing.n_unique() == 1 else 'count'} as missed"
    )
    notes += _note(missing, "relevant document is", "relevant documents are", rest)
    notes += _trigger_note(queries, usual_trigger)
    for config in configs:
        run = runs.filter(config=config)
        silent = queries.join(run, on="query_id", how="anti")["query_id"]
        notes += [
            f"{config} answers nothing to {note}" for note in _note(silent, "query", "queries")
        ]
    return tuple(notes)


def few_queries_note(queries: int, comparisons: int) -> list[str]:
    """A sentence if so few queries can't show a difference, with how many can; else nothing.

    No p of Holm's correction is below the smallest p times the number of ``comparisons``.
    """
    lowest = min(1.0, comparisons * lowest_p(queries))
    if lowest < SIGNIFICANT:
        return []
    enough = (n for n in range(queries, 63) if comparisons * lowest_p(n) < SIGNIFICANT)
    needed = next(enough, None)
    over = f" ({comparisons} comparisons)" if comparisons > 1 else ""
    advice = f": judge at least {needed}" if needed else ""
    few = counted(queries, "query", "queries")
    return [f"with {few} no corrected p{over} can be below {lowest:.2g}{advice}"]


def _trigger_note(queries: pl.DataFrame, usual_trigger: str | None) -> list[str]:
    without = queries["trigger"].null_count()
    if usual_trigger is None or not without:
        return []
    verbs, lines = ("has", "was"), "its line"
    if without > 1:
        verbs, lines = ("have", "were"), "their lines"
    return [
        f"{without} of {queries.height} queries {verbs[0]} no trigger and {verbs[1]} asked as "
        f"none; `crosscorpus query` asks as {usual_trigger}: "
        f'add "trigger": "{usual_trigger}" to {lines}'
    ]


def _note(ids: pl.Series, one: str, more: str, rest: str = "") -> list[str]:
    """The number of ``ids`` in a sentence, with the first three; nothing if there are none."""
    names = ids.unique().sort().to_list()
    sentence = f"{one if len(names) == 1 else more} {rest}".strip()
    return [f"{len(names)} {sentence}: {first_of(names, 3)}"] if names else []
