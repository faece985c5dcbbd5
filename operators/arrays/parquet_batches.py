"""Reads a Parquet file that may come from someone else, in bounded memory.

A few bytes of a file can unfold to gigabytes: pages are compressed, and a repeated value is stored
once. So texts are read as dictionaries, and the unfolded size is limited.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

ROWS = 1_000
"""Maximum number of rows in memory."""

MOST_UNFOLDED = 200
"""A file of over ``FREE`` bytes unfolds to at most this many times its size."""

FREE = 1024 * 1024 * 1024

AT_ONCE = 64 * 1024 * 1024
"""Maximum bytes that are unfolded together."""

LARGE_COLUMN = 256 * 1024 * 1024
"""Bytes of a column in a row group: a larger one has its own limit."""

_TEXTS = (
    *(pa.types.is_string, pa.types.is_large_string),
    *(pa.types.is_binary, pa.types.is_large_binary),
)
MOST_VALUES = 2**24
"""Maximum values in the lists of a column at once: a few bytes can hold a list of millions."""


def read_batches(
    path: Path, columns: Sequence[str] | None = None
) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64], float]]:
    """Batches of rows, the unfolded bytes of each row, and the fraction of the rows that is read.

    Raises:
        ValueError: the file, a column or a list unfolds to far more than its size, or a column is
            of a kind whose size is not known.
        ArrowException: the file is damaged.
    """
    unfolded, most, done = 0, max(FREE, MOST_UNFOLDED * path.stat().st_size), 0
    schema = pq.read_metadata(path).schema
    leaves = [schema.column(number) for number in range(len(schema))]
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    # a buffered reader would hold the whole file
    options = {"page_checksum_verification": True, "pre_buffer": False}
    with pq.ParquetFile(path, read_dictionary=texts, **options) as file:
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            check_columns(group)
            rows = AT_ONCE * group.num_rows // max(group.total_byte_size, 1)
            rows = min(max(rows, 1), ROWS)
            for batch in file.iter_batches(rows, [number], columns, use_threads=False):
                sizes = sum(map(row_sizes, batch.columns), np.zeros(batch.num_rows, np.int64))
                if (unfolded := unfolded + int(sizes.sum())) > most:
                    raise ValueError(f"it unfolds to over {most:,} bytes")
                for part, taken in slices(batch, sizes):
                    done += part.num_rows
                    yield part, taken, done / file.metadata.num_rows


def check_columns(group: pq.RowGroupMetaData) -> None:
    """Raise ValueError if a column unfolds to far more than its size, or has very many values.

    A page is loaded completely, and no call returns its size before that.
    """
    for column in map(group.column, range(group.num_columns)):
        most = max(LARGE_COLUMN, MOST_UNFOLDED * column.total_compressed_size)
        if column.total_uncompressed_size > most:
            raise ValueError(f"{column.path_in_schema} unfolds to over {most:,} bytes")
        if column.num_values > max(MOST_VALUES, group.num_rows):
            raise ValueError(f"{column.path_in_schema} has {column.num_values:,} values")


def slices(
    batch: pa.RecordBatch, sizes: NDArray[np.int64]
) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
    """``batch``, whose rows take ``sizes`` bytes, in slices of ``AT_ONCE`` bytes or of one row."""
    start, ends = 0, np.cumsum(sizes)
    while start < batch.num_rows:
        before = int(ends[start - 1]) if start else 0
        end = max(int(np.searchsorted(ends, before + AT_ONCE, "right")), start + 1)
        yield batch.slice(start, end - start), sizes[start:end]
        start = end


def row_sizes(column: pa.Array) -> NDArray[np.int64]:
    """The bytes of each value of a column, unfolded, with all that is nested in it.

    Raises:
        ValueError: the column is of a kind whose values may share their bytes in other ways than a
            dictionary's, so that its size is not known.
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
    if any(is_text(kind) for is_text in _TEXTS):
        lengths = pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)
        return np.asarray(lengths, np.int64)
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


def _list_sizes(column: pa.Array) -> NDArray[np.int64]:
    offsets = column.offsets.to_numpy(zero_copy_only=False)
    start, count = int(offsets[0]), int(offsets[-1] - offsets[0])
    is_map = pa.types.is_map(column.type)
    parts = (column.keys, column.items) if is_map else (column.values,)
    before = np.zeros(count + 1, dtype=np.int64)
    for part in parts:
        before[1:] += row_sizes(part.slice(start, count))
    np.cumsum(before, out=before)
    sizes: NDArray[np.int64] = before[offsets[1:] - start] - before[offsets[:-1] - start]
    return sizes
