"""The bytes are those that the ``onnx`` package makes of the same model."""

import numpy as np
import onnx
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from crosscorpus.model_builds import onnx_file

NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=200)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
VALUES = st.one_of(NUMBERS, st.floats(width=32, allow_nan=False), st.lists(NUMBERS, min_size=1))
ARGUMENTS = {"op_type", "inputs", "outputs", "name", "doc_string", "domain", "overload"}


@given(
    NAMES,
    st.lists(NAMES),
    st.dictionaries(NAMES.filter(lambda name: name not in ARGUMENTS), VALUES),
)
def test_a_node_is_the_one_of_the_package(out, inputs, attributes) -> None:  # type: ignore[no-untyped-def]
    made = onnx.NodeProto.FromString(onnx_file.node("Op", inputs, out, attributes))
    assert made == helper.make_node("Op", inputs, [out], name=f"{out}.Op", **attributes)


@given(
    NAMES,
    st.sampled_from(["float32", "uint8", "int8", "int64"]),
    st.lists(st.integers(0, 4), max_size=4),
)
def test_a_tensor_is_the_one_of_the_package(name: str, kind: str, shape: list[int]) -> None:
    value = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(kind)
    made = onnx.TensorProto.FromString(onnx_file.tensor(name, value))
    assert made == numpy_helper.from_array(value, name)
