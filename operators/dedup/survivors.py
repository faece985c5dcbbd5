"""What a list looks like once its copies are gone: who stays, and what it carries of the others."""

from __future__ import annotations

import numpy as np
import polars as pl

from operators.ranking.order import Integers, changes, index, places, replaced, take

_SOURCE = ["chunk_id", "corpus", "source_label", "source_url"]


def drop_copies(merged: pl.DataFrame, keepers: Integers) -> pl.DataFrame:
    """``DEDUPED``: the rows of ``merged`` (``MERGED``) that stay, ranked anew.

    ``duplicates`` has the chunk_ids of what each row absorbed, best first.
    """
    gone, kept = _split(keepers)
    place = np.cumsum(keepers == np.arange(len(keepers))) - 1
    chosen = take(merged, kept) if len(gone) else merged
    copies = lists("duplicates", merged["chunk_id"][index(gone)], place[keepers[gone]], len(kept))
    rank = pl.Series("rank", places(chosen["query_id"].to_numpy()))
    return replaced(chosen, rank, copies)


def absorb(hits: pl.DataFrame, keepers: Integers) -> pl.DataFrame:
    """The rows of ``hits`` (``FUSED``) that stay; each carries where its copies were found.

    To a survivor's ``alternate_sources`` come each dropped copy, best first, and after each the
    copy's own alternates. Order and ``rank`` stay as they are.
    """
    gone, kept = _split(keepers)
    if not len(gone):
        return hits
    touched, place = np.unique(keepers[gone], return_inverse=True)
    carried = hits["alternate_sources"]
    own = hits[_SOURCE][index(gone)].to_struct("alternate_sources")
    before, before_owner = _flat(carried[index(touched)], own)
    after, after_owner = _flat(carried[index(gone)], own)
    turn = 2 * np.arange(len(gone))
    sources = before.append(own).append(after)
    owner = np.concatenate([before_owner, place, place[after_owner]])
    when = np.concatenate([np.full(len(before_owner), -1), turn, turn[after_owner] + 1])
    order = np.lexsort((when, owner))
    renewed = lists("alternate_sources", sources[index(order)], owner[order], len(touched))
    everything = pl.DataFrame([pl.concat([carried, renewed])])
    row = np.arange(len(hits))
    row[touched] = len(hits) + np.arange(len(touched))
    rest = hits[[name for name in hits.columns if name != carried.name]]
    return rest[index(kept)].hstack(take(everything, row[kept]))[hits.columns]


def lists(name: str, values: pl.Series, owner: Integers, rows: int) -> pl.Series:
    """A column of ``rows`` lists: each value goes into the list of its ``owner``, in order."""
    if not rows:
        return pl.Series(name, [], dtype=pl.List(values.dtype))
    if (owner[1:] < owner[:-1]).any():
        order = np.argsort(owner, kind="stable")
        values, owner = values[index(order)], owner[order]
    filled = [values.clear()] * rows
    begins = np.flatnonzero(changes(owner)).tolist()
    for begin, end in zip(begins, [*begins[1:], len(owner)], strict=False):
        filled[owner[begin]] = values[begin:end]
    return pl.Series(name, filled)


def _flat(column: pl.Series, like: pl.Series) -> tuple[pl.Series, Integers]:
    """The values of a column of lists one after the other, and the row each comes from.

    ``like`` has the type of a value.
    """
    sizes = column.list.len().fill_null(0).to_numpy().astype(np.int64)
    filled = np.flatnonzero(sizes)
    if not len(filled):
        return like.clear(), filled
    return column[index(filled)].explode(), np.repeat(filled, sizes[filled])


def _split(keepers: Integers) -> tuple[Integers, Integers]:
    stays = keepers == np.arange(len(keepers))
    return np.flatnonzero(~stays), np.flatnonzero(stays)
