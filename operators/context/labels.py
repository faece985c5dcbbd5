"""The labels and links of what an answer shows.

Of some three hundred hits an answer shows some forty: labels are made when the lists are cut. They
are told apart from those of all hits of the question: who gives one back means this passage.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
import polars as pl

from operators.arrays.lists import flat, lists
from operators.arrays.rows import chunk_rows, replaced, take
from operators.context.distinct_labels import tell_apart, ways_of
from operators.context.templates import describe
from operators.frames import LABELS, frame_of

Key = tuple[int, str, int]
"""Query, corpus and chunk."""

KEY = ["query_id", "corpus", "chunk_id"]
_NAMES = ((0, "source_label"), (1, "source_url"))
_SETTINGS = ["corpus", "label", "link"]
_ALIKE = ["query_id", "corpus", "title", "anchor"]
_TITLES = ["path", "title", "document_id"]
_LISTS = ("alternate_sources", "more_of_file")


def labels_of(
    shown: Sequence[pl.DataFrame],
    hits: pl.DataFrame,
    chunks: pl.DataFrame,
    corpora: pl.DataFrame,
    many_repos: Collection[str] = (),
) -> pl.DataFrame:
    """``LABELS``: the label and the link of each chunk that ``shown`` names, by its templates.

    Args:
        shown: columns ``FUSED``; each row names its chunk, its ``alternate_sources``, and its
            ``more_of_file`` if there are any.
        hits: columns ``UNIFIED``, all hits; those with the title and heading of a shown one, which
            may have its label, have rows too, and their copies.
        chunks: columns ``READ_CHUNKS``; a chunk that is not there has no row.
        corpora: ``CORPORA``, with the templates of labels and links
            (:mod:`operators.context.templates`).
        many_repos: the corpora whose labels name the repository.

    Returns:
        No two chunks of a query have the same label.
    """
    named = {key for some in shown for key in _named(some)}
    alike = hits[_ALIKE].rows()
    wanted = {name for key, name in zip(hits[KEY].rows(), alike, strict=True) if key in named}
    rows = np.flatnonzero([name in wanted for name in alike])
    like_shown = take(hits[[*KEY, "alternate_sources"]], rows)
    keys = list(dict.fromkeys(key for some in (*shown, like_shown) for key in _named(some)))
    names = pl.Series("corpus", [corpus for _, corpus, _ in keys], pl.String)
    found = chunk_rows(chunks, names, np.array([chunk for *_, chunk in keys], np.int64))
    read = frame_of(chunks[name] for name in chunks.columns if name != "embedding")
    parts: list[tuple[int, str, int, str, str | None]] = []
    for corpus, label, link in corpora[_SETTINGS].iter_rows():
        there = [n for n, key in enumerate(keys) if key[1] == corpus and found[n] >= 0]
        if there:
            rows, own = np.unique(found[there], return_inverse=True)
            some, number = take(read, rows), own.tolist()
            both = describe(some, corpus, label, link, many_repos=corpus in many_repos)
            plain, links = (of.to_list() for of in both)
            queries, texts = [keys[n][0] for n in there], [plain[row] for row in number]
            texts = [*tell_apart(queries, texts, ways_of(some, number))]
            made = zip(there, texts, number, strict=True)
            parts += [(*keys[n], text, links[row]) for n, text, row in made]
    queries, labels = [row[0] for row in parts], [row[3] for row in parts]
    labels = [*tell_apart(queries, labels, [lambda n: f"corpus {parts[n][1]}"])]
    columns = pl.DataFrame(parts, LABELS, orient="row")
    return replaced(columns, pl.Series("source_label", labels, pl.String))


def labelled(hits: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """``SHOWN``: ``hits`` (``FUSED``), their copies and further passages with their ``labels``.

    A hit with a label of its own keeps it; one without any is called by its path, title or id.
    """
    known = {(query, corpus, chunk): names for query, corpus, chunk, *names in labels.iter_rows()}
    query, corpus = hits["query_id"].to_list(), hits["corpus"].to_list()

    def names(keys: Iterable[Key], titles: Iterable[str | None]) -> list[pl.Series]:
        both = zip(keys, titles, strict=True)
        found = [known.get(key) or (f"[{key[1]}: {title or key[2]}]", None) for key, title in both]
        return [pl.Series(name, [one[n] for one in found], pl.String) for n, name in _NAMES]

    def with_names(column: str) -> pl.Series:
        values, owner = flat(hits[column])
        fields, rows = values.struct.unnest(), owner.tolist()
        of = fields["corpus"] if "corpus" in fields.columns else [corpus[row] for row in rows]
        keys = zip([query[row] for row in rows], of, fields["chunk_id"], strict=True)
        named = frame_of([*fields.get_columns(), *names(keys, [None] * len(rows))])
        return lists(named.to_struct(column), owner, hits.height)

    titles = [one or other or last for one, other, last in hits[_TITLES].iter_rows()]
    columns = names(zip(query, corpus, hits["chunk_id"], strict=True), titles)
    if "source_label" in hits.columns:
        columns = hits.select(pl.coalesce(one.name, one) for one in columns).get_columns()
    columns += [with_names(one) for one in _LISTS if one in hits.columns]
    return replaced(hits, *columns)


def _named(hits: pl.DataFrame) -> Iterator[Key]:
    """Each chunk that ``hits`` name."""
    keys = hits[KEY].rows()
    yield from keys
    for column in (one for one in _LISTS if one in hits.columns):
        for (query, corpus, _), of in zip(keys, hits[column].to_list(), strict=True):
            yield from ((query, one.get("corpus", corpus), one["chunk_id"]) for one in of)
