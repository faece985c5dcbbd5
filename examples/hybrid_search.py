"""Hybrid search on one page: the idea of crosscorpus for one corpus, without server or model.

A function is a node, and its arguments name the nodes that it reads: Hamilton finds the order.
BM25 finds passages that have the words, vectors those that are spelt alike; ranks join the lists.

    python examples/hybrid_search.py "why is the cache flushed twice?"
"""

import re
import sys
import zlib
from pathlib import Path

import numpy as np
import polars as pl
from hamilton import driver
from numpy.typing import NDArray


def passages(folder: Path) -> pl.DataFrame:
    """The sections of the Markdown files of a folder: file and text, the row number is the id."""
    files = sorted([*folder.glob("*.md"), *folder.glob("[!.]*/*.md")])
    parts = [(f.name, re.split(r"\n(?=##+ )", f.read_text("utf-8"))) for f in files]
    return pl.DataFrame(parts, ["file", "text"], orient="row").explode("text").with_row_index("id")


def words(passages: pl.DataFrame) -> pl.DataFrame:
    """How often each passage has each word (tf), and how many passages have that word (df)."""
    found = passages.select("id", word=pl.col("text").str.to_lowercase().str.extract_all(r"\w+"))
    counted = found.explode("word").group_by("id", "word", maintain_order=True).len("tf")
    return counted.with_columns(df=pl.len().over("word"), length=pl.col("tf").sum().over("id"))


def text_ranks(words: pl.DataFrame, query: str, k1: float = 1.5, b: float = 0.75) -> pl.DataFrame:
    """The passages by BM25: a rare word says more, and more in a short passage."""
    n, tf, df, size = words["id"].n_unique(), pl.col("tf"), pl.col("df"), pl.col("length")
    idf = ((n - df + 0.5) / (df + 0.5)).log1p()
    weight = idf * tf / (tf + k1 * (1 - b + b * size * n / words["tf"].sum()))
    asked = words.filter(pl.col("word").is_in(re.findall(r"\w+", query.lower())))
    return _ranked(asked.select("id", score=weight))


def vector_ranks(passages: pl.DataFrame, query: str) -> pl.DataFrame:
    """The passages by the cosine of their vector and the question's."""
    vectors = np.stack([_vector(text) for text in passages["text"]])
    return _ranked(passages.select("id", score=pl.Series(vectors @ _vector(query))))


def fused(text_ranks: pl.DataFrame, vector_ranks: pl.DataFrame, k: float = 60.0) -> pl.DataFrame:
    """Both lists as one, by reciprocal rank fusion: a list gives a passage 1 / (k + rank)."""
    lists = pl.concat([text_ranks, vector_ranks])
    return _ranked(lists.select("id", score=1 / (k + pl.col("rank"))))


def results(fused: pl.DataFrame, passages: pl.DataFrame, top_k: int = 3) -> pl.DataFrame:
    """The best passages."""
    return fused.head(top_k).join(passages, on="id", how="left", maintain_order="left")


def _vector(text: str) -> NDArray[np.float64]:
    """The counts of hashed trigrams, at length 1: it stands in for the vector of a model."""
    trigrams = [zlib.crc32(text[at : at + 3].lower().encode()) % 4096 for at in range(len(text))]
    counts = np.bincount(trigrams or [0], minlength=4096)
    return counts / float(np.linalg.norm(counts))


def _ranked(scores: pl.DataFrame) -> pl.DataFrame:
    """The sum of each passage's scores, best first; ties end at the id, so the order is total."""
    total = scores.group_by("id", maintain_order=True).agg(pl.col("score").sum())
    return total.sort("score", "id", descending=[True, False]).with_row_index("rank")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit('give one question: python examples/hybrid_search.py "why is the cache flushed?"')
    graph = driver.Builder().with_modules(sys.modules[__name__]).build()
    inputs = {"folder": Path(__file__).parents[1], "query": sys.argv[1]}
    for row in graph.execute(["results"], inputs=inputs)["results"].iter_rows(named=True):
        print(f"{row['rank'] + 1}. {row['file']}: {row['text'].splitlines()[0]}")
