"""The passages of an answer for other frameworks: a text, its metadata and its score."""

import json
from typing import Any, NamedTuple

from dataflow.driver.answer import Answer
from operators.frames import DEFINES

_COLUMNS = ("corpus", "repo", "title", "path", "start_line", "end_line", "language", "version")


class Passage(NamedTuple):
    """A passage; its metadata is plain JSON, without missing values."""

    id: str
    text: str
    metadata: dict[str, Any]
    score: float


def passages_of(answer: Answer) -> list[Passage]:
    """The passages of ``answer``, the best first.

    Metadata has ``label`` and ``url`` to cite; ``corpus``, ``repo``, ``title``, ``path``,
    ``start_line``, ``end_line``, ``language``, ``version`` and ``created_at``; ``symbol``, the
    names whose definitions begin there; ``alternates``, the label, link, corpus and repository of
    each near-duplicate that the passage represents; ``more_of_file``, the label, link, lines and
    score of the next best passages of its file; ``similarity`` to the query, 0 to 1, and
    ``evidence`` (strong, partial or weak: how likely the first passages answer the query); and the
    ``notes`` of the answer.
    """
    shared = {"evidence": answer.evidence, "notes": list(answer.notes)}
    return [
        Passage(
            id=f"{row['corpus']}:{row['chunk_id']}",
            text=row["text"],
            metadata={
                name: value
                for name, value in (_metadata(row) | shared).items()
                if value not in (None, "", [])
            },
            score=row["score"],
        )
        for row in answer.frame.iter_rows(named=True)
    ]


def _metadata(row: dict[str, Any]) -> dict[str, Any]:
    distance, created = row["vector_distance"], row["created_at"]
    return {
        "label": row["source_label"],
        "url": row["source_url"],
        **{name: row[name] for name in _COLUMNS},
        "created_at": created and created.isoformat(),
        "symbol": json.loads(row["metadata"] or "{}").get(DEFINES),
        "alternates": [_alternate(one) for one in row["alternate_sources"] or ()],
        "more_of_file": [_file_passage(one) for one in row.get("more_of_file") or ()],
        "similarity": None if distance is None else round(1 - distance, 4),
    }


def _file_passage(passage: dict[str, Any]) -> dict[str, Any]:
    return _named(passage) | {n: passage[n] for n in ("start_line", "end_line", "score")}


def _alternate(source: dict[str, Any]) -> dict[str, Any]:
    return _named(source) | {name: source[name] for name in ("corpus", "repo")}


def _named(source: dict[str, Any]) -> dict[str, Any]:
    return {"label": source["source_label"], "url": source["source_url"]}
