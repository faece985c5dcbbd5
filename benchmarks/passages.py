"""How much of what is judged relevant stands in a context: documents, their lines, whole passages.

    python -m benchmarks.passages short secp [--variants off joined section]

A context of 2,000, 4,000 and 12,000 tokens is made for each open query of a set, once for each
variant of ``whole_passages``. Documents: the share of the judged documents with a passage in it.
Lines: the share of the lines of these documents, an upper bound of what an answer can quote; the
sets judge whole documents. Of the passages, the share that begin and end beside an empty line or at
an end of the document, and the share that are several chunks in one.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from benchmarks.judged import JudgedSet, judged_set
from benchmarks.quality import opened
from dataflow import RetrievalDriver, build_driver, load_config
from operators.embedding.registry import load_embedder

TOKENS = {"packed": "tokens"}
BUDGETS = (2_000, 4_000, 12_000)
VARIANTS = ("off", "joined", "section")
DEPTH = 100
"""Hits that a context is chosen from: enough for the largest budget."""

Spans = dict[str, set[int]]  # of a document: its lines, from 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--config", default="default")
    parser.add_argument("--variants", nargs="+", default=VARIANTS, choices=VARIANTS)
    options = parser.parse_args()
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
                {"extends": options.config, "variants": {"whole_passages": variant, **TOKENS}}
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
