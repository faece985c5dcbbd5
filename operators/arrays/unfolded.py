"""The size in bytes of the rows of an Arrow batch, before they are unfolded.

A few bytes of a file can unfold to gigabytes: pages are compressed, and a repeated value is stored
once. So texts are read as dictionaries, and the unfolded size is limited.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

MOST_UNFOLDED = 200
"""A file of over ``FREE`` bytes unfolds to at most this many times its size."""

FREE = 1024 * 1024 * 1024

AT_ONCE = 64 * 1024 * 1024
"""Maximum bytes that are unfolded together."""

LARGE_COLUMN = 256 * 1024 * 1024
"""Bytes of a column in a row group, or of a batch: a larger one has its own limit."""


MOST_VALUES = 2**24
"""Maximum values in the lists of a column at once: a few bytes can hold a list of millions."""


def most_unfolded(size: int) -> int:
    """The bytes to which a file of ``size`` bytes may unfold."""
    return max(FREE, MOST_UNFOLDED * size)


def check_pages(group: pq.RowGroupMetaData) -> None:
    """Raise ValueError if the pages of one column unfold to far more than their size.

    A page is loaded completely, and no call returns its size before that.
    """
    for number in range(group.num_columns):
        column = group.column(number)
        most = max(LARGE_COLUMN, MOST_UNFOLDED * column.total_compressed_size)
        if column.total_uncompressed_size > most:
            name = column.path_in_schema.partition(".")[0]
            raise ValueError(f"{name} unfolds to over {most:,} bytes")


def slices(batch: pa.RecordBatch, sizes: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """``batch``, whose rows take ``sizes`` bytes, in slices of ``AT_ONCE`` bytes or of one row."""
    start, ends = 0, np.cumsum(sizes)
    while start < batch.num_rows:
        before = int(ends[start - 1]) if start else 0
        end = max(int(np.searchsorted(ends, before + AT_ONCE, "right")), start + 1)
        yield batch.slice(start, end - start)
        start = end


def text_sizes(column: pa.Array) -> NDArray[np.int64]:
    """The bytes of each text of a column, which may be a dictionary's; 0 of a null."""
    if pa.types.is_dictionary(column.type):
        lengths = pc.take(pc.binary_length(column.dictionary), column.indices)
    else:
        lengths = pc.binary_length(column)
    return _numbers(lengths)


def row_sizes(column: pa.Array) -> NDArray[np.int64]:
    """The bytes of each value of a column, unfolded, with all that is nested in it.

    Raises:
        ValueError: the column is of a kind whose values may share their bytes in other ways than a
            dictionary's, so that its size is not known; or its lists have too many values.
    """
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return row_sizes(column.storage)
    if pa.types.is_dictionary(kind):
        sizes = np.append(row_sizes(column.dictionary), 0)
        none = len(sizes) - 1
        at = pc.fill_null(column.indices.cast(pa.int64()), none)
        taken: NDArray[np.int64] = sizes[at.to_numpy(zero_copy_only=False)]
        return taken
    if _is_text(kind):
        return text_sizes(column)
    if pa.types.is_fixed_size_list(kind):
        inner = row_sizes(column.values.slice(column.offset * kind.list_size))
        lists = inner[: len(column) * kind.list_size].reshape(len(column), kind.list_size)
        sums: NDArray[np.int64] = np.sum(lists, axis=1, dtype=np.int64)
        return sums
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        return _list_sizes(column)
    if pa.types.is_struct(kind):
        sizes = np.zeros(len(column), dtype=np.int64)
        for one in column.flatten():
            sizes += row_sizes(one)
        return sizes
    if pa.types.is_nested(kind) or pa.types.is_run_end_encoded(kind) or "view" in str(kind):
        raise ValueError(f"a column is {kind}, which is not read")
    width = 1 if pa.types.is_null(kind) else (kind.bit_width + 7) // 8
    return np.full(len(column), width, dtype=np.int64)


def _is_text(kind: pa.DataType) -> bool:
    is_any = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    return any(test(kind) for test in (*is_any, pa.types.is_large_binary))


def _list_sizes(column: pa.Array) -> NDArray[np.int64]:
    offsets = column.offsets.to_numpy(zero_copy_only=False)
    start, count = int(offsets[0]), int(offsets[-1] - offsets[0])
    if count > MOST_VALUES:
        raise ValueError(
            f"a column of lists has {count:,} values, at most {MOST_VALUES:,} are taken"
        )
    is_map = pa.types.is_map(column.type)
    parts = (column.keys, column.items) if is_map else (column.values,)
    before = np.zeros(count + 1, dtype=np.int64)
    for part in parts:
        before[1:] += row_sizes(part.slice(start, count))
    np.cumsum(before, out=before)
    sizes: NDArray[np.int64] = before[offsets[1:] - start] - before[offsets[:-1] - start]
    return sizes


def _numbers(column: pa.Array) -> NDArray[np.int64]:
    filled = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
    numbers: NDArray[np.int64] = filled.astype(np.int64)
    return numbers
