"""Reads the rows of an exported file in bounded memory (see :mod:`operators.arrays.unfolded`)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from operators.arrays.unfolded import LARGE_COLUMN, check_pages, most_unfolded, slices, text_sizes
from operators.postgres.exchange.columns import from_arrow
from operators.postgres.exchange.manifest import check_regular
from operators.postgres.server_cursor import ROWS_AT_ONCE
from operators.ranking.bm25 import MAX_TERMS

LONGEST_VALUE = 1024 * 1024
"""Maximum bytes of a text: a passage, a name, metadata. Ingestion writes far shorter ones."""

LONGEST_ITEM = 64 * 1024 * 1024
"""Maximum bytes of ``data``, a live source's record of one item."""

_FEW_ROWS = 16  # rows in memory from a row group with a large column
_MOST_NUMBERS = 2**27  # numbers of a list column in a row group

# A buffered reader would hold the whole file.
_OPTIONS: dict[str, Any] = {"page_checksum_verification": True, "pre_buffer": False}


def file_schema(path: Path) -> tuple[pa.Schema, int]:
    """The columns of a file, and the number of its rows."""
    check_regular(path)
    with pq.ParquetFile(path, **_OPTIONS) as file:
        return file.schema_arrow, file.metadata.num_rows


def read_rows(path: Path, fields: Sequence[pa.Field]) -> Iterator[dict[str, list[Any]]]:
    """Batches of rows, as columns of values that ``copy_rows`` takes.

    Raises:
        ValueError: a value is longer than any that ingestion writes, the file decompresses to far
            more than its size, or a vector is not finite.
        ArrowException: the file is damaged.
    """
    texts = [field.name for field in fields if _is_text(field.type)]
    kinds = {field.name: field.type for field in fields}
    unfolded, most = 0, most_unfolded(path.stat().st_size)
    with pq.ParquetFile(path, read_dictionary=texts, **_OPTIONS) as file:
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            check_pages(group)
            rows = _rows_at_once(group, kinds)
            for batch in file.iter_batches(rows, [number], list(kinds)):
                sizes = _sizes(batch)
                if (unfolded := unfolded + int(sizes.sum())) > most:
                    raise ValueError(f"it unfolds to over {most:,} bytes")
                for part in slices(batch, sizes):
                    yield {name: from_arrow(part.column(name)) for name in kinds}


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _rows_at_once(group: pq.RowGroupMetaData, kinds: Mapping[str, pa.DataType]) -> int:
    large = False
    for number in range(group.num_columns):
        column = group.column(number)
        name = column.path_in_schema.partition(".")[0]
        kind = kinds.get(name)
        if kind is None:
            continue
        most = min(group.num_rows * MAX_TERMS, _MOST_NUMBERS)
        if pa.types.is_fixed_size_list(kind):
            most = group.num_rows * kind.list_size
        if pa.types.is_nested(kind) and column.num_values > most:
            raise ValueError(f"{name} has {column.num_values} values in {group.num_rows} rows")
        large = large or (
            not pa.types.is_fixed_size_list(kind) and column.total_uncompressed_size > LARGE_COLUMN
        )
    return _FEW_ROWS if large else ROWS_AT_ONCE


def _sizes(batch: pa.RecordBatch) -> NDArray[np.int64]:
    """The bytes of each row's texts and lists."""
    sizes = np.zeros(batch.num_rows, dtype=np.int64)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            sizes += _lengths(name, column)
        elif pa.types.is_list(column.type):
            sizes += 8 * pc.fill_null(column.value_lengths(), 0).to_numpy(zero_copy_only=False)
    return sizes


def _lengths(name: str, column: pa.DictionaryArray) -> NDArray[np.int64]:
    """The bytes of each text of a column; raises ValueError if one is too long."""
    sizes = text_sizes(column)
    most = LONGEST_ITEM if name == "data" else LONGEST_VALUE
    if len(sizes) and sizes.max() > most:
        raise ValueError(f"{name} has a value of {sizes.max():,} bytes, at most {most:,} are taken")
    return sizes
