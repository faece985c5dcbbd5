"""The labels and links of what an answer shows.

Of some three hundred hits an answer shows some forty: labels are made when the lists are cut.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from operators.arrays.rows import chunk_rows, replaced, take
from operators.context.distinct_labels import tell_apart, ways_of
from operators.context.templates import describe
from operators.frames import LABELS, SHOWN, SHOWN_PASSAGE, empty, frame_of

KEY = ("query_id", "corpus", "chunk_id")
_NAMES = ("source_label", "source_url")
_SETTINGS = ("corpus", "label", "link")


def labels_of(
    shown: Sequence[pl.DataFrame],
    chunks: pl.DataFrame,
    corpora: pl.DataFrame,
    many_repos: Collection[str] = (),
) -> pl.DataFrame:
    """``LABELS``: the label and the link of each chunk that ``shown`` names, by its templates.

    Args:
        shown: columns ``FUSED``; each row names its chunk, its ``alternate_sources``, and its
            ``more_of_file`` if there are any.
        chunks: columns ``READ_CHUNKS``; a chunk that is not there has no row.
        corpora: ``CORPORA``, with the templates of labels and links
            (:mod:`operators.context.templates`).
        many_repos: the corpora whose labels name the repository.

    Returns:
        No two chunks of a query have the same label.
    """
    keys = list(dict.fromkeys(key for hits in shown for key in _named(hits)))
    if not keys:
        return empty(LABELS)
    queries, names, ids = zip(*keys, strict=True)
    found = chunk_rows(chunks, pl.Series(names, dtype=pl.String), np.array(ids, np.int64))
    settings = {corpus: templates for corpus, *templates in corpora[_SETTINGS].iter_rows()}
    there = [n for n, row in enumerate(found.tolist()) if row >= 0 and names[n] in settings]
    if not there:
        return empty(LABELS)
    distinct, own = np.unique(found[there], return_inverse=True)
    read = take(chunks.drop("embedding"), distinct)
    plain, links = _described(read, settings, many_repos)
    rows, lists = own.tolist(), [(queries[n], names[n]) for n in there]
    labels = tell_apart(lists, [plain[row] for row in rows], ways_of(read, rows))
    by_corpus = [lambda n: f"corpus {lists[n][1]}"]
    labels = tell_apart([query for query, _ in lists], labels, by_corpus)
    columns = ([column[n] for n in there] for column in (queries, names, ids))
    values = zip(LABELS.items(), (*columns, labels, [links[row] for row in rows]), strict=True)
    return frame_of(pl.Series(name, of, dtype) for (name, dtype), of in values)


def labelled(hits: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """``SHOWN``: ``hits`` (``FUSED``), their copies and further passages with their ``labels``.

    A hit with a label of its own keeps it; one without any is called by its path, title or id.
    """
    known = {(query, corpus, chunk): names for query, corpus, chunk, *names in labels.iter_rows()}
    keys = hits[list(KEY)].rows()

    def names(query: int, corpus: str, chunk: int, title: str = "") -> dict[str, Any]:
        unknown = [f"[{corpus}: {title or chunk}]", None]
        return dict(zip(_NAMES, known.get((query, corpus, chunk), unknown), strict=True))

    def with_names(column: str, dtype: pl.DataType) -> pl.Series:
        lists = [
            [{**one, **names(query, one.get("corpus", corpus), one["chunk_id"])} for one in some]
            for (query, corpus, _), some in zip(keys, hits[column].to_list(), strict=True)
        ]
        return pl.Series(column, lists, dtype)

    titles = hits.select(pl.coalesce("path", "title", "document_id")).to_series()
    own = [names(q, c, n, title) for (q, c, n), title in zip(keys, titles, strict=True)]
    columns = pl.DataFrame(own, {name: SHOWN[name] for name in _NAMES}).get_columns()
    if set(_NAMES) <= set(hits.columns):
        columns = hits.select(pl.coalesce(one.name, one) for one in columns).get_columns()
    columns.append(with_names("alternate_sources", SHOWN["alternate_sources"]))
    if "more_of_file" in hits.columns:
        columns.append(with_names("more_of_file", pl.List(SHOWN_PASSAGE)))
    return replaced(hits, *columns)


def _named(hits: pl.DataFrame) -> Iterator[tuple[int, str, int]]:
    """Each chunk that ``hits`` name."""
    keys = hits[list(KEY)].rows()
    yield from keys
    for column in ("alternate_sources", "more_of_file"):
        lists: list[list[Mapping[str, Any]]] = []
        lists = hits[column].to_list() if column in hits.columns else lists
        for (query, corpus, _), of in zip(keys, lists, strict=False):
            yield from ((query, one.get("corpus", corpus), one["chunk_id"]) for one in of)


def _described(
    chunks: pl.DataFrame, settings: Mapping[str, Sequence[Any]], many_repos: Collection[str]
) -> tuple[list[str], list[str | None]]:
    """The label and the link of each of ``chunks``, by the templates of its corpus."""
    names = chunks["corpus"].to_numpy()
    labels: list[str] = [""] * len(names)
    links: list[str | None] = [None] * len(names)
    for corpus, (label, link) in settings.items():
        rows = np.flatnonzero(names == corpus)
        if len(rows):
            some = take(chunks, rows)
            own = describe(some, corpus, label, link, many_repos=corpus in many_repos)
            for row, text, url in zip(rows.tolist(), *own, strict=True):
                labels[row], links[row] = text, url
    return labels, links
