"""How an annotation is written for a person."""

from collections.abc import Mapping
from typing import Any, Literal, Optional

import pytest

from dataflow.execution.annotations import spell


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (float | None, "float | None"),
        (Optional[int], "int | None"),  # noqa: UP045
        (list[str], "list[str]"),
        (Literal["a", 1], "'a' | 1"),
        (Mapping[str, Any], "Mapping[str, Any]"),
        (dict, "dict"),
    ],
)
def test_annotations_read_as_an_author_writes_them(annotation, text):
    assert spell(annotation) == text
