from __future__ import annotations

from typing import Any

import pytest
import yaml

from dataflow.configuration.catalog import retrieval_catalog
from dataflow.configuration.json_schema import json_schema
from dataflow.configuration.loader import shipped

jsonschema = pytest.importorskip("jsonschema", reason="the extra evaluate brings jsonschema")
SCHEMA = json_schema(retrieval_catalog())


def faults(content: Any) -> list[str]:
    check = jsonschema.Draft202012Validator(SCHEMA)
    return sorted(".".join(map(str, one.absolute_path)) for one in check.iter_errors(content))


def test_every_shipped_configuration_fits() -> None:
    for name, file in shipped().items():
        assert faults(yaml.safe_load(file.read_text())) == [], name


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ({"variants": {"fused": "rff"}}, "variants.fused"),
        ({"variants": {"fusde": "rrf"}}, "variants"),
        ({"parameters": {"rrf_k": -1}}, "parameters.rrf_k"),
        ({"parameters": {"top_k": "5"}}, "parameters.top_k"),
        ({"corpora": {"code": {"variants": {"merged": "x"}}}}, "corpora.code"),
        ({"wrokers": 3}, ""),
    ],
)
def test_what_the_loader_refuses_an_editor_marks(content: Any, where: str) -> None:
    assert faults({"extends": "default", **content}) == [where]
