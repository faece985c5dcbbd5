"""Answers are those of a recording, whatever form the graph takes, single and as a batch.

A change that means to rank otherwise records again, with the store of this machine:

    CROSSCORPUS_RECORD=1 python -m pytest tests/test_recorded_answers.py

The recording holds digests alone. Scores count to nine digits: processors differ in the last bits
of a distance.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from dataflow import build_driver, load_config
from dataflow.evaluation.answers import for_evaluation
from dataflow.ingestion.loop import ingest
from operators.evaluation.judgements import read_queries
from operators.postgres.store import Store, set_background
from operators.sources.jsonl import documents_source

DATA = Path(os.environ.get("CROSSCORPUS_TEST_DATA", Path(__file__).parents[2] / "shared/data"))
RECORDING = Path(__file__).parent / "recordings" / "answers.digests"
SETS = {"secp": 80, "pytest": 72, "short": 48}
"""The questions of each set; of its documents the first ``DOCUMENTS`` are ingested."""

DOCUMENTS = 100
CONFIGS = ("default", "rrf", "newest_dedup", "plain_text_search")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Words:
    """Bags of hashed words: quick, and the same everywhere."""

    model, space, dimensions, max_tokens = "recorded-words", "recorded-words", 64, 120

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._vector(text) for text in texts])

    embed_queries = embed_documents

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.full(self.dimensions, 0.01)
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(word.encode()) % self.dimensions] += 1
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def digests(out: dict[str, Any], numbers: Sequence[int]) -> list[str]:
    """A digest of each query's results."""
    of: dict[int, list[str]] = {number: [] for number in numbers}
    rows = out["results"].select("query_id", "chunk_id", "source_label", "score").rows()
    for number, chunk, label, score in rows:
        of[number].append(f"{chunk} {label} {score:.9g}")
    return [hashlib.sha256("\n".join(of[n]).encode()).hexdigest()[:12] for n in numbers]


@pytest.mark.parametrize("name", SETS)
def test_answers_are_those_of_the_recording(store: Store, tmp_path: Path, name: str) -> None:
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip("no judged sets: set CROSSCORPUS_TEST_DATA")
    with gzip.open(folder / "documents.jsonl.gz", "rt") as lines:
        few = [line for line, _ in zip(lines, range(DOCUMENTS), strict=False)]
    (tmp_path / "documents.jsonl").write_text("".join(few))
    ingest(store, Words(), documents_source(tmp_path / "documents.jsonl"))
    set_background(store, 0.0)  # the recording has the model's own distances
    texts = read_queries(folder / "dev" / "queries.jsonl")["texts"].to_list()[: SETS[name]]
    rows = [{"query_id": number, "texts": of} for number, of in enumerate(texts)]
    queries = pl.DataFrame(rows).with_columns(pl.col("query_id").cast(pl.UInt32))
    recorded = json.loads(RECORDING.read_text()) if RECORDING.exists() else {}
    found: dict[str, list[str]] = {}
    whole = name == "short" or "CROSSCORPUS_RECORD" in os.environ
    configs = CONFIGS if whole else CONFIGS[:2]  # the others on one set
    for config in configs:
        settings = for_evaluation(load_config(config))
        with build_driver(settings, store=store, embedder=Words()) as driver:
            given: dict[str, Any] = {"inputs": {"now": NOW}}
            batch = driver.execute(["results"], **given, overrides={"queries": queries})
            found[config] = digests(batch, range(len(texts)))
            for number in range(0, len(texts) * (config in ("default", "rrf")), 20):
                one = {"queries": queries[number : number + 1]}
                (alone,) = digests(driver.execute(["results"], **given, overrides=one), [number])
                assert alone == found[config][number], (config, texts[number])
    if os.environ.get("CROSSCORPUS_RECORD"):
        RECORDING.write_text(json.dumps({**recorded, name: found}, indent=0, sort_keys=True) + "\n")
        return
    for config in configs:
        differ = [
            t
            for t, a, b in zip(texts, found[config], recorded[name][config], strict=True)
            if a != b
        ]
        assert not differ, (config, len(differ), differ[0])
