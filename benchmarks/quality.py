"""Ranking quality on the judged sets, against whole-document bm25s in the same run.

    python -m benchmarks.quality secp btc cosqa cranfield [--config NAME ...] [--channels]

Ingests a set into a collection of its name if there is none (embedding takes minutes), runs the
open queries as one batch and scores documents: judged corpora only, nothing at or after ``as_of``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator
from typing import Any

import bm25s
import numpy as np
import polars as pl

from benchmarks.judged import NDCG, RECALL, JudgedSet, document_run, judged_set, mean
from dataflow import RetrievalDriver, build_driver, load_config
from dataflow.evaluation.answers import for_evaluation
from dataflow.ingestion.loop import ingest
from operators.embedding.protocol import Embedder
from operators.embedding.registry import load_embedder
from operators.errors import UnknownName
from operators.foundation.tokenizer import tokens
from operators.postgres.store import Store, collection_info, open_store
from operators.ranking.bm25 import ANALYSED, analysed_text
from operators.sources.jsonl import documents_source

DEPTH = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--config", nargs="+", default=["default"])
    parser.add_argument("--channels", action="store_true", help="BM25 and vectors alone, by corpus")
    options = parser.parse_args()
    print("| set | system | nDCG@10 | several corpora | all corpora | recall@50 | s |")
    print("|---|---|---|---|---|---|---|")
    for name in options.sets:
        judged = judged_set(name)
        show(name, "bm25s, whole documents, RRF", *measured(judged, *bm25s_runs(judged)))
        for config in options.config:
            settings = for_evaluation(load_config(config))
            embedder = load_embedder(settings.embedding)
            with (
                opened(judged, embedder) as store,
                build_driver(settings, name, store=store, embedder=embedder) as driver,
            ):
                show(name, config, *measured(judged, *graph_runs(driver, store, judged)))
                if options.channels:
                    for line in channels(driver, store, judged):
                        print(line)


def show(name: str, system: str, *values: float) -> None:
    print(f"| {name} | {system} | " + " | ".join(f"{value:.3f}" for value in values) + " |")


def measured(
    judged: JudgedSet, run: pl.DataFrame, all_corpora: pl.DataFrame, seconds: float
) -> tuple[float, ...]:
    several = judged.several()
    return (
        mean(NDCG, run, judged.qrels),
        mean(NDCG, run, judged.qrels, several) if several else float("nan"),
        mean(NDCG, all_corpora, judged.qrels),
        mean(RECALL, run, judged.qrels),
        seconds,
    )


def opened(judged: JudgedSet, embedder: Embedder) -> Store:
    try:
        return open_store(collection=judged.name)
    except UnknownName:
        store = open_store(collection=judged.name, create=True)
        ingest(store, embedder, documents_source(judged.documents))
        return store


def graph_runs(
    driver: RetrievalDriver, store: Store, judged: JudgedSet
) -> tuple[pl.DataFrame, pl.DataFrame, float]:
    began = time.perf_counter()
    own = graph_run(driver, store, judged, judged.queries)
    seconds = time.perf_counter() - began
    every_corpus = judged.queries.with_columns(corpora=pl.lit(None, pl.List(pl.String)))
    all_corpora = graph_run(driver, store, judged, every_corpus) if judged.several() else own
    return own, all_corpora, seconds


def graph_run(
    driver: RetrievalDriver, store: Store, judged: JudgedSet, queries: pl.DataFrame
) -> pl.DataFrame:
    out = driver.execute(["unique", "chunks"], overrides={"queries": queries})
    return document_run(out["unique"], out["chunks"].select("chunk_id", "document_id"), judged)


def present(store: Store) -> dict[str, int]:
    return collection_info(store).corpora


def channels(driver: RetrievalDriver, store: Store, judged: JudgedSet) -> Iterator[str]:
    """Each list alone, a corpus a line, beside bm25s on the same chunks and the same tokens."""
    yield "\n| set | corpus | queries | BM25 | bm25s, same chunks | vectors | merged |"
    yield "|---|---|---|---|---|---|---|"
    for corpus in sorted(present(store)):
        queries = judged.queries.filter(
            pl.col("corpora").is_null() | pl.col("corpora").list.contains(corpus)
        )
        chunks = every_chunk(store, corpus)
        inside = set(chunks["document_id"])
        qrels = [qrel for qrel in judged.qrels if qrel.doc_id in inside]
        nodes = ["text_hits", "vector_hits", "merged"]
        every = driver.execute(nodes, overrides={"queries": queries})
        out = {name: every[name].filter(corpus=corpus) for name in nodes}
        peer = bm25s_hits(chunks, queries)
        runs = [out[nodes[0]], peer, out[nodes[1]], out[nodes[2]]]
        values = [mean(NDCG, document_run(run, chunks, judged), qrels) for run in runs]
        scored = len({q.query_id for q in qrels})
        cells = " | ".join(f"{value:.3f}" for value in values)
        yield f"| {judged.name} | {corpus} | {scored} | {cells} |"
    yield ""


def every_chunk(store: Store, corpus: str) -> pl.DataFrame:
    columns = ["chunk_id", *ANALYSED, "created_at"]
    rows = store.run(
        lambda conn: conn.execute(
            f"SELECT {', '.join(columns)} FROM chunks WHERE corpus = %s ORDER BY chunk_id",
            (corpus,),
        ).fetchall()
    )
    return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)


def bm25s_hits(chunks: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """bm25s over the same chunks, analysed the same way: the exact ranking to compare with."""
    texts = [analysed_text(*row) for row in chunks.select(ANALYSED).iter_rows()]
    return peer_hits(texts, chunks["chunk_id"].to_list(), chunks["created_at"].to_list(), queries)


def bm25s_runs(judged: JudgedSet) -> tuple[pl.DataFrame, pl.DataFrame, float]:
    """Whole documents, one index a corpus, the lists fused by equal-weight RRF."""
    began = time.perf_counter()
    with gzip.open(judged.documents, "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    frame = pl.DataFrame(
        {
            "corpus": [d["corpus"] for d in documents],
            "document_id": [d["doc_id"] for d in documents],
            "text": [f"{d.get('title') or ''}\n{d['text']}" for d in documents],
            "created_at": [d.get("created_at") for d in documents],
        },
        schema_overrides={"created_at": pl.String},
    ).with_row_index("chunk_id")
    moments = frame["created_at"].str.to_datetime("%+", time_unit="us", time_zone="UTC")
    frame = frame.with_columns(pl.col("chunk_id").cast(pl.Int64), created_at=moments)
    lists = []
    for (corpus,), part in frame.group_by("corpus", maintain_order=True):
        hits = peer_hits(
            part["text"].to_list(),
            part["chunk_id"].to_list(),
            part["created_at"].to_list(),
            judged.queries,
        )
        lists.append(hits.with_columns(corpus=pl.lit(corpus)))
    hits = pl.concat(lists).join(judged.queries.select("query_id", "corpora"), on="query_id")
    own = hits.filter(
        pl.col("corpora").is_null() | pl.col("corpora").list.contains(pl.col("corpus"))
    )
    runs = [document_run(rrf(part), frame, judged) for part in (own, hits)]
    return runs[0], runs[1], time.perf_counter() - began


def rrf(hits: pl.DataFrame) -> pl.DataFrame:
    return (
        hits.with_columns(score=1 / (60 + pl.col("rank").cast(pl.Float64)))
        .sort("query_id", "score", "chunk_id", descending=[False, True, False])
        .with_columns(rank=pl.int_range(pl.len(), dtype=pl.UInt32).over("query_id"))
    )


def peer_hits(
    texts: list[str], ids: list[int], created: list[Any], queries: pl.DataFrame
) -> pl.DataFrame:
    vocabulary: dict[str, int] = {}
    documents = [[vocabulary.setdefault(t, len(vocabulary)) for t in tokens(x)] for x in texts]
    index = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    tokenized = bm25s.tokenization.Tokenized(ids=documents, vocab=vocabulary)
    index.index(tokenized, show_progress=False)
    moments = np.array([np.datetime64(c.replace(tzinfo=None)) if c else "NaT" for c in created])
    moments = moments.astype("datetime64[us]")
    rows = []
    for query in queries.iter_rows(named=True):
        terms = [vocabulary[t] for t in tokens(query["texts"][0]) if t in vocabulary]
        if not terms:
            continue
        scores = index.get_scores_from_ids(terms)
        if query["as_of"]:
            late = moments >= np.datetime64(query["as_of"].replace(tzinfo=None))
            scores = np.where(late, 0.0, scores)
        best = np.argsort(-scores, kind="stable")[:DEPTH]
        ranked = [(query["query_id"], ids[at], float(scores[at])) for at in best if scores[at] > 0]
        rows += [(*row, rank) for rank, row in enumerate(ranked)]
    schema = {"query_id": pl.UInt32, "chunk_id": pl.Int64, "score": pl.Float64, "rank": pl.UInt32}
    return pl.DataFrame(rows, schema=schema, orient="row")


if __name__ == "__main__":
    main()
