"""Validates the rows of an export beyond their types: they must be as ingestion writes them.

Names and counts, JSON, keys, cached vectors. The checks of the server are not repeated here, nor
those between tables, which :func:`operators.postgres.inspect.verify.verify` makes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.foundation.escape import label_text
from operators.postgres.document_key import document_key
from operators.postgres.exchange.manifest import Manifest
from operators.postgres.store import Connection
from operators.postgres.write.document_writer import LONGEST_KEY
from operators.postgres.write.ingestion_runs import COUNTS

Columns = Mapping[str, Sequence[Any]]

ROUNDING = 0.01
"""The tolerance of the length 1 of a half-precision vector."""

_NONE = object()


def check_rows(table: str, columns: Columns, export: Manifest) -> None:
    """Raise ValueError for the first value that no ingestion writes.

    ``columns`` are values as ``copy_rows`` takes them, without the columns that an older export
    lacks.
    """
    for name, test in _TESTS.items():
        for value in columns.get(name, ()):
            if value is not None and not test(value):
                raise ValueError(f"{name} can't be {label_text(repr(value)[:60])}")
    if table in ("documents", "chunks"):
        _check_keys(columns)
    if table == "chunks" and (raw := b"".join(filter(None, columns.get("embedding", ())))):
        numbers = np.frombuffer(raw, ">f2").reshape(-1, (export.dimensions or 0) + 2)
        _check_unit(numbers[:, 2:])  # two numbers precede a vector
    if table == "embedding_cache":
        _check_cache(columns, export)


def unreferenced(conn: Connection) -> tuple[str, int] | None:
    """The first table with rows of no document or passage, and their number; None: no such row."""
    for table, condition in _OWNED.items():
        ((count,),) = conn.execute(
            f"SELECT count(*) FROM {table} r LEFT JOIN {condition} WHERE o.document_key IS NULL"
        ).fetchall()
        if count:
            return table, int(count)
    return None


def _is_name(value: str) -> bool:
    return len(value) <= LONGEST_KEY


def _is_object(value: str) -> bool:
    return isinstance(_read(value), dict)


def _is_json(value: str) -> bool:
    return _read(value) is not _NONE


def _read(value: str) -> Any:
    """``value`` parsed as JSON; ``_NONE`` if it is invalid or nested too deeply."""
    try:
        return json.loads(value, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return _NONE


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _is_count(value: int) -> bool:
    return value >= 0


def _is_commit(value: str) -> bool:
    return len(value) in (40, 64) and not value.strip("0123456789abcdef")


def _is_sketch(value: bytes) -> bool:
    return len(value) % 4 == 0


_COUNTS = ("total_length", "ordinal", "start_line", "end_line", "position", *COUNTS)
_TESTS: dict[str, Callable[[Any], bool]] = {
    **{"corpus": lambda name: name != "" and _is_name(name), "repo": _is_name},
    "corpora": lambda names: all(map(_is_name, names)),
    **dict.fromkeys(_COUNTS, _is_count),
    **{"metadata": _is_object, "revision": _is_commit},
    **{"data": _is_object, "value": _is_json, "sketch": _is_sketch},
}
"""The check of each column, by name; a name means the same in all tables."""

_DOCUMENT = "documents o ON o.document_key = r.document_key AND o.corpus = r.corpus"
_OWNED = {
    "superseded_chunks": "chunks o ON o.corpus = r.corpus AND o.chunk_id = r.chunk_id"
    " AND o.document_key = r.document_key",
    "document_versions": _DOCUMENT,
    "document_sketches": _DOCUMENT,
}
"""The row that each row ``r`` of a table belongs to."""


def _check_keys(columns: Columns) -> None:
    names = ("document_key", "corpus", "repo", "document_id")
    for key, *of in zip(*(columns[name] for name in names), strict=True):
        if None in of or document_key(*of).bytes != key:
            named = label_text(repr(of[-1])[:60])
            raise ValueError(f"document_key is not the one of document {named}")


def _check_cache(columns: Columns, export: Manifest) -> None:
    vectors: dict[int, list[bytes]] = {}
    for space, raw in zip(columns["space"], columns["embedding"], strict=True):
        size = len(raw or b"")
        wanted = 2 * export.dimensions if export.dimensions and space == export.space else size
        if size != wanted or size % 2 or not size:
            raise ValueError(f"embedding has {size} bytes instead of {wanted or 'a vector'}")
        vectors.setdefault(size, []).append(raw)
    for size, some in vectors.items():
        _check_unit(np.frombuffer(b"".join(some), "<f2").reshape(-1, size // 2))


def _check_unit(vectors: NDArray[np.floating[Any]]) -> None:
    """Raise ValueError if a vector is not finite or does not have length 1, as all models give."""
    lengths = np.sqrt(np.square(vectors, dtype=np.float64).sum(axis=1))
    if not np.isfinite(lengths).all():
        raise ValueError("a vector is not finite")
    if len(wrong := lengths[np.abs(lengths - 1) > ROUNDING]):
        raise ValueError(f"a vector has length {wrong[0]:.6g} instead of 1")
