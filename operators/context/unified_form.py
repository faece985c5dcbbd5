"""The common form of all corpora before fusion."""

from collections.abc import Collection

import numpy as np
import polars as pl

from operators.arrays.lists import lists, numbers
from operators.arrays.rows import chunk_rows, list_numbers, take
from operators.arrays.segments import inverse
from operators.context.distinct_labels import tell_apart, tell_corpora_apart, ways_of
from operators.context.templates import describe
from operators.frames import DEDUPED, READ_CHUNKS, SOURCE, UNIFIED, empty, frame_of, stacked

_CHUNK_COLUMNS = [name for name in UNIFIED if name in READ_CHUNKS and name != "corpus"]
_HIT_COLUMNS = [name for name in UNIFIED if name in DEDUPED and name != "chunk_id"]
_SOURCE = pl.Schema(SOURCE.to_schema())
_SETTINGS = ["corpus", "label", "link"]


def unify(
    deduped: pl.DataFrame,
    chunks: pl.DataFrame,
    corpora: pl.DataFrame,
    many_repos: Collection[str] = (),
) -> pl.DataFrame:
    """``UNIFIED``: the hits of all corpora with their texts, labels and links.

    Args:
        deduped: columns ``DEDUPED``, by corpus; a row whose chunk is not in ``chunks`` is dropped.
        chunks: columns ``READ_CHUNKS``, one row per corpus and distinct chunk; those of other
            corpora than ``corpora`` do not count.
        corpora: ``CORPORA``, with the templates of labels and links
            (:mod:`operators.context.templates`).
        many_repos: the corpora whose labels name the repository.

    Returns:
        The rows of ``deduped`` in order; ``alternate_sources`` has the labels and links of the
        near-duplicates within the corpus. No two chunks of a query have the same label.
    """
    wanted = chunks["corpus"].is_in(corpora["corpus"].implode())
    chunks = chunks if wanted.all() else chunks.filter(wanted)
    if not deduped.height or not chunks.height:
        return empty(UNIFIED)
    row = chunk_rows(chunks, deduped["corpus"], deduped["chunk_id"].to_numpy())
    if (row < 0).any():
        there = np.flatnonzero(row >= 0)
        deduped, row = take(deduped, there), row[there]
    labels, urls = _described(chunks, corpora, many_repos)
    described = frame_of([*(chunks[name] for name in _CHUNK_COLUMNS), urls])
    gone, owner = numbers(deduped["duplicates"])
    other = chunk_rows(chunks, deduped["corpus"].gather(owner), gone)
    known = np.flatnonzero(other >= 0)
    other, owner = other[known], owner[known]

    list_number = list_numbers(deduped)
    rows = np.concatenate([row, other]).tolist()
    plain = labels.to_list()
    distinct = tell_apart(
        np.concatenate([list_number, list_number[owner]]).tolist(),
        [plain[n] for n in rows],
        ways_of(chunks, rows),
    )
    labels = pl.Series("source_label", distinct, dtype=pl.String)
    sources = take(frame_of(described[name] for name in ("chunk_id", "repo", "source_url")), other)
    corpus = deduped["corpus"]
    others = [*sources.get_columns(), labels[len(row) :], corpus.gather(owner)]
    alternates = frame_of(others, _SOURCE).to_struct("alternate_sources")
    own = [
        *take(described, row).get_columns(),
        labels[: len(row)],
        *(deduped[name] for name in _HIT_COLUMNS),
        deduped["score"].alias("corpus_score"),
        lists(alternates, owner, deduped.height),
    ]
    return tell_corpora_apart(frame_of(own, UNIFIED))


def _described(
    chunks: pl.DataFrame, corpora: pl.DataFrame, many_repos: Collection[str]
) -> tuple[pl.Series, ...]:
    """The label and the link of each chunk, by the settings of its corpus."""
    chunks, parts = chunks.drop("embedding"), []
    names = chunks["corpus"].to_numpy()
    for corpus, label, link in corpora[_SETTINGS].iter_rows():
        rows = np.flatnonzero(names == corpus)
        if len(rows):
            some = take(chunks, rows)
            own = describe(some, corpus, label, link, many_repos=corpus in many_repos)
            parts.append((rows, frame_of(own)))
    back = inverse(np.concatenate([rows for rows, _ in parts]))
    return tuple(take(stacked(of for _, of in parts), back).get_columns())
