"""A small judged collection on the real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from evaluating import DEFAULT, asked
from ingesting import ingest_documents
from word_embedder import WordEmbedder

from dataflow import load_config
from operators.evaluation.evaluation_frames import Evaluation
from operators.postgres.store import Store, drop_collection, open_store

_WORDS = ("cache", "lock", "queue", "index", "parser", "socket")


@dataclass(frozen=True)
class Judged:
    """The open collection and the files that judge it."""

    store: Store
    embedder: Any
    queries: Path
    qrels: Path
    folder: Path


def _documents() -> Iterator[dict[str, Any]]:
    for at, word in enumerate(_WORDS):
        for number in range(6):
            yield {
                "doc_id": f"code/{word}{number}.py",
                "corpus": "code",
                "language": "python",
                "text": f"def {word}_{number}(): return {word} {'x' * (number + 1)} {number}",
            }
        long = " ".join(f"The {word} is explained in part {n} of the page." for n in range(30))
        yield {"doc_id": f"wiki page/{word}", "corpus": "wiki", "title": word, "text": long}
        late = {"created_at": f"20{20 + at}-01-01T00:00:00Z"}
        yield {"doc_id": f"pr/{at}", "corpus": "review", "text": f"the {word} fails", **late}
        yield {"doc_id": f"pr/{at}-copy", "corpus": "review", "text": f"The {word} fails", **late}


def _queries() -> Iterator[tuple[dict[str, Any], list[tuple[str, int]]]]:
    for at, word in enumerate(_WORDS):
        kind = {"kind": "issue" if at % 2 else "pull request", "trigger": "question"}
        yield (
            {
                "query_id": f"code-{word}",
                "text": f"return {word}",
                "judged_corpora": ["code"],
                **kind,
            },
            [(f"code/{word}0.py", 2), (f"code/{word}3.py", 1)],
        )
        yield (
            {"query_id": f"all-{word}", "text": f"why the {word} fails", "trigger": "pr_review"},
            [(f"pr/{at}-copy", 1), (f"wiki page/{word}", 1), (f"code/{word}1.py", 1)],
        )
        yield (
            {
                "query_id": f"old-{word}",
                "text": f"{word} fails",
                "as_of": "2022-06-01",
                "judged_corpora": ["review"],
            },
            [(f"pr/{at}", 1)],
        )


@pytest.fixture(scope="session")
def judged(server_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    """Three corpora, 18 queries: some judged in one corpus, some in all, some of an earlier day."""
    folder = tmp_path_factory.mktemp("judged")
    documents = folder / "documents.jsonl"
    documents.write_text("".join(json.dumps(d) + "\n" for d in _documents()), encoding="utf-8")
    queries, qrels = folder / "queries.jsonl", folder / "qrels.tsv"
    asked = list(_queries())
    queries.write_text("".join(json.dumps(q) + "\n" for q, _ in asked), encoding="utf-8")
    lines = (f"{q['query_id']}\t0\t{d}\t{grade}\n" for q, found in asked for d, grade in found)
    qrels.write_text("".join(lines), encoding="utf-8")
    embedder = WordEmbedder()
    name = "evaluation-tests"
    with open_store(server_dsn, name, create=True, max_size=4) as store:
        ingest_documents(store, embedder, documents)
        yield Judged(store, embedder, queries, qrels, folder)
    drop_collection(server_dsn, name)


@pytest.fixture(scope="session")
def found(judged: Judged) -> Evaluation:
    """The default, the same again, and words alone."""
    configs = {"default": DEFAULT, "again": DEFAULT, "words": load_config("text_only")}
    return asked(judged, configs, batch_size=5)
