"""Documents in Parquet and Arrow files: a row is what a line of JSON is, a null a missing key.

A file is read some rows at a time, whatever the size of its row groups. A text that many rows share
stays one text in memory.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from operators.errors import CrosscorpusError
from operators.sources.formats.json_stream import read_json
from operators.sources.protocol import ReadIssue

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 256
"""Rows in memory."""

_MAGIC = (b"PAR1", b"ARRO")
_STRINGS = ("doc_id", "corpus", "text", "title", "path", "url", "repo", "project", "version")
_REQUIRED = ("doc_id", "corpus", "text")


def is_arrow(path: Path) -> bool:
    """Whether the file is Parquet or an Arrow file, by its first bytes."""
    return _first(path) in _MAGIC


def arrow_rows(path: Path, on_read: Callable[[float], None]) -> Iterator[tuple[str, Any]]:
    """Each row's place, and its keys and values as JSON has them, or its issue.

    Args:
        path: a file that :func:`is_arrow`.
        on_read: called with the share of the file that is read.

    Raises:
        CrosscorpusError: the file is damaged, or a column is missing, doubled or of another type.
    """
    import pyarrow as pa

    number = 0
    try:
        for batch, share in _batches(path):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            for row in range(batch.num_rows):
                number += 1
                yield f"row {number}", _fields(columns, row, f"row {number}")
            on_read(share)
    except (pa.ArrowException, OSError) as error:
        raise CrosscorpusError(f"{path}: {str(error).splitlines()[0][:200]}") from error


def _batches(path: Path) -> Iterator[tuple["pa.RecordBatch", float]]:
    import pyarrow as pa
    import pyarrow.ipc
    import pyarrow.parquet

    if _first(path) == b"PAR1":
        schema = pa.parquet.read_schema(path)
        _check(schema, path)
        shared = [one.name for one in schema if _is_text(one.type)]
        with pa.parquet.ParquetFile(path, read_dictionary=shared, pre_buffer=False) as file:
            done = 0
            for batch in file.iter_batches(ROWS, use_threads=False):
                done += batch.num_rows
                yield batch, done / file.metadata.num_rows
        return
    with pa.memory_map(str(path)) as mapped, pa.ipc.open_file(mapped) as file:
        _check(file.schema, path)
        for number in range(file.num_record_batches):
            batch = file.get_batch(number)
            batch.validate(full=True)
            for start in range(0, batch.num_rows, ROWS):
                yield batch.slice(start, ROWS), (number + 1) / file.num_record_batches


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


def _fields(columns: dict[str, Any], row: int, where: str) -> Any:
    try:
        given = {name: column[row].as_py() for name, column in columns.items()}
        fields = {name: value for name, value in given.items() if value is not None}
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
    """``value`` in JSON's types: a number of another kind or a moment as text, bytes as null."""
    unknown = lambda one: None if isinstance(one, bytes) else str(one)  # noqa: E731
    return json.loads(json.dumps(value, default=unknown))
