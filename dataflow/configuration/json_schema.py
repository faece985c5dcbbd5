"""The JSON Schema of a configuration file, for completion and checks in an editor."""

from typing import Any

from pydantic import TypeAdapter

from dataflow.configuration.catalog import Catalog, Layer, Parameter
from dataflow.configuration.config_model import Config
from dataflow.configuration.value_checks import BOUNDS


def json_schema(catalog: Catalog) -> dict[str, Any]:
    """The schema of a file that is complete or extends another, with the stages of ``catalog``."""
    schema = Config.model_json_schema()
    schema |= {"$schema": "https://json-schema.org/draft/2020-12/schema", "required": []}
    schema["properties"] |= {"extends": {"type": "string"}, **_stages(catalog.top)}
    for name in ("StageOptions", "CorpusConfig"):
        schema["$defs"][name]["properties"] |= _stages(catalog.corpus)
    corpora = schema["properties"]["corpora"]
    corpora["additionalProperties"] = {"anyOf": [corpora["additionalProperties"], {"type": "null"}]}
    return schema


def _stages(layer: Layer) -> dict[str, Any]:
    variants: dict[str, Any] = {}
    for node, names in layer.variants.items():  # YAML reads a bare off as false
        variants[node] = {"enum": [*names, *([False] if "off" in names else [])]}
    parameters = {name: _parameter(name, one) for name, one in layer.parameters.items()}
    closed = {"type": "object", "additionalProperties": False}
    return {
        "variants": closed | {"properties": variants},
        "parameters": closed | {"properties": parameters},
    }


def _parameter(name: str, one: Parameter) -> dict[str, Any]:
    bounded = BOUNDS.get(name, one.annotation)
    annotation = bounded if one.default is not None else bounded | None
    return TypeAdapter(annotation).json_schema() | {"default": one.default}
