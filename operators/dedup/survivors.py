"""What a list looks like once its copies are gone: who stays, and what it carries of the others."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

from operators.ranking.order import Integers, changes, index, places, replaced

_SOURCE = ["chunk_id", "corpus", "source_label", "source_url"]


def drop_copies(merged: pl.DataFrame, keepers: Integers) -> pl.DataFrame:
    """``DEDUPED``: the rows of ``merged`` (``MERGED``) that stay, ranked anew.

    ``duplicates`` has the chunk_ids of what each row absorbed, best first.
    """
    gone, kept = _split(keepers)
    place = np.cumsum(keepers == np.arange(len(keepers))) - 1
    chosen = merged[index(kept)] if len(gone) else merged
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
    both, owner = flat(carried[index(np.concatenate([touched, gone]))])
    early = owner < len(touched)
    before, before_owner = both.filter(early), owner[early]
    after, after_owner = both.filter(~early), owner[~early] - len(touched)
    own = hits[_SOURCE][index(gone)].to_struct("alternate_sources")
    turn = 2 * np.arange(len(gone))
    sources = pl.concat([before, own, after])
    owner = np.concatenate([before_owner, place, place[after_owner]])
    when = np.concatenate([np.full(len(before), -1), turn, turn[after_owner] + 1])
    order = np.lexsort((when, owner))
    renewed = lists("alternate_sources", sources[index(order)], owner[order], len(touched))
    row = np.arange(len(hits))
    row[touched] = len(hits) + np.arange(len(touched))
    column = pl.concat([carried, renewed])[index(row[kept])]
    return replaced(hits[index(kept)], column)


def lists(name: str, values: pl.Series, owner: Integers, rows: int) -> pl.Series:
    """A column of ``rows`` lists: each value goes into the list of its ``owner``, in order."""
    nothing = _nothing(values.dtype).alias(name)
    if not len(values):
        return nothing.new_from_index(0, rows)
    if (owner[1:] < owner[:-1]).any():
        order = np.argsort(owner, kind="stable")
        values, owner = values[index(order)], owner[order]
    begins = np.flatnonzero(changes(owner))
    ends = [*begins[1:].tolist(), len(owner)]
    filled = [values[a:b] for a, b in zip(begins.tolist(), ends, strict=True)]
    place = np.zeros(rows, np.uint32)
    place[owner[begins]] = np.arange(1, len(filled) + 1)
    column = nothing.clone().append(pl.Series(name, filled))
    return column[pl.Series(place)]


def flat(column: pl.Series) -> tuple[pl.Series, Integers]:
    """The values of a column of lists one after the other, and the row each comes from."""
    sizes = np.nan_to_num(column.list.len().to_numpy()).astype(np.int64)
    filled = np.flatnonzero(sizes)
    values = column[index(filled)].explode() if len(filled) else _nothing_in(column)
    return values, np.repeat(filled, sizes[filled])


def _nothing_in(column: pl.Series) -> pl.Series:
    return pl.Series(column.name, [], dtype=column.dtype.inner)  # type: ignore[attr-defined]


@cache
def _nothing(dtype: pl.DataType) -> pl.Series:
    """A column of one empty list."""
    return pl.Series([[]], dtype=pl.List(dtype))


def _split(keepers: Integers) -> tuple[Integers, Integers]:
    stays = keepers == np.arange(len(keepers))
    return np.flatnonzero(~stays), np.flatnonzero(stays)
