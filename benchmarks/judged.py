"""Judged data sets: where they are, their queries and judgements, and the metrics over a run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import ir_measures
import polars as pl

from operators.frames import QUERIES

NDCG = ir_measures.nDCG(gains={1: 1, 2: 3, 3: 7, 4: 15}) @ 10  # gain 2^grade - 1
RECALL = ir_measures.R @ 50


def data_folder() -> Path:
    """The folder of the judged sets: ``CROSSCORPUS_TEST_DATA``, else ``../shared/data``."""
    given = os.environ.get("CROSSCORPUS_TEST_DATA")
    return Path(given) if given else Path(__file__).parents[2] / "shared" / "data"


@dataclass(frozen=True)
class JudgedSet:
    """One data set: queries in the graph's form, judgements, and which corpora are judged."""

    name: str
    queries: pl.DataFrame  # QUERIES; corpora: the judged ones
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
        FileNotFoundError: the judged data is not on this machine.
    """
    folder = data_folder() / name / "dev"
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    frame = pl.DataFrame(
        [
            {
                "query_id": number,
                "texts": [row["text"]],
                "trigger": [{"trigger": row["trigger"], "share": 1.0}]
                if row.get("trigger")
                else [],
                "as_of": row.get("as_of"),
                "corpora": row.get("judged_corpora"),
            }
            for number, row in enumerate(rows)
        ],
        schema={**QUERIES, "as_of": pl.String()},
    ).with_columns(pl.col("as_of").str.to_datetime("%+", time_unit="us", time_zone="UTC"))
    names = {number: row["query_id"] for number, row in enumerate(rows)}
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.tsv")))
    known = set(names.values())
    return JudgedSet(name, frame, names, [qrel for qrel in qrels if qrel.query_id in known])


def document_run(ranked: pl.DataFrame, chunks: pl.DataFrame, judged: JudgedSet) -> pl.DataFrame:
    """Chunks in ranking order to documents, each at its best chunk; a copy follows its survivor.

    Args:
        ranked: query_id, chunk_id, rank, and ``alternate_sources`` where dedup ran.
        chunks: chunk_id and document_id of every chunk that a list held.
        judged: names the queries.

    Returns:
        query_id (the judgements' id), doc_id, score (higher is better).
    """
    survivors = ranked.select("query_id", "rank", "chunk_id", place=pl.lit(0, pl.UInt32))
    if "alternate_sources" in ranked.columns:
        copies = (
            ranked.select("query_id", "rank", "alternate_sources")
            .explode("alternate_sources")
            .drop_nulls("alternate_sources")
            .select(
                "query_id",
                "rank",
                chunk_id=pl.col("alternate_sources").struct.field("chunk_id"),
                place=pl.int_range(1, pl.len() + 1, dtype=pl.UInt32).over("query_id", "rank"),
            )
        )
        survivors = pl.concat([survivors, copies.select(survivors.columns)])
    documents = (
        survivors.join(chunks.select("chunk_id", "document_id").unique("chunk_id"), on="chunk_id")
        .sort("query_id", "rank", "place", "chunk_id")
        .unique(["query_id", "document_id"], keep="first", maintain_order=True)
        .with_columns(at=pl.int_range(pl.len()).over("query_id"))
    )
    names = pl.DataFrame(
        {"number": list(judged.names), "name": list(judged.names.values())},
        schema={"number": pl.UInt32, "name": pl.String},
    )
    return documents.join(names, left_on="query_id", right_on="number").select(
        query_id="name", doc_id="document_id", score=-pl.col("at").cast(pl.Float64)
    )


def mean(
    measure: ir_measures.measures.Measure,
    run: pl.DataFrame,
    qrels: Sequence[ir_measures.Qrel],
    only: Iterable[str] | None = None,
) -> float:
    """The measure's mean over the judged queries (those of ``only``); no answer counts as 0."""
    wanted = {qrel.query_id for qrel in qrels}
    if only is not None:
        wanted &= set(only)
    kept = [qrel for qrel in qrels if qrel.query_id in wanted]
    if not kept:
        return float("nan")
    scored = [ir_measures.ScoredDoc(*row) for row in run.iter_rows() if row[0] in wanted]
    values = {m.query_id: m.value for m in ir_measures.iter_calc([measure], kept, scored)}
    return sum(values.get(name, 0.0) for name in wanted) / len(wanted)
