"""Documents in Parquet files: a row is read like a line of JSON, a null as a missing key."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from operators.errors import CrosscorpusError
from operators.foundation.principals import ALLOWED
from operators.sources.formats.json_stream import read_json
from operators.sources.protocol import MAX_TEXT, ReadIssue

if TYPE_CHECKING:
    import pyarrow as pa

_STRINGS = ("doc_id", "corpus", "text", "title", "path", "url", "repo", "project", "version")
_REQUIRED = ("doc_id", "corpus", "text")


def is_parquet(path: Path) -> bool:
    """Whether the file is Parquet, by its first bytes."""
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def parquet_rows(path: Path, on_read: Callable[[float], None]) -> Iterator[tuple[str, Any]]:
    """Each row's place, and its keys and values in JSON's types, or its issue.

    Args:
        path: a file that :func:`is_parquet`.
        on_read: called with the fraction of the file that is read.

    Raises:
        CrosscorpusError: the file is damaged, decompresses to far more than its size, or a column
            is missing, duplicated or of another type.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from operators.arrays.parquet_batches import read_batches

    number = 0
    try:
        _check(pq.read_schema(path), path)
        for _ in read_batches(path):  # raises an error before a row of such a file is ingested
            pass
        for batch, sizes, share in read_batches(path):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            for row, size in enumerate(sizes):
                number += 1
                yield f"row {number}", _fields(columns, row, int(size), f"row {number}")
            on_read(share)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CrosscorpusError(f"{path}: {str(error).splitlines()[0][:200]}") from error


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
