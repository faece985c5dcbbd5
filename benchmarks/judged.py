"""Judged data sets: where they are, their queries and judgements, and means over a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import ir_measures
import polars as pl

from dataflow.evaluation.answers import questions
from operators.evaluation.evaluation_frames import QRELS
from operators.evaluation.judgements import check_judged, read_qrels, read_queries
from operators.evaluation.measures import scores
from operators.evaluation.ranked_documents import ranked_documents
from operators.evaluation.trec import numbered

NDCG, RECALL = "nDCG@10", "R@50"


def data_folder() -> Path:
    """The folder of the judged sets: ``CROSSCORPUS_TEST_DATA``, else ``../shared/data``."""
    path = os.environ.get("CROSSCORPUS_TEST_DATA")
    return Path(path) if path else Path(__file__).parents[2] / "shared" / "data"


def set_folder(name: str) -> Path:
    """The folder of the set ``name``.

    Raises:
        SystemExit: it is not on this machine.
    """
    folder = data_folder() / name
    if not folder.is_dir():
        raise SystemExit(
            f"no judged set {name!r} in {data_folder()}: the sets are not part of this repository; "
            "CROSSCORPUS_TEST_DATA names their folder"
        )
    return folder


@dataclass(frozen=True)
class JudgedSet:
    """One data set: queries as the graph takes them, judgements, and which corpora are judged."""

    name: str
    queries: pl.DataFrame  # corpora: the judged ones
    names: dict[int, str]  # query_id of the frame -> query id of the judgements
    qrels: list[ir_measures.Qrel]

    @property
    def documents(self) -> Path:
        """The file to ingest."""
        return data_folder() / self.name / "documents.jsonl.gz"

    def several(self) -> list[str]:
        """The queries that are judged in more than one corpus."""
        counts = self.queries.select("query_id", pl.col("corpora").list.len()).rows()
        return [self.names[query_id] for query_id, number in counts if (number or 0) > 1]


def judged_set(name: str) -> JudgedSet:
    """Read the open half of the set ``name``.

    Raises:
        SystemExit: the judged data is not on this machine.
    """
    folder = set_folder(name) / "dev"
    queries, qrels = check_judged(
        read_queries(folder / "queries.jsonl"), read_qrels(folder / "qrels.tsv")
    )
    return JudgedSet(
        name,
        questions(queries).with_columns(corpora=queries["corpora"].list.sort()),
        dict(queries.select("number", "query_id").iter_rows()),
        [ir_measures.Qrel(*row) for row in qrels.iter_rows()],
    )


def document_run(ranked: pl.DataFrame, chunks: pl.DataFrame, judged: JudgedSet) -> pl.DataFrame:
    """Chunks in ranking order to documents, each at its best chunk; a copy follows its survivor.

    Args:
        ranked: query_id, chunk_id, rank, and ``alternate_sources`` where dedup ran.
        chunks: chunk_id and document_id of every chunk that a list held.
        judged: names the queries.

    Returns:
        query_id (the judgements' id), doc_id, score (higher is better).
    """
    placed = chunks.select("chunk_id", "document_id", corpus=pl.lit(""))
    names = pl.DataFrame(
        {"number": list(judged.names), "name": list(judged.names.values())},
        schema={"number": pl.UInt32, "name": pl.String},
    )
    documents = ranked_documents(ranked, placed).join(
        names, left_on="query_id", right_on="number", maintain_order="left"
    )
    run = numbered(documents.select("doc_id", "corpus", query_id="name"), judged.name)
    return run.select("query_id", "doc_id", "score")


def mean(
    measure: str,
    run: pl.DataFrame,
    qrels: Sequence[ir_measures.Qrel],
    only: Iterable[str] | None = None,
) -> float:
    """The measure's mean over the judged queries (those of ``only``); no answer counts as 0."""
    wanted = None if only is None else set(only)
    kept = [qrel[:3] for qrel in qrels if wanted is None or qrel.query_id in wanted]
    if not kept:
        return float("nan")
    judged = pl.DataFrame(kept, schema=QRELS, orient="row")
    values = scores(run.with_columns(config=pl.lit("")), judged, [""], measures=[measure])
    return float(values["value"].sum() / values.height)
