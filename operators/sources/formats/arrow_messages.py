"""The decompressed size of an Arrow file's messages, which pyarrow reports only afterwards.

Every compressed buffer begins with its length, and the message has the buffers' offsets. Messages
are FlatBuffers: a table is an offset, preceded by the distance to its list of fields.
"""

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"ARROW1\0\0"
"""At the start of a file; then the messages follow, as in a stream."""

_DICTIONARY, _BATCH = 2, 3  # kinds of message with buffers
_KIND, _HEADER = 1, 2  # fields of a message
_DICTIONARY_BATCH = 1  # a field of a dictionary: its batch
_BUFFERS, _COMPRESSION = 2, 3  # fields of a batch


def message_sizes(stream: "pa.NativeFile") -> Iterator[tuple[int, int]]:
    """The bytes of each message's body, compressed and decompressed.

    Args:
        stream: positioned at the first message.

    Raises:
        ValueError: a message is damaged.
        ArrowException: likewise.
    """
    import pyarrow.ipc

    for message in pyarrow.ipc.MessageReader.open_stream(stream):
        body = message.body
        if body is not None:
            try:
                yield body.size, _unfolded(message.metadata.to_pybytes(), body)
            except struct.error:
                raise ValueError("a message is damaged") from None


def _unfolded(metadata: bytes, body: "pa.Buffer") -> int:
    size: int = body.size
    message = _table(metadata, 0)
    at = _field(metadata, message, _KIND)
    kind = metadata[at] if at else 0
    header = _field(metadata, message, _HEADER)
    if kind not in (_DICTIONARY, _BATCH) or header is None:
        return size
    batch: int | None = _table(metadata, header)
    if kind == _DICTIONARY and batch is not None:
        at = _field(metadata, batch, _DICTIONARY_BATCH)
        batch = None if at is None else _table(metadata, at)
    if batch is None or _field(metadata, batch, _COMPRESSION) is None:
        return size
    at = _field(metadata, batch, _BUFFERS)
    return 0 if at is None else sum(_lengths(metadata, _table(metadata, at), body))


def _lengths(metadata: bytes, vector: int, body: "pa.Buffer") -> Iterator[int]:
    (count,) = struct.unpack_from("<I", metadata, vector)
    for number in range(count):
        start, size = struct.unpack_from("<qq", metadata, vector + 4 + 16 * number)
        if size:
            (length,) = struct.unpack_from("<q", body, start)
            yield size if length < 0 else length


def _table(data: bytes, at: int) -> int:
    """The target of the offset at ``at``."""
    offset: int = struct.unpack_from("<I", data, at)[0]
    return at + offset


def _field(data: bytes, table: int, number: int) -> int | None:
    """The position of a table's field; None if it is absent."""
    fields = table - struct.unpack_from("<i", data, table)[0]
    (size,) = struct.unpack_from("<H", data, fields)
    if 4 + 2 * number >= size:
        return None
    (offset,) = struct.unpack_from("<H", data, fields + 4 + 2 * number)
    return table + offset if offset else None
