"""One peer's fusion or retrieval, run in the peers' own environment by :mod:`benchmarks.peers`.

    python peers_worker.py fuse PEER CASE.npz       times the fusion, writes CASE.PEER.npz
    python peers_worker.py search PEER CASE.npz     answers judged queries, writes CASE.PEER.npz

A case has the same arrays for everybody. Only the call that fuses is timed, in CPU seconds of the
process; making a library's own objects from arrays is not.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def main() -> None:
    what, peer, file = sys.argv[1:]
    case = dict(np.load(file, allow_pickle=False))
    result = (FUSIONS if what == "fuse" else SEARCHES)[peer](case)
    np.savez(Path(file).with_suffix(f".{peer}.npz"), **result)
    print(json.dumps({k: float(v) for k, v in result.items() if np.ndim(v) == 0}))


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    gc.collect()
    began = time.process_time()
    result = run()
    return result, time.process_time() - began


def ranked(lists: list[list[int]], depth: int) -> np.ndarray:
    table = np.full((len(lists), depth), -1, np.int64)
    for row, ids in enumerate(lists):
        table[row, : len(ids[:depth])] = ids[:depth]
    return table


def fuse_ranx(case: dict[str, Any]) -> dict[str, Any]:
    from ranx import Run, fuse

    ids, score = case["ids"], case["score"]
    queries, lists, _ = ids.shape

    def runs(part: int) -> list[Any]:
        return [
            Run(
                {
                    str(q): dict(
                        zip(map(str, ids[q, at].tolist()), score[q, at].tolist(), strict=True)
                    )
                    for q in range(part)
                }
            )
            for at in range(lists)
        ]

    fuse(runs=runs(20), method="rrf", params={"k": 60})  # compiles
    made = runs(queries)
    fused, seconds = timed(lambda: fuse(runs=made, method="rrf", params={"k": 60}))
    scores = fused.to_dict()
    rows = [[int(d) for d in scores[str(q)]] for q in range(queries)]
    return {"seconds": seconds, "ranked": ranked(rows, lists * ids.shape[2])}


def fuse_langchain(case: dict[str, Any]) -> dict[str, Any]:
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Silent(BaseRetriever):
        """Stands for a list that is there already."""

        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return []

    ids = case["ids"]
    queries, lists, depth = ids.shape
    ensemble = EnsembleRetriever(
        retrievers=[Silent() for _ in range(lists)], weights=[1.0] * lists, c=60
    )
    passage = " ".join(["of a usual length"] * 30)
    seconds, rows = 0.0, []
    for start in range(0, queries, 500):  # its objects are large
        # as retrievers give them: each hit a document of its own, known by its text
        part = [
            [[Document(page_content=f"{i} {passage}") for i in one] for one in per_query]
            for per_query in ids[start : start + 500].tolist()
        ]
        fused, took = timed(
            lambda part=part: [ensemble.weighted_reciprocal_rank(one) for one in part]
        )
        seconds += took
        rows += [[int(hit.page_content.partition(" ")[0]) for hit in one] for one in fused]
    return {"seconds": seconds, "ranked": ranked(rows, lists * depth)}


def fuse_llamaindex(case: dict[str, Any]) -> dict[str, Any]:
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    ids, score = case["ids"], case["score"]
    queries, lists, _ = ids.shape
    pool = {i: TextNode(text=str(i), id_=str(i)) for i in np.unique(ids).tolist()}
    fusion = QueryFusionRetriever([None] * lists, llm=MockLLM(), num_queries=1)
    seconds, rows = 0.0, []
    for start in range(0, queries, 500):  # its objects are large
        part = [
            {
                ("", at): [
                    NodeWithScore(node=pool[i], score=s)
                    for i, s in zip(ids[q, at].tolist(), score[q, at].tolist(), strict=True)
                ]
                for at in range(lists)
            }
            for q in range(start, min(start + 500, queries))
        ]
        fused, took = timed(
            lambda part=part: [fusion._reciprocal_rerank_fusion(one) for one in part]
        )
        seconds += took
        rows += [[int(hit.node.node_id) for hit in one] for one in fused]
    return {"seconds": seconds, "ranked": ranked(rows, lists * ids.shape[2])}


def fuse_haystack(case: dict[str, Any]) -> dict[str, Any]:
    from haystack import Document
    from haystack.components.joiners import DocumentJoiner

    ids, score = case["ids"], case["score"]
    queries, lists, depth = ids.shape
    joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion")
    seconds, rows = 0.0, []
    for start in range(0, queries, 500):
        part = [
            [
                [
                    Document(id=str(i), content=None, score=s)
                    for i, s in zip(ids[q, at].tolist(), score[q, at].tolist(), strict=True)
                ]
                for at in range(lists)
            ]
            for q in range(start, min(start + 500, queries))
        ]
        fused, took = timed(lambda part=part: [joiner.run(documents=one) for one in part])
        seconds += took
        rows += [[int(hit.id) for hit in one["documents"]] for one in fused]
    return {"seconds": seconds, "ranked": ranked(rows, lists * depth)}


def search_langchain(case: dict[str, Any]) -> dict[str, Any]:
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    texts, vectors = case["texts"].tolist(), case["vectors"]
    embedded = dict(zip(case["questions"].tolist(), case["question_vectors"].tolist(), strict=True))

    class Ready(Embeddings):
        """The vectors that crosscorpus made: every system searches the same ones."""

        def embed_documents(self, names: list[str]) -> list[list[float]]:
            return [vectors[int(name)].tolist() for name in names]

        def embed_query(self, text: str) -> list[float]:
            return embedded[text]

    documents = [Document(page_content=t, metadata={"row": n}) for n, t in enumerate(texts)]
    words = BM25Retriever.from_documents(documents, k=50)
    store = InMemoryVectorStore(Ready())
    names = [Document(page_content=str(n), metadata={"row": n}) for n in range(len(texts))]
    store.add_documents(names)
    for held, document in zip(store.store.values(), documents, strict=True):
        held["text"] = document.page_content
    near = store.as_retriever(search_kwargs={"k": 50})
    ensemble = EnsembleRetriever(retrievers=[words, near], weights=[0.5, 0.5], id_key="row")
    return answered(case, lambda text: [hit.metadata["row"] for hit in ensemble.invoke(text)])


def search_haystack(case: dict[str, Any]) -> dict[str, Any]:
    from haystack import Document, Pipeline
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers.in_memory import (
        InMemoryBM25Retriever,
        InMemoryEmbeddingRetriever,
    )
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    texts, vectors = case["texts"].tolist(), case["vectors"].tolist()
    embedded = dict(zip(case["questions"].tolist(), case["question_vectors"].tolist(), strict=True))
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    rows = zip(texts, vectors, strict=True)
    store.write_documents(
        [Document(id=str(n), content=t, embedding=v) for n, (t, v) in enumerate(rows)]
    )
    pipeline = Pipeline()
    pipeline.add_component("words", InMemoryBM25Retriever(store, top_k=50))
    pipeline.add_component("near", InMemoryEmbeddingRetriever(store, top_k=50))
    pipeline.add_component("join", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
    pipeline.connect("words", "join")
    pipeline.connect("near", "join")

    def ask(text: str) -> list[int]:
        out = pipeline.run({"words": {"query": text}, "near": {"query_embedding": embedded[text]}})
        return [int(hit.id) for hit in out["join"]["documents"]]

    return answered(case, ask)


def answered(case: dict[str, Any], ask: Callable[[str], list[int]]) -> dict[str, Any]:
    questions = case["questions"].tolist()
    ask(questions[0])
    took, rows = [], []
    for text in questions:
        began = time.perf_counter()
        rows.append(ask(text))
        took.append(time.perf_counter() - began)
    return {"seconds": float(np.median(took)), "ranked": ranked(rows, 100)}


FUSIONS = {
    "ranx": fuse_ranx,
    "langchain": fuse_langchain,
    "llamaindex": fuse_llamaindex,
    "haystack": fuse_haystack,
}
SEARCHES = {"langchain": search_langchain, "haystack": search_haystack}


if __name__ == "__main__":
    main()
