"""What a list looks like once its copies are gone: who stays, and what it carries of the others."""

from __future__ import annotations

from itertools import chain

import numpy as np
import polars as pl

from operators.arrays.segments import (
    Integers,
    changes,
    index,
    lengths,
    offsets,
    places,
    replaced,
    take,
)
from operators.frames import DEDUPED, SOURCE, empty

_SOURCE = [field.name for field in SOURCE.fields]
_FEW = 100  # lists that are made one by one; more are made together


def drop_copies(merged: pl.DataFrame, keepers: Integers) -> pl.DataFrame:
    """``DEDUPED``: the rows of ``merged`` (``MERGED``) that stay, ranked anew.

    ``duplicates`` has the chunk_ids of what each row absorbed, best first.
    """
    if not len(keepers):
        return empty(DEDUPED)
    gone, kept = _split(keepers)
    place = np.cumsum(keepers == np.arange(len(keepers))) - 1
    chosen = take(merged, kept) if len(gone) else merged
    owner = place[keepers[gone]]
    order = np.argsort(owner, kind="stable")
    names = merged["chunk_id"][index(gone[order])].alias("duplicates")
    copies = lists(names, owner[order], len(kept))
    rank = pl.Series("rank", places(chosen["query_id"].to_numpy()))
    return replaced(chosen, rank, copies)


def absorb(hits: pl.DataFrame, keepers: Integers) -> pl.DataFrame:
    """The rows of ``hits`` (``FUSED``) that stay; each carries where its copies were found.

    Order and ``rank`` stay as they are.
    """
    gone, kept = _split(keepers)
    if not len(gone):
        return hits
    place = np.cumsum(keepers == np.arange(len(keepers))) - 1
    survivor = place[keepers[gone]]
    order = np.argsort(survivor, kind="stable")
    return survivors(hits, kept, gone[order], survivor[order])


def survivors(
    hits: pl.DataFrame, kept: Integers, copies: Integers, survivor: Integers
) -> pl.DataFrame:
    """The rows ``kept`` of ``hits`` in this order; each carries where its copies were found.

    To a survivor's ``alternate_sources`` comes each copy, and after each the copy's own alternates.

    Args:
        hits: columns ``UNIFIED`` and others.
        kept: row numbers.
        copies: row numbers; those of one survivor in the order in which it is to carry them.
        survivor: of each copy the place of its survivor in ``kept``, ascending.
    """
    chosen = take(hits, kept)
    if not len(copies):
        return chosen
    sources = hits[_SOURCE].to_struct("alternate_sources")[index(copies)]
    absorbing = survivor[changes(survivor)]
    owner = np.searchsorted(absorbing, survivor)
    # the alternates of other rows stay as they are
    touched = np.concatenate([kept[absorbing], copies])
    carried, carrier = flat(hits[sources.name][index(touched)])
    if len(carried):
        turn = np.arange(len(touched)) - len(absorbing)
        turn[: len(absorbing)] = -1
        row = np.concatenate([np.arange(len(absorbing), len(touched)), carrier])
        owner = np.concatenate([np.arange(len(absorbing)), owner])[row]
        is_carried = np.arange(len(row)) >= len(copies)
        order = np.lexsort((is_carried, turn[row], owner))
        sources, owner = sources.append(carried)[index(order)], owner[order]
    place = np.arange(len(kept))
    place[absorbing] = len(kept) + np.arange(len(absorbing))
    alternates = chosen[sources.name].append(lists(sources, owner, len(absorbing)))
    return replaced(chosen, alternates.rechunk()[index(place)])


def lists(values: pl.Series, owner: Integers, rows: int) -> pl.Series:
    """A column of ``rows`` lists, named as ``values``: each value goes to the list of its owner.

    Args:
        values: what stands in the lists, one list after the other.
        owner: for each value the row of its list, ascending.
        rows: how many lists there are; those without a value are empty.
    """
    begins = np.flatnonzero(changes(owner))
    if len(begins) > _FEW:
        return _many(values, owner, rows)
    place = np.zeros(rows, np.int64)
    place[owner[begins]] = np.arange(1, len(begins) + 1)
    return _few(values, begins)[index(place)]


def _few(values: pl.Series, begins: Integers) -> pl.Series:
    """An empty list, then one from each of ``begins`` to the next."""
    cuts = zip(begins.tolist(), lengths(begins, len(values)).tolist(), strict=True)
    some = [values.slice(begin, length) for begin, length in cuts]
    return pl.Series(values.name, [values.clear(), *some])


def _many(values: pl.Series, owner: Integers, rows: int) -> pl.Series:
    """The lists themselves, for any number of them, at a higher fixed price.

    They are made of the places of the values, which then give way to the values.
    """
    cuts = offsets(np.bincount(owner, minlength=rows))
    filled = pl.element().map_batches(
        lambda _: values, return_dtype=values.dtype, is_elementwise=True
    )
    ranges = pl.int_ranges(pl.Series(cuts[:-1]), pl.Series(cuts[1:])).alias(values.name)
    return pl.select(ranges).select(pl.col(values.name).list.eval(filled)).to_series()


def flat(column: pl.Series) -> tuple[pl.Series, Integers]:
    """The values of a column of lists one after the other, and the row each comes from."""
    if 0 < len(column) <= _FEW:  # what explodes a column wakes threads, and waits for them
        some = list(column)
        values = some[0].alias(column.name)
        for one in some[1:]:
            if len(one):
                values.append(one)
        return values.rechunk(), np.repeat(np.arange(len(some)), [len(one) for one in some])
    values = column.explode(empty_as_null=False, keep_nulls=False)
    if not len(values):
        return values, np.empty(0, np.int64)
    sizes = np.nan_to_num(column.list.len().to_numpy())  # of null it is 0
    return values, np.repeat(np.arange(len(column)), sizes.astype(np.int64))


def numbers(column: pl.Series) -> tuple[Integers, Integers]:
    """As :func:`flat`, of a column of lists of Int64 without nulls; much faster for a short one."""
    if len(column) > _FEW:
        values, owner = flat(column)
        return values.to_numpy(), owner
    some = column.to_list()
    owner = np.repeat(np.arange(len(some)), [len(one) for one in some])
    return np.fromiter(chain.from_iterable(some), np.int64, len(owner)), owner


def _split(keepers: Integers) -> tuple[Integers, Integers]:
    stays = keepers == np.arange(len(keepers))
    return np.flatnonzero(~stays), np.flatnonzero(stays)
