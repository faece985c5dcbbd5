"""The common form of all corpora before fusion."""

import numpy as np
import polars as pl

from operators.arrays.lists import lists, numbers
from operators.arrays.rows import take
from operators.arrays.segments import positions
from operators.context.distinct_labels import tell_apart, ways_of
from operators.context.templates import describe
from operators.frames import DEDUPED, READ_CHUNKS, SOURCE, UNIFIED, empty, frame_of
from operators.ranking.brevity import brevity

_OF_CHUNK = [name for name in UNIFIED if name in READ_CHUNKS and name != "corpus"]
_OF_HIT = [name for name in UNIFIED if name in DEDUPED and name != "chunk_id"]
_SOURCE = pl.Schema(SOURCE.to_schema())


def unify(
    deduped: pl.DataFrame,
    chunks: pl.DataFrame,
    *,
    corpus: str,
    label: str,
    link: str | None,
    many_repos: bool = False,
    full_length_words: int = 0,
) -> pl.DataFrame:
    """``UNIFIED`` of one corpus.

    Args:
        deduped: columns ``DEDUPED``; a row whose chunk is not in ``chunks`` is dropped.
        chunks: columns ``READ_CHUNKS``, one row per distinct chunk.
        label: template of ``source_label``, see :mod:`operators.context.templates`.
        link: template of ``source_url``; None or empty: no links.
        many_repos: the labels contain the repository.
        full_length_words: the words of a passage that counts in full.

    Returns:
        The rows of ``deduped`` in order, with the texts, labels and links of the chunks;
        ``alternate_sources`` has the labels and links of the near-duplicates within the corpus. No
        two chunks of a query have the same label.
    """
    if not deduped.height or not chunks.height:
        return empty(UNIFIED)
    ids = chunks["chunk_id"].to_numpy()
    row = positions(ids, deduped["chunk_id"].to_numpy())
    if (row < 0).any():
        there = np.flatnonzero(row >= 0)
        deduped, row = take(deduped, there), row[there]
    labels, urls = describe(chunks, corpus, label, link, many_repos=many_repos)
    short = brevity(chunks["text"], full_length_words=full_length_words)
    described = frame_of([*(chunks[name] for name in _OF_CHUNK), labels, urls, short])
    gone, owner = numbers(deduped["duplicates"])
    place = positions(ids, gone)
    known = np.flatnonzero(place >= 0)
    place, owner = place[known], owner[known]

    query_id = deduped["query_id"].to_numpy()
    rows = np.concatenate([row, place]).tolist()
    of_query = np.concatenate([query_id, query_id[owner]]).tolist()
    plain = labels.to_list()
    distinct = tell_apart(of_query, [plain[n] for n in rows], ways_of(chunks, rows))
    labels = pl.Series("source_label", distinct, dtype=pl.String)
    sources = take(frame_of(described[name] for name in ("chunk_id", "repo", "source_url")), place)
    others = [*sources.get_columns(), labels[len(row) :], _everywhere(corpus, len(place))]
    alternates = frame_of(others, _SOURCE).to_struct("alternate_sources")
    own = [
        *take(described, row).get_columns(),
        labels[: len(row)],
        _everywhere(corpus, deduped.height),
        *(deduped[name] for name in _OF_HIT),
        deduped["score"].alias("corpus_score"),
        lists(alternates, owner, deduped.height),
    ]
    return frame_of(own, UNIFIED)


def _everywhere(corpus: str, rows: int) -> pl.Series:
    return pl.Series("corpus", [corpus], dtype=pl.String).new_from_index(0, rows)
