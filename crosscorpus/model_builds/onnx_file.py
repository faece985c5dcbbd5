"""ONNX files in protocol-buffer bytes, written without the ``onnx`` package.

That package and its dependencies have 50 MB, too much to write one file once. The format is a tree
of numbered fields: numbers and types are those of ``onnx/onnx.proto``, and the tests read the files
with the package itself.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy.typing as npt

FLOAT, INT64 = 1, 7
"""Types of numbers: ``TensorProto.FLOAT`` and ``INT64``."""

_TYPES = {"float32": FLOAT, "uint8": 2, "int8": 3, "int64": INT64}
_VARINT, _BYTES, _FIXED32 = 0, 2, 5
_F, _I, _INTS = 1, 2, 7  # AttributeProto.AttributeType


def node(operator: str, inputs: Sequence[str], out: str, attributes: dict[str, Any]) -> bytes:
    """A ``NodeProto`` with one output; an attribute is a float, an integer or a list of these."""
    name = f"{out}.{operator}"
    parts = [*(_text(1, each) for each in inputs), _text(2, out), _text(3, name)]
    parts += [
        _text(4, operator),
        *(_bytes(5, _attribute(*pair)) for pair in sorted(attributes.items())),
    ]
    return b"".join(parts)


def tensor(name: str, value: npt.NDArray[Any]) -> bytes:
    """A ``TensorProto`` of float32, uint8, int8 or int64."""
    shape = b"".join(_number(1, each) for each in value.shape)
    little = value.astype(value.dtype.newbyteorder("<"), copy=False)
    kind = _number(2, _TYPES[value.dtype.name])
    return shape + kind + _text(8, name) + _bytes(9, little.tobytes())


def value_info(name: str, kind: int, shape: Iterable[int | str]) -> bytes:
    """A ``ValueInfoProto``: an input or output; a dimension is a number, or a name if it varies."""
    dims = (_text(2, each) if isinstance(each, str) else _number(1, each) for each in shape)
    of = _bytes(2, b"".join(_bytes(1, dim) for dim in dims))
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + of))


def model(
    nodes: Iterable[bytes],
    constants: Iterable[bytes],
    inputs: Iterable[bytes],
    outputs: Iterable[bytes],
    *,
    name: str,
    opset: int,
    ir_version: int,
) -> bytes:
    """A ``ModelProto``: its graph ``name``, in operators of the standard set ``opset``."""
    graph = [*(_bytes(1, each) for each in nodes), _text(2, name)]
    graph += [_bytes(5, each) for each in constants]
    graph += [*(_bytes(11, each) for each in inputs), *(_bytes(12, each) for each in outputs)]
    body = [_number(1, ir_version), _bytes(7, b"".join(graph))]
    return b"".join([*body, _bytes(8, _text(1, "") + _number(2, opset))])


def _attribute(name: str, value: float | Sequence[int]) -> bytes:
    if isinstance(value, float):
        held, kind = _tag(2, _FIXED32) + struct.pack("<f", value), _F
    elif isinstance(value, int):
        held, kind = _number(3, value), _I
    else:
        held, kind = b"".join(_number(8, each) for each in value), _INTS
    return _text(1, name) + held + _number(20, kind)


def _number(field: int, value: int) -> bytes:
    return _tag(field, _VARINT) + _varint(value % 2**64)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _tag(field, _BYTES) + _varint(len(value)) + value


def _tag(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(value: int) -> bytes:
    done = bytearray()
    while value > 127:
        done.append(value & 127 | 128)
        value >>= 7
    return bytes([*done, value])
