"""What each rule of deduplication joins of labelled pairs, and what it must not.

    python -m benchmarks.neardup [MODEL]

A pair is two results of one question. Without MODEL (minilm, static, ...) every cosine is taken as
high enough: whatever `guarded` joins with any model is in its column then, and the rules that go by
the cosine alone are left out. With a model the head of each text that fits its window is embedded.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.judged import data_folder
from operators.dedup import within
from operators.dedup.similarity_index import index_similarity
from operators.foundation.sanitize import clean_text
from operators.frames import CHUNKS, MERGED

MUST_NOT = (
    "different_page_same_version",
    "same_diff_hunk_different_remark",
    "shared_boilerplate_only",
)
"""Relations of which no pair may be joined."""

Rule = Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]


def pairs_file() -> Path:
    """The labelled pairs."""
    return data_folder() / "neardup" / "dev" / "pairs.jsonl.gz"


def read_pairs() -> pl.DataFrame:
    """Columns relation (``, equal``: but for white space), older, newer: two texts a row."""
    rows = []
    with gzip.open(pairs_file(), "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            texts = [clean_text(row["a_text"]), clean_text(row["b_text"])]
            same = " ".join(texts[0].split()) == " ".join(texts[1].split())
            older, newer = texts if row["newer"] != "a" else texts[::-1]
            name = row["relation"] + (", equal" if same else "")
            rows.append({"relation": name, "older": older, "newer": newer})
    return pl.DataFrame(rows)


def joined(pairs: pl.DataFrame, rule: Rule, vectors: np.ndarray | None = None) -> pl.Series:
    """Whether ``rule`` joins each pair; ``vectors``: two a pair, else all of one direction."""
    texts = pairs.select(pl.concat_list("older", "newer")).to_series().explode()
    count = len(texts)
    vectors = np.ones((count, 1), np.float32) if vectors is None else vectors
    numbers = np.arange(count)
    chunks = pl.DataFrame(
        {
            "chunk_id": numbers,
            "corpus": ["docs"] * count,
            "repo": [""] * count,
            "document_id": numbers.astype(str),
            "text": texts,
            "doc_date": numbers % 2,
            "embedding": vectors.tolist(),
        },
        schema_overrides={"chunk_id": pl.Int64, "doc_date": pl.Datetime("us", "UTC")},
    )
    chunks = chunks.with_columns(
        pl.lit(None, kind).alias(name)
        for name, kind in CHUNKS.items()
        if name not in chunks.columns
    )
    # The older one ranks first, so that a rule that goes by rank alone keeps the wrong one.
    merged = pl.DataFrame(
        {
            "query_id": numbers // 2,
            "corpus": ["docs"] * count,
            "chunk_id": numbers,
            "rank": numbers % 2,
        },
        schema_overrides=MERGED,
    ).with_columns(pl.lit(None, kind).alias(n) for n, kind in MERGED.items() if n not in _KEYS)
    kept = rule(merged.select(list(MERGED)), chunks)["query_id"]
    counts = np.bincount(kept.to_numpy(), minlength=len(pairs))
    return pl.Series("joined", counts == 1)


_KEYS = ("query_id", "corpus", "chunk_id", "rank")

TEXT_RULES: dict[str, Rule] = {
    "guarded": lambda merged, chunks: within.guarded(merged, chunks, index_similarity(chunks)),
    "jaccard": lambda merged, chunks: within.jaccard(merged, chunks, index_similarity(chunks)),
}
VECTOR_RULES: dict[str, Rule] = {"cosine": within.cosine, "newest": within.newest}


def table(pairs: pl.DataFrame, rules: dict[str, Rule], vectors: np.ndarray | None) -> pl.DataFrame:
    """How many pairs of each relation each rule joins."""
    results = [joined(pairs, rule, vectors).alias(name) for name, rule in rules.items()]
    counted = pairs.with_columns(results).group_by("relation")
    return counted.agg(pl.len().alias("pairs"), *(pl.col(r).sum() for r in rules)).sort("relation")


def _embedded(model: str, texts: Sequence[str]) -> np.ndarray:
    from operators.embedding.registry import load_embedder

    embedder = load_embedder(model)
    heads = []
    for text in texts:
        head = text[: 6 * embedder.max_tokens]
        while embedder.count_tokens([head])[0] > embedder.max_tokens:
            head = head[: len(head) * 4 // 5]
        heads.append(head)
    return np.concatenate(
        [embedder.embed_documents(heads[n : n + 64]) for n in range(0, len(heads), 64)]
    )


def main() -> None:
    """Print the table."""
    arguments = sys.argv[1:]
    if not pairs_file().exists():
        print("neardup: the judged data is not here")
        return
    pairs = read_pairs()
    rules, vectors = dict(TEXT_RULES), None
    if arguments:
        texts = pairs.select(pl.concat_list("older", "newer")).to_series().explode().to_list()
        rules, vectors = rules | VECTOR_RULES, _embedded(arguments[0], texts)
    counted = table(pairs, rules, vectors)
    print(f"{'relation':40} pairs " + "".join(f"{rule:>9}" for rule in rules))
    for row in counted.iter_rows(named=True):
        mark = "  none may be" if row["relation"].partition(",")[0] in MUST_NOT else ""
        counts = "".join(f"{row[rule]:9}" for rule in rules)
        print(f"{row['relation']:40} {row['pairs']:5} {counts}{mark}")


if __name__ == "__main__":
    main()
