"""Fusion, near-duplicates, versions and packing of plain lists, for a pipeline of one's own.

A hit is a mapping with an ``id``, as LangChain, Qdrant or a search engine give it after one line of
code; further keys stay as they are. Each function returns new hits, best first, and works without a
collection or a database:

>>> a, b = {"id": "a", "text": "The cache is flushed twice."}, {"id": "b", "text": "Keys expire."}
>>> copy = {"id": "c", "text": "The cache is  flushed twice."}
>>> words, vectors = [a, b], [b, copy]
>>> found = dedup(fuse([words, vectors]))
>>> [(hit["id"], hit["duplicates"]) for hit in found]
[('b', []), ('a', ['c'])]
>>> print(pack(found, budget=60, question="expiry").text.partition("[")[2])
b]
Keys expire.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

import numpy as np
import polars as pl

from operators.context import packing
from operators.dedup import across
from operators.dedup.similarity_index import index_similarity
from operators.errors import CrosscorpusError
from operators.frames import FUSED, LABELS, QUERIES, VERSION_SCOPE, empty
from operators.question.intent import intent
from operators.ranking import fusion
from operators.ranking.merge import reciprocal
from operators.signals import order
from operators.signals.shipped import RULES
from operators.versions.version_key import version_key

Hit = Mapping[str, Any]

_BY_VERSION = {"newest_version": 1.0, "replaced": 1.0}
_CORPUS_OF_LABEL = re.compile(r"\[?(\w+): ")


@dataclass(frozen=True)
class Packed:
    """A context.

    Attributes:
        text: what a model reads; empty where no hit fits.
        hits: those that are in it, with their ``number`` there, from 1.
        used: what it takes of the budget.
    """

    text: str
    hits: list[dict[str, Any]]
    used: int


def fuse(
    lists: Sequence[Sequence[Hit]],
    *,
    method: Literal["rrf", "comb_sum"] = "rrf",
    weights: Sequence[float] | None = None,
    rrf_k: float = 60.0,
) -> list[dict[str, Any]]:
    """One list of several, each hit once, by the sum of what its lists give it.

    A hit that a list has several times counts once there, at its best place.

    Args:
        lists: each best first.
        method: ``rrf`` adds ``weight / (rrf_k + place)``, places from 0 (Cormack, Clarke and
            Büttcher, SIGIR 2009); ``comb_sum`` adds ``weight * score``, where the scores of all
            lists are on one scale (Fox and Shaw, TREC-2).
        weights: of the lists; None: 1 each.

    Returns:
        The hits with ``score``, the sum, and ``places``: by list, from 0, None where it is absent.

    Raises:
        CrosscorpusError: a hit has no ``id``, or no ``score`` that is a number for ``comb_sum``;
            there are not as many weights as lists.

    >>> one, two = [{"id": "a"}, {"id": "a"}, {"id": "b"}], [{"id": "b"}]
    >>> [(hit["id"], round(hit["score"], 3), hit["places"]) for hit in fuse([one, two], rrf_k=1)]
    [('b', 1.333, [2, 0]), ('a', 1.0, [0, None])]
    """
    if method not in ("rrf", "comb_sum"):
        raise CrosscorpusError(f"method: {method!r} is none of rrf, comb_sum")
    factors = [1.0] * len(lists) if weights is None else [float(weight) for weight in weights]
    if len(factors) != len(lists):
        raise CrosscorpusError(f"weights: {len(lists)} are needed, one a list, got {len(factors)}")
    rows = _rows({f"{number:06}": one for number, one in enumerate(lists)})
    if not rows:
        return []
    frame = _frame(
        [
            {
                **{"chunk_id": number, "corpus": name, "rank": rank},
                **{"corpus_score": _score(hit) if method == "comb_sum" else None},
                **{"weight": factors[int(name)]},
            }
            for number, name, rank, hit in rows
        ],
        weight=pl.Float64(),
    )
    part = pl.col("corpus_score") if method == "comb_sum" else reciprocal("rank", rrf_k)
    fused = fusion.fused(frame.with_columns(recency=1.0), part * pl.col("weight"))
    ranks: dict[int, list[int | None]] = {number: [None] * len(lists) for number, *_ in rows}
    for number, name, rank, _ in rows:
        ranks[number][int(name)] = rank
    best = {(number, name): hit for number, name, _, hit in rows}
    return [
        {**best[number, name], "score": score, "places": ranks[number]}
        for number, name, score in fused["chunk_id", "corpus", "score"].iter_rows()
    ]


def dedup(
    hits: Sequence[Hit], *, jaccard_threshold: float = 0.9, cosine_threshold: float = 0.95
) -> list[dict[str, Any]]:
    """``hits`` without those whose ``text`` says what a better one says.

    Near-duplicates share their words (Jaccard index, from ``jaccard_threshold`` on) and their
    meaning (cosine of ``vector``, where the hits have vectors), and have the same numbers,
    negations and identifiers in the same order: a passage with another limit stays.

    Returns:
        The best hit of each group, with ``duplicates``: the ids of the others.

    Raises:
        CrosscorpusError: a hit has no ``id`` or no ``text``, or two hits have one ``id``.

    >>> texts = ["Wait 30 seconds.", "Wait 60 seconds.", "Wait  30 seconds."]
    >>> hits = [{"id": number, "text": text} for number, text in enumerate(texts)]
    >>> [(hit["id"], hit["duplicates"]) for hit in dedup(hits)]
    [(0, [2]), (1, [])]
    """
    if not hits:
        return []
    ids = _distinct_ids(hits)
    frame = _frame([{"chunk_id": n, "rank": n, "text": _text(hit)} for n, hit in enumerate(hits)])
    vectors = [hit.get("vector") for hit in hits]
    if all(vector is None for vector in vectors):
        vectors = [[1.0]] * len(hits)  # words alone decide
    listed = [None if one is None else np.asarray(one, np.float32).tolist() for one in vectors]
    embedding = pl.Series("embedding", listed, pl.List(pl.Float32))
    index = index_similarity(frame.select("chunk_id", "text").with_columns(embedding))
    kept = across.guarded(
        frame,
        index,
        jaccard_threshold=jaccard_threshold,
        cosine_threshold=cosine_threshold,
        twins=False,
    )
    return [
        {**hits[row], "duplicates": [ids[one["chunk_id"]] for one in others]}
        for row, others in kept["chunk_id", "alternate_sources"].iter_rows()
    ]


def newest_first(hits: Sequence[Hit], question: str) -> list[dict[str, Any]]:
    """``hits`` with the newest version of a topic in the place of its older ones.

    An older passage goes behind the first ten others, unless it has words of the question that no
    newest version has. A hit without ``topic`` and ``version`` keeps its place.

    Args:
        hits: best first; those of one ``topic`` are versions of one page, by their ``version``, as
            people count them (``9.1`` before ``10.0rc1`` before ``10.0``).

    Returns:
        The hits with ``superseded_by``: the version that replaces it, None for the newest.

    Raises:
        CrosscorpusError: a hit has no ``id`` or no ``text``, or two hits have one ``id``.

    >>> pages = [("9.1", "Wait 30 seconds."), ("10.0", "Wait 60 seconds.")]
    >>> hits = [{"id": v, "topic": "wait", "version": v, "text": text} for v, text in pages]
    >>> [(hit["id"], hit["superseded_by"]) for hit in newest_first(hits, "how long to wait?")]
    [('10.0', None), ('9.1', '10.0')]
    """
    if not hits:
        return []
    _distinct_ids(hits)
    replaced_by = _replaced_by(hits)
    frame = as_frame({"": [{**hit, "text": _text(hit)} for hit in hits]})
    frame = frame.with_columns(score=1 - pl.col("rank") / len(hits))
    queries = pl.DataFrame([{"query_id": 0, "texts": [question]}], QUERIES)
    policy = [{"query_id": 0, "version_policy": "newest"}]
    scope = pl.DataFrame(policy, VERSION_SCOPE).with_columns(queries["as_of"])
    said = order.signals(
        frame, intent(queries, queries), scope, RULES, _BY_VERSION, file_corpora=()
    )
    newest = order.ranked(frame, said)["chunk_id"].to_list()
    return [{**hits[n], "superseded_by": replaced_by[n]} for n in newest]


def pack(
    hits: Sequence[Hit],
    *,
    budget: int,
    question: str = "",
    measure: Callable[[Sequence[str]], Sequence[int]] = packing.characters,
) -> Packed:
    """The best hits that fit ``budget``, each under a header that no passage can imitate.

    A hit that does not fit is skipped, and the next is tried. The header has the hit's ``label``,
    else its ``id``; unseen characters of the texts are shown, and signs of chat templates broken.

    Args:
        hits: best first.
        budget: in the unit of ``measure``, headers and blank lines included.
        question: the headers' boundary is made from it and the hits, so that a rerun gives the
            same context.
        measure: takes texts and returns the cost of each; default: characters.

    Raises:
        CrosscorpusError: a hit has no ``id`` or no ``text``, or the budget is below 0.
    """
    if budget < 0:
        raise CrosscorpusError(f"budget must be 0 or more, got {budget}")
    labels = [str(hit.get("label") or _id(hit)) for hit in hits]
    rows = [
        {"chunk_id": n, "rank": n, "text": _text(hit), "source_label": label}
        for n, (hit, label) in enumerate(zip(hits, labels, strict=True))
    ]
    queries = pl.DataFrame([{"query_id": 0, "texts": [question]}], QUERIES)
    names = {match[1] for label in labels if (match := _CORPUS_OF_LABEL.match(label))}
    packed = packing.pack(
        _frame(rows, source_label=pl.String(), source_url=pl.String()),
        queries,
        pl.DataFrame(schema={"query_id": pl.UInt32, "note": pl.String}),
        budget=budget,
        label_names=names,
        measure=measure,
    )
    context = packing.compose(packed, queries, budget=budget)
    entries = packed["chunk_id", "number"].iter_rows()
    inside = [{**hits[n], "number": number} for n, number in entries]
    return Packed(context["text"].item(), inside, int(context["used"].item()))


def as_frame(found: Mapping[str, Sequence[Hit]]) -> pl.DataFrame:
    """``UNIFIED`` of the hits of several searches, by the searches' names, each best first.

    ``document_id`` is the ``id``; ``score``, ``text``, ``title``, ``path``, ``topic`` and
    ``version`` are taken where a hit has them. A hit that a list has several times
    counts once there, at its best place.

    Raises:
        CrosscorpusError: a hit has no ``id``.

    >>> as_frame({"words": [{"id": "a", "text": "x"}]})["corpus", "document_id", "text"].rows()
    [('words', 'a', 'x')]
    """
    rows = _rows(found)
    newer = _replaced_by([hit for *_, hit in rows])
    topics = {hit.get("topic"): str(n) for n, (*_, hit) in enumerate(rows)}
    return _frame(
        [
            {
                **{"chunk_id": number, "corpus": name, "rank": rank, "document_id": str(_id(hit))},
                **{"corpus_score": hit.get("score"), "repo": ""},
                **{key: hit.get(key) for key in ("text", "title", "path", "version")},
                **{"lineage_id": None if hit.get("topic") is None else topics[hit["topic"]]},
                **{"last_version": of, "removed": False},
            }
            for (number, name, rank, hit), of in zip(rows, newer, strict=True)
        ]
    ).drop("score")


def as_labels(found: Mapping[str, Sequence[Hit]]) -> pl.DataFrame:
    """``LABELS`` of the same hits, numbered as there: their ``label`` and ``url``.

    >>> as_labels({"words": [{"id": "a", "text": "x"}]})["source_label"].to_list()
    ['[words: a]']
    """
    rows = [
        (0, name, number, str(hit.get("label") or f"[{name}: {_id(hit)}]"), hit.get("url"))
        for number, name, _, hit in _rows(found)
    ]
    return pl.DataFrame(rows, LABELS, orient="row")


def _rows(lists: Mapping[str, Sequence[Hit]]) -> list[tuple[int, str, int, Hit]]:
    """A number for each id, the list, the rank there, and the hit; each id once a list."""
    numbers: dict[Any, int] = {}
    rows = []
    for name, hits in lists.items():
        seen = set[int]()
        for rank, hit in enumerate(hits):
            number = numbers.setdefault(_id(hit), len(numbers))
            if number not in seen:
                rows.append((number, name, rank, hit))
            seen.add(number)
    return rows


def _replaced_by(hits: Sequence[Hit]) -> list[str | None]:
    """The newest version of each hit's topic, None where it is the hit's own or has no topic."""
    newest: dict[Any, str] = {}
    for hit in hits:
        topic, version = hit.get("topic"), hit.get("version")
        if topic is not None and version is not None:
            both = (str(version), newest.get(topic, str(version)))
            newest[topic] = max(both, key=lambda one: (version_key(one), one))
    latest = [newest.get(hit.get("topic")) for hit in hits]
    return [
        None if of == str(hit.get("version")) else of for hit, of in zip(hits, latest, strict=True)
    ]


def _frame(rows: Sequence[Mapping[str, Any]], **columns: pl.DataType) -> pl.DataFrame:
    """``FUSED`` with what ``rows`` say, and further ``columns``; the rest is null."""
    schema = {**FUSED, **columns}
    each = {"query_id": 0, "alternate_sources": []}
    return pl.concat(
        [empty(pl.Schema(schema)), pl.DataFrame([{**each, **row} for row in rows], schema)]
    )


def _id(hit: Hit) -> Any:
    if not isinstance(hit, Mapping) or not isinstance(hit.get("id"), str | int | UUID):
        raise CrosscorpusError(
            f"a hit is a mapping with an 'id', a string, integer or UUID; got {shortened(hit)}"
        )
    return hit["id"]


def _distinct_ids(hits: Sequence[Hit]) -> list[Any]:
    ids = [_id(hit) for hit in hits]
    seen: set[Any] = set()
    for id in ids:
        if id in seen:
            raise CrosscorpusError(f"two hits have the id {id!r}: `fuse` makes one of them")
        seen.add(id)
    return ids


def _text(hit: Hit) -> str:
    text = hit.get("text")
    if not isinstance(text, str):
        raise CrosscorpusError(f"the hit {_id(hit)!r} has no 'text' that is a string")
    return text


def _score(hit: Hit) -> float:
    score = hit.get("score")
    if not isinstance(score, int | float | np.floating) or not np.isfinite(score):
        raise CrosscorpusError(f"the hit {_id(hit)!r} has no 'score' that is a finite number")
    return float(score)


def shortened(value: object) -> str:
    """``value`` as Python shows it, in 80 characters at most."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
