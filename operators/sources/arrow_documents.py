"""Documents in Parquet and Arrow files: a row is read like a line of JSON, a null as a missing key.

A file is read in batches of rows, whatever the size of its row groups. A text that many rows share
is in memory once. The size of a row is known before it is decompressed: a row that is too long is
skipped, and a file that decompresses to far more than its size is refused.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from operators.errors import CrosscorpusError
from operators.foundation.principals import ALLOWED
from operators.sources.formats.arrow_messages import MAGIC, message_sizes
from operators.sources.formats.json_stream import read_json
from operators.sources.protocol import MAX_TEXT, ReadIssue

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

ROWS = 256
"""Maximum number of rows in memory."""

_MAGIC = (b"PAR1", b"ARRO")
_STRINGS = ("doc_id", "corpus", "text", "title", "path", "url", "repo", "project", "version")
_REQUIRED = ("doc_id", "corpus", "text")


def is_arrow(path: Path) -> bool:
    """Whether the file is Parquet or an Arrow file, by its first bytes."""
    return _first(path) in _MAGIC


def arrow_rows(path: Path, on_read: Callable[[float], None]) -> Iterator[tuple[str, Any]]:
    """Each row's place, and its keys and values in JSON's types, or its issue.

    Args:
        path: a file that :func:`is_arrow`.
        on_read: called with the fraction of the file that is read.

    Raises:
        CrosscorpusError: the file is damaged, decompresses to far more than its size, or a column
            is missing, duplicated or of another type.
    """
    import pyarrow as pa

    number = 0
    try:
        _check_unfolded(path)
        for batch, sizes, share in _batches(path):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            for row, size in enumerate(sizes):
                number += 1
                yield f"row {number}", _fields(columns, row, int(size), f"row {number}")
            on_read(share)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CrosscorpusError(f"{path}: {str(error).splitlines()[0][:200]}") from error


def _check_unfolded(path: Path) -> None:
    """Raise ValueError if all rows have far more bytes than the file, before any is read."""
    from operators.arrays.unfolded import most_unfolded

    unfolded, most = 0, most_unfolded(path.stat().st_size)
    for _, sizes, _ in _batches(path):
        unfolded += int(sizes.sum())
        if unfolded > most:
            raise ValueError(f"it unfolds to over {most:,} bytes: give it in parts")


def _sizes(batch: "pa.RecordBatch") -> "NDArray[np.int64]":
    """The bytes of each row."""
    import numpy as np

    from operators.arrays.unfolded import row_sizes

    sizes = np.zeros(batch.num_rows, dtype=np.int64)
    for column in batch.columns:
        sizes += row_sizes(column)
    return sizes


def _batches(path: Path) -> Iterator[tuple["pa.RecordBatch", "NDArray[np.int64]", float]]:
    """Batches of rows, the bytes of each row, and the fraction of the file that is read."""
    return _parquet_batches(path) if _first(path) == b"PAR1" else _arrow_batches(path)


def _parquet_batches(path: Path) -> Iterator[tuple["pa.RecordBatch", "NDArray[np.int64]", float]]:
    import pyarrow.parquet as pq

    from operators.arrays.unfolded import AT_ONCE, MOST_VALUES, check_pages

    _check(pq.read_schema(path), path)
    with pq.ParquetFile(path) as file:
        leaves = [file.schema.column(number) for number in range(len(file.schema))]
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    with pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
        done = 0
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            check_pages(group)
            for column in map(group.column, range(group.num_columns)):
                if column.num_values > max(MOST_VALUES, group.num_rows):
                    raise ValueError(f"{column.path_in_schema} has {column.num_values:,} values")
            rows = AT_ONCE * group.num_rows // max(group.total_byte_size, 1)
            for batch in file.iter_batches(min(max(rows, 1), ROWS), [number], use_threads=False):
                done += batch.num_rows
                yield batch, _sizes(batch), done / file.metadata.num_rows


def _arrow_batches(path: Path) -> Iterator[tuple["pa.RecordBatch", "NDArray[np.int64]", float]]:
    import pyarrow as pa
    import pyarrow.ipc

    from operators.arrays.unfolded import LARGE_COLUMN, MOST_UNFOLDED

    with pa.memory_map(str(path)) as mapped:
        with pa.ipc.open_file(mapped) as file:  # its footer must match the stream
            _check(file.schema, path)
            count = file.num_record_batches
        mapped.seek(len(MAGIC))
        for size, unfolded in message_sizes(mapped):
            if unfolded > (most := max(LARGE_COLUMN, MOST_UNFOLDED * size)):
                raise ValueError(f"a batch unfolds to over {most:,} bytes")
        mapped.seek(len(MAGIC))
        done = 0
        for done, batch in enumerate(pa.ipc.open_stream(mapped), start=1):
            batch.validate(full=True)
            sizes, share = _sizes(batch), min(done / max(count, 1), 1.0)
            for start in range(0, batch.num_rows, ROWS):
                yield batch.slice(start, ROWS), sizes[start : start + ROWS], share
        if done != count:
            raise ValueError(f"it has {done} batches, and lists {count}")


def _first(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def _is_text(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))


def _check(schema: "pa.Schema", path: Path) -> None:
    for name in schema.names:
        if schema.names.count(name) > 1:
            raise CrosscorpusError(f"{path}: two columns are called {name!r}")
    if missing := [name for name in _REQUIRED if name not in schema.names]:
        raise CrosscorpusError(f"{path} has no column {', '.join(missing)}")
    for name in (name for name in _STRINGS if name in schema.names):
        kind = schema.field(name).type
        if not _is_text(kind) and str(kind) != "null":
            raise CrosscorpusError(f"{path}: the column {name} is {kind}, not string")


def _fields(columns: dict[str, Any], row: int, size: int, where: str) -> Any:
    if size > MAX_TEXT:
        return ReadIssue(where, f"it has {size:,} bytes, at most {MAX_TEXT:,} are taken")
    try:
        values = {name: column[row].as_py() for name, column in columns.items()}
        fields = {name: value for name, value in values.items() if value is not None}
        if isinstance(fields.get(ALLOWED), bytes):
            raise TypeError(f"{ALLOWED} is binary")
        for name in fields.keys() - {*_STRINGS, "created_at"}:
            fields[name] = _plain(fields[name])
        if isinstance(fields.get("metadata"), str):
            fields["metadata"] = read_json(fields["metadata"])
        elif isinstance(fields.get("metadata"), list):  # a map is a list of pairs
            fields["metadata"] = dict(fields["metadata"])
    except (ValueError, OverflowError, TypeError, RecursionError) as error:
        return ReadIssue(where, f"{type(error).__name__}: {error}"[:300])
    return fields


def _plain(value: Any) -> Any:
    """``value`` in JSON's types: other numbers and times as text, bytes as null."""
    unknown = lambda one: None if isinstance(one, bytes) else str(one)  # noqa: E731
    return json.loads(json.dumps(value, default=unknown))
