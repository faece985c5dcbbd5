"""The quality of a run, per query, by ir-measures (MacAvaney, Macdonald, Ounis, ECIR 2022).

nDCG@k has the gain 2^grade - 1 (Burges et al., ICML 2005). The others count a document of grade 1
or more as relevant: Acc@k, also called Success@k, is 1 if one of the first k documents is
relevant; P@k, R@k, RR@k and AP@k are precision, recall, reciprocal rank (MRR is its mean) and
average precision. A query with judgements and without results has 0.
"""

import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from operators.errors import CrosscorpusError, check_known
from operators.evaluation.evaluation_frames import CORPUS_SCORES, MEASURES, SCORES
from operators.evaluation.ranked_documents import IN_JUDGED_CORPUS
from operators.foundation.extras import installing
from operators.frames import empty


class MissingMeasures(CrosscorpusError, ImportError):
    """The library that computes the measures is not installed."""


try:
    import ir_measures
except ImportError as error:
    raise MissingMeasures(f"an evaluation needs {error.name}: {installing('evaluate')}") from None

_NAME = re.compile(r"(?:nDCG|Acc|Success|P|R)@[1-9]\d{0,5}|(?:RR|MRR|AP)(?:@[1-9]\d{0,5})?")
_SAME = {"Acc": "Success", "MRR": "RR"}
"""Other names of measures, and those of ir-measures."""
_EXAMPLES = ("Acc@1", "Success@10", "P@10", "MRR")


def scores(
    run: pl.DataFrame,
    qrels: pl.DataFrame,
    configs: Sequence[str],
    *,
    measures: Sequence[str] = MEASURES,
) -> pl.DataFrame:
    """``SCORES``: the value of every measure for every query of ``qrels``, with results or without.

    By configuration (also one without results), measure, both in the given order, and query.

    Args:
        measures: names such as ``MEASURES``, ``Acc@1`` or ``nDCG@5``.

    Raises:
        UnknownName: there is no such measure.
    """
    if qrels.is_empty():
        return empty(SCORES)
    grades = qrels.with_columns(pl.col("grade").clip(0))
    calculated = {name: _measure(name, grades["grade"].max()) for name in measures}
    judged = _nested(grades, "grade")
    parts = [empty(SCORES)]
    for config in configs:
        values = _scored(_nested(run.filter(config=config), "score"), judged, calculated)
        parts.append(values.select(pl.lit(config).alias("config"), *list(SCORES)[1:]))
    return pl.concat(parts)


def corpus_scores(
    run: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    homes: pl.DataFrame,
    configs: Sequence[str],
    *,
    measures: Sequence[str] = MEASURES,
) -> pl.DataFrame:
    """``CORPUS_SCORES``: :func:`scores` over the documents of one corpus, for every judged corpus.

    A query counts in the corpora that it judges; ``homes`` has doc_id and corpus of the judged
    documents.
    """
    placed = qrels.join(homes.select("doc_id", "corpus").unique(), on="doc_id")
    placed = placed.join(queries.select("query_id", "corpora"), on="query_id")
    placed = placed.filter(IN_JUDGED_CORPUS)
    parts = [empty(CORPUS_SCORES)]
    for corpus in placed["corpus"].unique().sort():
        judged = placed.filter(corpus=corpus).select(qrels.columns)
        values = scores(run.filter(corpus=corpus), judged, configs, measures=measures)
        parts.append(values.with_columns(corpus=pl.lit(corpus)).select(list(CORPUS_SCORES)))
    return pl.concat(parts)


def check_measures(names: Sequence[str]) -> None:
    """Raise :class:`UnknownName` for the first of ``names`` that is no measure."""
    for name in names:
        if not _NAME.fullmatch(name):
            check_known("measure", name, [*MEASURES, *_EXAMPLES])


def _measure(name: str, highest: Any) -> Any:
    check_measures([name])
    family, _, cut = name.partition("@")
    if family == "nDCG":
        gains = {grade: 2**grade - 1 for grade in range(1, max(int(highest or 0), 1) + 1)}
        return ir_measures.nDCG(gains=gains) @ int(cut)
    known = ir_measures.parse_measure(_SAME.get(family, family))
    return known @ int(cut) if cut else known


def _nested(rows: pl.DataFrame, value: str) -> dict[str, dict[str, Any]]:
    """Query -> document -> value: ir-measures reads this form fastest."""
    nested: dict[str, dict[str, Any]] = {}
    for query_id, doc_id, number in rows.select("query_id", "doc_id", value).iter_rows():
        nested.setdefault(query_id, {})[doc_id] = number
    return nested


def _scored(
    run: dict[str, dict[str, Any]], judged: dict[str, dict[str, Any]], measures: dict[str, Any]
) -> pl.DataFrame:
    each = {measure: dict.fromkeys(judged, 0.0) for measure in measures.values()}
    judged_run = {query_id: documents for query_id, documents in run.items() if query_id in judged}
    for value in ir_measures.iter_calc(list(each), judged, judged_run) if judged_run else ():
        each[value.measure][value.query_id] = float(value.value)
    rows = [(q, name, v) for name, m in measures.items() for q, v in sorted(each[m].items())]
    schema = {name: SCORES[name] for name in ("query_id", "measure", "value")}
    return pl.DataFrame(rows, schema=schema, orient="row")
