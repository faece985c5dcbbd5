"""Judged queries with made-up lists, whose best weights are known."""

from __future__ import annotations

import numpy as np
import polars as pl

from operators.evaluation.candidates import Candidates, CorpusSearch, candidates
from operators.evaluation.evaluation_frames import JUDGED_QUERIES, QRELS
from operators.frames import UNIFIED

BASE = {
    "vector_weight.code": 0.5,
    "vector_weight.wiki": 0.5,
    "full_weight_terms": 8.0,
    "weight.code.question": 1.0,
    "weight.wiki.question": 1.2,
}


def made(
    questions: int,
    *,
    right: str = "code",
    seed: int = 1,
    judged: list[str] | None = None,
    all_corpora: bool = False,
    unseen: str = "",
) -> Candidates:
    """Two documents a question, much alike, one in each corpus; the one of ``right`` is judged.

    In the corpus ``unseen`` that is missing from the list of vectors, which has another.
    """
    random = np.random.default_rng(seed)
    hits, queries, qrels = [], [], []
    for number in range(questions):
        queries.append(
            {
                "query_id": f"q{number}",
                "number": number,
                "texts": ["why"],
                "trigger": "question",
                "corpora": judged,
            }
        )
        qrels.append((f"q{number}", f"{right}-{number}", 1))
        for rank, corpus in enumerate(("code", "wiki")):
            row = {
                "query_id": number,
                "chunk_id": 2 * number + rank,
                "corpus": corpus,
                "document_id": f"{corpus}-{number}",
                "vector_rank": 0,
                "text_rank": 0,
                "vector_distance": 0.3 + random.uniform(0, 0.2),
                "text_score": 20 + random.uniform(0, 5),
            }
            if corpus == unseen:
                other = {**row, "document_id": f"other-{number}", "text_score": None}
                hits.append({**other, "text_rank": None, "chunk_id": 1000 + number})
                row |= {"vector_rank": None, "vector_distance": None, "text_score": 30.0}
            hits.append(row)
    wanted = {*hits[0], "repo", "start_line", "end_line"}
    frame = pl.DataFrame(hits, schema={n: t for n, t in UNIFIED.items() if n in wanted})
    return candidates(
        frame.with_columns(recency=pl.lit(1.0)),
        pl.DataFrame(queries, schema=JUDGED_QUERIES),
        pl.DataFrame(qrels, schema=QRELS, orient="row"),
        dict.fromkeys(("code", "wiki"), CorpusSearch()),
        all_corpora=all_corpora,
    )
