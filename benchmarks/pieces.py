"""What fuse, dedup and newest_first bring to the lists of LangChain and Qdrant.

    python -m benchmarks.pieces rpcver pytest short [--model static]

Needs langchain-classic, langchain-community, rank-bm25 and qdrant-client, in an environment of your
own; a row that lacks one says so. Documents are cut at 1,000 characters by LangChain's splitter;
topics and versions are those of the set's ``version_groups.tsv``. nDCG@10 by document, its best
chunk counts; the interval is of 2,000 bootstrap samples of the questions' differences.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.util
import json
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.judged import JudgedSet, data_folder, judged_set
from operators.embedding.protocol import Embedder
from operators.embedding.registry import load_embedder

NEEDED = {
    "LangChain": ("langchain_classic", "langchain_community", "rank_bm25"),
    "Qdrant": ("qdrant_client", "langchain_text_splitters"),
}
DEPTH = 50
BATCH = 256

Lists = tuple[list[str], list[str]]
"""Documents of one question, best first: as the peer gives them, and with our pieces."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--model", default="static")
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
    print("| set | questions | lists of | alone | with our pieces | difference |")
    print("|---|---|---|---|---|---|")
    for name in options.sets:
        judged, embedder = judged_set(name), load_embedder(options.model)
        for peer, asking in (("LangChain", langchain_lists), ("Qdrant", qdrant_lists)):
            lacking = [one for one in NEEDED[peer] if importlib.util.find_spec(one) is None]
            if lacking:
                print(f"| {name} | 0 | {peer} | not installed: {', '.join(lacking)} | | |")
                continue
            print(row(name, peer, judged, asking(chunks_of(judged), embedder)), flush=True)


def row(name: str, peer: str, judged: JudgedSet, ask: Callable[[str], Lists]) -> str:
    """A line of the table."""
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for query_id, doc_id, grade, *_ in judged.qrels:
        grades[query_id][doc_id] = grade
    values = []
    for number, texts in judged.queries["query_id", "texts"].iter_rows():
        if own := grades.get(judged.names[number]):
            values.append([ndcg(hits, own) for hits in ask(texts[0])])
    alone, ours = np.array(values).T
    gain, rng = ours - alone, np.random.default_rng(0)
    means = [gain[rng.integers(0, len(gain), len(gain))].mean() for _ in range(2_000)]
    low, high = np.quantile(means, [0.025, 0.975])
    return (
        f"| {name} | {len(gain)} | {peer} | {alone.mean():.3f} | {ours.mean():.3f} |"
        f" {gain.mean():+.3f} [{low:+.3f}, {high:+.3f}] |"
    )


def ndcg(found: Iterable[str], grades: Mapping[str, int]) -> float:
    """nDCG@10 with gain 2^grade - 1; a document counts at its first place."""

    def gains(of: Iterable[int]) -> float:
        return sum((2**grade - 1) / math.log2(n + 2) for n, grade in enumerate(of))

    places = list(dict.fromkeys(found))[:10]
    best = gains(sorted(grades.values(), reverse=True)[:10])
    return gains(grades.get(id, 0) for id in places) / best if best else 0.0


def chunks_of(judged: JudgedSet) -> list[dict[str, Any]]:
    """The chunks of a set: text, source, and, where the set says it, topic and version."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    groups = data_folder() / judged.name / "version_groups.tsv"
    rows = csv.DictReader(groups.open(), delimiter="\t") if groups.exists() else ()
    versions = {one["doc_id"]: (one["topic_key"], one["version"]) for one in rows}
    splitter = RecursiveCharacterTextSplitter(chunk_size=1_000, chunk_overlap=100)
    chunks = []
    with gzip.open(judged.documents, "rt") as lines:
        for document in map(json.loads, lines):
            topic, version = versions.get(document["doc_id"], (None, None))
            about = {"source": document["doc_id"], "topic": topic, "version": version}
            chunks += [{"text": text, **about} for text in splitter.split_text(document["text"])]
    return chunks


def langchain_lists(
    chunks: Sequence[Mapping[str, Any]], embedder: Embedder
) -> Callable[[str], Lists]:
    """EnsembleRetriever of BM25Retriever and a vector store, and the example's way."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_ensemble import ensemble

    class Ours(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return vectors(embedder, texts).tolist()

        def embed_query(self, text: str) -> list[float]:
            return embedder.embed_queries([text])[0].tolist()

    documents = [
        Document(page_content=one["text"], metadata={k: v for k, v in one.items() if k != "text"})
        for one in chunks
    ]
    words = BM25Retriever.from_documents(
        documents, k=DEPTH, preprocess_func=lambda text: text.lower().split()
    )
    store = InMemoryVectorStore(Ours())
    store.add_documents(documents)
    both = [words, store.as_retriever(search_kwargs={"k": DEPTH})]
    peer = EnsembleRetriever(retrievers=both, weights=[0.5, 0.5], id_key="source")

    def ask(question: str) -> Lists:
        alone = [hit.metadata["source"] for hit in peer.invoke(question)]
        return alone, [hit.metadata["source"] for hit in ensemble(both, question)]

    return ask


def qdrant_lists(chunks: Sequence[Mapping[str, Any]], embedder: Embedder) -> Callable[[str], Lists]:
    """A vector search in Qdrant (in memory), and the example's way."""
    from qdrant_client import QdrantClient, models
    from qdrant_newest import newest

    client = QdrantClient(":memory:")
    config = models.VectorParams(size=embedder.dimensions, distance=models.Distance.COSINE)
    client.create_collection("pieces", vectors_config=config)
    made = vectors(embedder, [one["text"] for one in chunks])
    points = [
        models.PointStruct(id=n, vector=vector.tolist(), payload=dict(one))
        for n, (one, vector) in enumerate(zip(chunks, made, strict=True))
    ]
    for start in range(0, len(points), 1_000):
        client.upsert("pieces", points[start : start + 1_000])

    def ask(question: str) -> Lists:
        (vector,) = embedder.embed_queries([question]).tolist()
        points = client.query_points("pieces", query=vector, limit=DEPTH).points
        alone = [(point.payload or {})["source"] for point in points]
        hits = newest(client, "pieces", question, vector, DEPTH)
        return alone, [hit["source"] for hit in hits]

    return ask


def vectors(embedder: Embedder, texts: Sequence[str]) -> Any:
    """The vectors of ``texts``, in batches."""
    starts = range(0, len(texts), BATCH)
    return np.concatenate([embedder.embed_documents(texts[n : n + BATCH]) for n in starts])


if __name__ == "__main__":
    main()
