"""How much of what is judged relevant stands in a context: documents, their lines, whole passages.

    python -m benchmarks.passages short secp [--variants off section]
    python -m benchmarks.passages short secp --floor

A context of 2,000, 4,000 and 12,000 tokens is made for each open query of a set, once for each
variant of ``whole_passages``. Documents: the share of the judged documents with a passage in it.
Lines: the share of the lines of these documents, an upper bound of what an answer can quote; the
sets judge whole documents. Of the passages, the share that begin and end beside an empty line or at
an end of the document, and the share that are several chunks in one.

``--floor`` measures what a context of 12,000 characters leaves out (``relevant_hits``): how many
passages it has, the share of them that is relevant, the judged documents with a passage, and its
passages for the questions of the next set in the list, which this one does not answer.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import polars as pl

from benchmarks.judged import JudgedSet, judged_set
from benchmarks.quality import opened
from dataflow import RetrievalDriver, build_driver, load_config
from operators.embedding.registry import load_embedder

FILLED = {"packed": "tokens", "relevant_hits": "off"}
BUDGETS = (2_000, 4_000, 12_000)
VARIANTS = ("off", "section")
DEPTH = 100
"""Hits that a context is chosen from: enough for the largest budget."""

Spans = dict[str, set[int]]  # of a document: its lines, from 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--config", default="default")
    parser.add_argument("--variants", nargs="+", default=VARIANTS, choices=VARIANTS)
    parser.add_argument("--floor", action="store_true", help="measure what is left out")
    options = parser.parse_args()
    if options.floor:
        measure_floor(options.sets, options.config)
        return
    print("| set | `whole_passages` | tokens | documents | lines | bounded | joined |")
    print("|---|---|---|---|---|---|---|")
    for name in options.sets:
        judged = judged_set(name)
        texts = document_lines(judged)
        relevant: dict[str, set[str]] = defaultdict(set)
        for qrel in judged.qrels:
            if qrel.relevance > 0:
                relevant[qrel.query_id].add(qrel.doc_id)
        for variant in options.variants:
            config = load_config(
                {"extends": options.config, "variants": {"whole_passages": variant, **FILLED}}
            )
            embedder = load_embedder(config.embedding)
            with (
                opened(judged, embedder) as store,
                build_driver(config, name, store=store, embedder=embedder) as driver,
            ):
                for budget in BUDGETS:
                    values = measured(driver, judged, relevant, texts, budget)
                    cells = " | ".join(f"{value:.3f}" for value in values)
                    print(f"| {name} | {variant} | {budget} | {cells} |", flush=True)


def measure_floor(sets: Sequence[str], config_name: str) -> None:
    """Print a line for each set and variant of ``relevant_hits``."""
    print("| set | `relevant_hits` | passages | relevant | documents | of other questions |")
    print("|---|---|---|---|---|---|")
    for name, other in zip(sets, [*sets[1:], sets[0]], strict=True):
        judged, foreign = judged_set(name), judged_set(other).queries
        relevant = {(one.query_id, one.doc_id) for one in judged.qrels if one.relevance > 0}
        for variant in ("off", "share"):
            changes = {"extends": config_name, "variants": {"relevant_hits": variant}}
            config = load_config(changes)
            embedder = load_embedder(config.embedding)
            with (
                opened(judged, embedder) as store,
                build_driver(config, name, store=store, embedder=embedder) as driver,
            ):
                shown = packed_documents(driver, judged.queries)
                strange = packed_documents(driver, foreign)
            named = [(judged.names[number], document) for number, document in shown]
            hits = [one in relevant for one in named]
            mean_size = len(shown) / judged.queries.height
            strange_size = len(strange) / foreign.height
            values = f"{mean_size:.1f} | {mean(hits):.3f} | {len(relevant & set(named)):,}"
            print(f"| {name} | {variant} | {values} | {strange_size:.1f} |", flush=True)


def packed_documents(driver: RetrievalDriver, queries: pl.DataFrame) -> list[tuple[int, str]]:
    """The query and the document of each passage of the contexts."""
    out = driver.execute(["packed", "whole_passages"], overrides={"queries": queries})
    keys = ["query_id", "chunk_id"]
    shown = out["packed"].join(out["whole_passages"].select(*keys, "document_id"), on=keys)
    return shown["query_id", "document_id"].rows()


def document_lines(judged: JudgedSet) -> dict[str, list[str]]:
    """The lines of each document of a set."""
    with gzip.open(judged.documents, "rt") as file:
        rows = (json.loads(line) for line in file)
        return {row["doc_id"]: row["text"].splitlines() for row in rows}


def measured(
    driver: RetrievalDriver,
    judged: JudgedSet,
    relevant: dict[str, set[str]],
    texts: dict[str, list[str]],
    budget: int,
) -> tuple[float, float, float, float]:
    """Recall of documents and of their lines, the bounded share and the joined one."""
    inputs: dict[str, Any] = {"context_budget": budget, "context_depth": DEPTH}
    wanted = ["packed", "whole_passages"]
    out = driver.execute(wanted, inputs=inputs, overrides={"queries": judged.queries})
    kept = out["packed"].select("query_id", "chunk_id")
    shown = out["whole_passages"].join(kept, on=["query_id", "chunk_id"], how="semi")
    contexts: dict[int, Spans] = defaultdict(lambda: defaultdict(set))
    bounded = []
    columns = ("query_id", "document_id", "start_line", "end_line")
    for query_id, document, first, last in shown.select(columns).iter_rows():
        contexts[query_id][document] |= set(range(first, last + 1))
        bounded.append(is_bounded(texts[document], first, last))
    documents, lines = [], []
    for number, name in judged.names.items():
        if of_query := relevant[name]:
            context = contexts[number]
            total = sum(len(texts[one]) for one in of_query)
            read = sum(len(context.get(one, ())) for one in of_query)
            documents.append(len(context.keys() & of_query) / len(of_query))
            lines.append(read / max(total, 1))
    joined = (shown["parts"].list.len() > 1).to_list()
    return mean(documents), mean(lines), mean(bounded), mean(joined)


def is_bounded(lines: list[str], first: int, last: int) -> bool:
    """Whether lines ``first`` to ``last``, from 1, are cut from the rest at empty lines."""
    beside = (lines[first - 2] if first > 1 else "", lines[last] if last < len(lines) else "")
    return not any(line.strip() for line in beside)


def mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)


if __name__ == "__main__":
    main()
