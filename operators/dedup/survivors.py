"""What a list looks like once its copies are gone: who stays, and what it carries of the others."""

from __future__ import annotations

from itertools import chain

import numpy as np
import polars as pl

from operators.frames import SOURCE, frame_of
from operators.ranking.order import Integers, changes, index, lengths, places, replaced, take

_SOURCE = [field.name for field in SOURCE.fields]
_FEW = 100  # lists that are made one by one; more are made together


def drop_copies(merged: pl.DataFrame, keepers: Integers) -> pl.DataFrame:
    """``DEDUPED``: the rows of ``merged`` (``MERGED``) that stay, ranked anew.

    ``duplicates`` has the chunk_ids of what each row absorbed, best first.
    """
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

    To a survivor's ``alternate_sources`` come each dropped copy, best first, and after each the
    copy's own alternates. Order and ``rank`` stay as they are.
    """
    gone, kept = _split(keepers)
    if not len(gone):
        return hits
    changed, owner = np.unique(keepers[gone], return_inverse=True)  # who stays with copies
    rows = np.concatenate([changed, gone])
    keeper = np.concatenate([np.arange(len(changed)), owner])
    order = np.lexsort((rows, np.arange(len(rows)) >= len(changed), keeper))
    rows, keeper = rows[order], keeper[order]
    some = take(frame_of(hits[name] for name in [*_SOURCE, "alternate_sources"]), rows)
    carried, carrier = flat(some["alternate_sources"])
    copy = np.flatnonzero(keepers[rows] != rows)
    sources = frame_of(some[name][index(copy)] for name in _SOURCE).to_struct("alternate_sources")
    # a copy, then what it carries
    place = np.argsort(np.concatenate([carrier * 2 + 1, copy * 2]), kind="stable")
    sources = carried.append(sources).rechunk()[index(place)]
    united = lists(sources, keeper[np.concatenate([carrier, copy])[place]], len(changed))
    column = np.arange(len(keepers))
    column[changed] = len(keepers) + np.arange(len(changed))
    every = hits["alternate_sources"].clone().append(united).rechunk()
    return replaced(take(hits, kept), every[index(column[kept])])


def lists(values: pl.Series, owner: Integers, rows: int) -> pl.Series:
    """A column of ``rows`` lists, named as ``values``: each value goes to the list of its owner.

    Args:
        values: what stands in the lists, one list after the other.
        owner: for each value the row of its list, ascending.
        rows: how many lists there are; those without a value are empty.
    """
    begins = np.flatnonzero(changes(owner))
    filled = _many(values, owner) if len(begins) > _FEW else _few(values, begins)
    place = np.zeros(rows, np.int64)
    place[owner[begins]] = np.arange(1, len(begins) + 1)
    return filled[index(place)]


def _few(values: pl.Series, begins: Integers) -> pl.Series:
    """An empty list, then one from each of ``begins`` to the next."""
    cuts = zip(begins.tolist(), lengths(begins, len(values)).tolist(), strict=True)
    some = [values.slice(begin, length) for begin, length in cuts]
    return pl.Series(values.name, [values.clear(), *some])


def _many(values: pl.Series, owner: Integers) -> pl.Series:
    """The same for any number of lists, at a higher fixed price."""
    owners = pl.Series("owner", owner)
    some = pl.DataFrame([owners, values]).group_by("owner", maintain_order=True).agg(values.name)
    return pl.concat([_few(values.clear(), owner[:0]), some[values.name]], rechunk=True)


def flat(column: pl.Series) -> tuple[pl.Series, Integers]:
    """The values of a column of lists one after the other, and the row each comes from."""
    if 0 < len(column) <= _FEW:  # what explodes a column wakes threads, and waits for them
        some = list(column)
        values = some[0].alias(column.name)
        for one in some[1:]:
            if len(one):
                values.append(one)
        return values.rechunk(), np.repeat(np.arange(len(some)), [len(one) for one in some])
    rows = pl.Series("row", np.arange(len(column)))
    long = frame_of([rows, column]).explode(column.name, empty_as_null=False, keep_nulls=False)
    return long[column.name], long["row"].to_numpy()


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
