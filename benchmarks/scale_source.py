"""What `benchmarks.scale` makes: documents of real words, and vectors that lie as real ones do.

A document's length is that of a real one, and its text is made of runs of lines of others of its
corpus, so that words are as frequent as in the judged sets, among all texts and within one. There
are no new words: of a million chunks each word is in more.

A vector is that of a real chunk, moved a part of the way to a near one, along the way between two
other near ones, and a little in any direction. How far is chosen so that the distances to the 1st,
10th and 50th neighbour are those of as many real chunks (`MOVES`).
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.judged import data_folder
from operators.embedding.passage import embedded_text
from operators.embedding.protocol import Embedder
from operators.sources.chunking.chunker import chunk_documents
from operators.sources.protocol import Document, document_frame

CORPORA = ("code", "docs", "review", "wiki")
RANKS = (1, 10, 50)
RUN_LINES = 6
"""Lines of a run, in the mean."""
LONGEST = 12_000
"""Characters of a document: some 15 chunks."""
SHARES = {"10 %": 10, "1 %": 100, "0.1 %": 1_000}
"""Repositories that hold such a part of each corpus's documents."""
VERSIONS_OF = 20
"""Of so many documents of ``docs`` the first three are versions of one topic."""

Vectors = NDArray[np.float32]


class Real(NamedTuple):
    """The judged sets' documents of a corpus."""

    titles: list[str]
    suffixes: list[str]
    lines: list[list[str]]
    lengths: list[int]


@cache
def real(corpus: str) -> Real:
    """The judged documents of ``corpus``; of all corpora where there are none."""
    every = [one for one in judged_documents() if one["text"].strip()]
    chosen = [one for one in every if one["corpus"] == corpus] or every
    return Real(
        [one.get("title") or one.get("path") or "" for one in chosen],
        [PurePosixPath(one.get("path") or "").suffix or ".txt" for one in chosen],
        [one["text"].splitlines() for one in chosen],
        [min(len(one["text"]), LONGEST) for one in chosen],
    )


@cache
def judged_documents() -> list[dict[str, Any]]:
    """The documents of every judged set."""
    documents = []
    for path in sorted(data_folder().glob("*/documents.jsonl.gz")):
        with gzip.open(path, "rt") as file:
            documents += [json.loads(line) for line in file]
    return documents


def repo_of(number: int) -> str:
    """The repository of a document: one in 1,000 is in the smallest."""
    for place, (name, part) in enumerate(reversed(SHARES.items())):
        if number % part == place:
            return name
    return "rest"


def text_of(corpus: str, random: np.random.Generator, length: int) -> str:
    """A text of about ``length`` characters from runs of lines of real documents."""
    known, made, size = real(corpus), list[str](), 0
    while size < length:
        lines = known.lines[int(random.integers(len(known.lines)))]
        start = int(random.integers(len(lines)))
        run = lines[start : start + 1 + int(random.geometric(1 / RUN_LINES))]
        made += run
        size += sum(map(len, run)) + len(run)
    return "\n".join(made)[: max(length, 20)]


def made_document(corpus: str, number: int) -> dict[str, Any]:
    """Document ``number`` of ``corpus``, the same every time, as a line of JSON has it."""
    known = real(corpus)
    place = number % VERSIONS_OF
    versioned = corpus == "docs" and place < 3
    first = number - place if versioned else number
    random = np.random.default_rng((CORPORA.index(corpus), first))
    like = int(random.integers(len(known.titles)))
    text = text_of(corpus, random, known.lengths[like])
    made = {
        "doc_id": f"{corpus}-{number}",
        "corpus": corpus,
        "repo": repo_of(number),
        "path": f"{corpus}/{first}{known.suffixes[like]}",
        "title": f"{known.titles[like][:80]} {first}",
        "created_at": f"{2010 + number % 15}-{1 + number % 12:02}-01",
    }
    if versioned:
        made |= {"version": f"{place + 1}.0", "topic": f"topic {first}"}
        other = text_of(corpus, np.random.default_rng((9, number)), 300)
        text = f"{text}\n\n{other}" if place else text
    return {**made, "text": text}


def made_documents(characters: int) -> Iterator[dict[str, Any]]:
    """Documents of each corpus in turn, until each has so many characters."""
    sizes = dict.fromkeys(CORPORA, 0)
    for number in count():
        left = [corpus for corpus in CORPORA if sizes[corpus] < characters]
        if not left:
            return
        for corpus in left:
            made = made_document(corpus, number)
            sizes[corpus] += len(made["text"])
            yield made


def real_chunks(embedder: Embedder, number: int) -> list[str]:
    """What ``embedder`` would read for chunks of judged documents, a quarter of each corpus."""
    random, texts = np.random.default_rng(3), list[str]()
    for corpus in CORPORA:
        known, own = real(corpus), list[str]()
        for like in random.permutation(len(known.titles)):
            lines, title = known.lines[like], known.titles[like]
            text = "\n".join(lines)[:LONGEST]
            document = Document(str(like), corpus, "", title, text, f"a{known.suffixes[like]}")
            chunks = chunk_documents(document_frame([document]), embedder.count_tokens)
            own += [
                embedded_text(*row) for row in chunks.select("title", "anchor", "text").iter_rows()
            ]
            if len(own) >= number // len(CORPORA):
                break
        texts += own[: number // len(CORPORA)]
    return texts


def characters_a_chunk(embedder: Embedder, documents: int = 60) -> float:
    """Characters of a made document for each of its chunks."""
    frame = documents_frame([made_document(c, n) for c in CORPORA for n in range(documents // 4)])
    return (
        float(frame["text"].str.len_chars().sum())
        / chunk_documents(frame, embedder.count_tokens).height
    )


def documents_frame(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Made documents as the chunker takes them."""
    return document_frame(
        [
            Document(r["doc_id"], r["corpus"], r["repo"], r["title"], r["text"], r["path"])
            for r in rows
        ]
    )


def real_vectors(embedder: Embedder, number: int, kept: Path) -> Vectors:
    """The vectors of ``real_chunks``, made once and then read from ``kept``."""
    if not kept.exists():
        texts = list(dict.fromkeys(real_chunks(embedder, number)))
        made = [embedder.embed_documents(texts[at : at + 32]) for at in range(0, len(texts), 32)]
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, np.concatenate(made))
    return np.asarray(np.load(kept), dtype=np.float32)


def distances(vectors: Vectors) -> NDArray[np.float64]:
    """Of each vector the cosine distance to its neighbours ``RANKS`` among the others."""
    most = min(max(RANKS), len(vectors) - 1)
    near = np.sort(1 - vectors @ vectors.T, axis=1)[:, 1 : most + 1]
    return np.asarray(near[:, [min(rank, most) - 1 for rank in RANKS]], dtype=np.float64)


class Moves(NamedTuple):
    """How far made vectors lie from real ones."""

    toward: float  # the largest part of the way to a near chunk
    along: float  # the part of the way between two other near chunks, in the median
    beside: float  # the length of a move in any direction, in the median
    spread: float  # deviation of the logarithm of the last two


MOVES = Moves(0.6, 0.456, 0.063, 0.695)
"""Of some 500 tried at random, those nearest to `minilm`; `benchmarks.scale` shows how near."""


class Made:
    """A model whose vectors are made, the same of the same text, and whose tokens are real."""

    model = "made"

    def __init__(self, like: Vectors, tokens: Embedder, moves: Moves = MOVES) -> None:
        self.like, self.tokens, self.moves = like, tokens, moves
        self.dimensions = like.shape[1]
        self.max_tokens = tokens.max_tokens
        self.space = hashlib.sha256(like.tobytes() + repr(self.moves).encode()).hexdigest()[:16]
        self.near = np.argsort(-(like @ like.T), axis=1)[:, 1:11]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Word-pieces of the real model."""
        return self.tokens.count_tokens(texts)

    def pair(self, random: np.random.Generator) -> tuple[Vectors, Vectors]:
        """A real chunk's vector and a near one."""
        one = int(random.integers(len(self.like)))
        return self.like[one], self.like[self.near[one, random.integers(self.near.shape[1])]]

    def vector(self, random: np.random.Generator) -> Vectors:
        """One vector."""
        (one, near), (start, end) = self.pair(random), self.pair(random)
        far = np.exp(self.moves.spread * random.normal())
        beside = random.normal(size=self.dimensions) * self.moves.beside / self.dimensions**0.5
        vector = one + self.moves.toward * random.random() * (near - one)
        vector += far * (self.moves.along * (end - start) + beside)
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """A vector by the hash of each text."""
        seeds = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
        made = [self.vector(np.random.default_rng(int.from_bytes(seed))) for seed in seeds]
        return np.stack(made) if made else np.empty((0, self.dimensions), np.float32)

    embed_queries = embed_documents

    def sample(self, number: int) -> Vectors:
        """So many of its vectors."""
        return self.embed_documents([f"sample {n}" for n in range(number)])


def changed(line: dict[str, Any]) -> dict[str, Any]:
    """The document with one more sentence."""
    return {**line, "text": f"{line['text']}\nOne more sentence stands at the end."}


def judged_questions(number: int) -> list[str]:
    """Questions of the judged sets, the same every time."""
    questions = []
    for path in sorted(data_folder().glob("*/dev/queries.jsonl")):
        with path.open() as file:
            rows = [json.loads(line) for line in file]
        questions += [row.get("text") or row.get("query") or "" for row in rows]
    questions = [text for text in questions if text]
    chosen = np.random.default_rng(11).permutation(len(questions))[:number]
    return [questions[n] for n in chosen]
