"""Builds columns of lists from values and their owners, and flattens them."""

from itertools import chain

import numpy as np
import polars as pl

from operators.arrays.rows import index
from operators.arrays.segments import Integers, lengths, offsets, starts

_FEW = 100  # lists that are made one by one; more are made together


def lists(values: pl.Series, owner: Integers, rows: int) -> pl.Series:
    """A column of ``rows`` lists, named as ``values``: each value goes to the list of its owner.

    ``owner``: for each value the row of its list, ascending. A list without a value is empty.
    """
    begins = starts(owner)
    if len(begins) > _FEW:
        return _many(values, owner, rows)
    number = np.zeros(rows, np.int64)
    number[owner[begins]] = np.arange(1, len(begins) + 1)
    return _few(values, begins)[index(number)]


def _few(values: pl.Series, begins: Integers) -> pl.Series:
    """An empty list, then one from each of ``begins`` to the next."""
    cuts = zip(begins.tolist(), lengths(begins, len(values)).tolist(), strict=True)
    some = [values.slice(begin, length) for begin, length in cuts]
    return pl.Series(values.name, [values.clear(), *some])


def _many(values: pl.Series, owner: Integers, rows: int) -> pl.Series:
    """The lists themselves, for any number of them, at a higher fixed cost.

    They are built from the values' row numbers, which are then replaced by the values.
    """
    cuts = offsets(np.bincount(owner, minlength=rows))
    filled = pl.element().map_batches(
        lambda _: values, return_dtype=values.dtype, is_elementwise=True
    )
    ranges = pl.int_ranges(pl.Series(cuts[:-1]), pl.Series(cuts[1:])).alias(values.name)
    return pl.select(ranges).select(pl.col(values.name).list.eval(filled)).to_series()


def flat(column: pl.Series) -> tuple[pl.Series, Integers]:
    """The values of a column of lists one after the other, and the row each comes from."""
    if 0 < len(column) <= _FEW:  # exploding a column wakes threads and waits for them
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
    """As :func:`flat`, for lists of Int64 without nulls; much faster for a short column."""
    if len(column) > _FEW:
        values, owner = flat(column)
        return values.to_numpy(), owner
    some = column.to_list()
    owner = np.repeat(np.arange(len(some)), [len(one) for one in some])
    return np.fromiter(chain.from_iterable(some), np.int64, len(owner)), owner
