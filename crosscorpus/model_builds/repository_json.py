"""Reads JSON of a model's repository, which anybody may have written, by a model of its fields."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from operators.embedding.protocol import EmbeddingError
from operators.foundation.escape import label_text

LARGEST = 30_000_000
"""Maximum bytes of a file of settings; the largest known, an index of shards, has two million."""

Size = Annotated[int, Field(ge=1, le=2**20)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
T = TypeVar("T")


class ModelConfig(BaseModel):
    """The fields of a config.json that are used for every model."""

    model_type: str | None = None
    architectures: Any = None
    hidden_size: Size | None = None
    n_embd: Size | None = None
    dim: Size | None = None
    max_position_embeddings: Count | None = None
    n_positions: Count | None = None
    pad_token_id: Annotated[int, Field(ge=-1, le=2**31 - 1)] | None = None
    hidden_act: Any = None
    activation: Any = None
    position_embedding_type: Any = None
    is_decoder: Any = None
    auto_map: Any = None
    matryoshka_dimensions: list[Size] | None = None
    matryoshka_dims: list[Size] | None = None


def read_json(path: Path, kind: type[T], name: str = "") -> T:
    """The content of a file; ``name`` is its path in the repository.

    Raises:
        EmbeddingError: it is no JSON, or a field has another type; names the file and the field.
    """
    what = f"{name or path.name} of the repository"
    try:
        if path.stat().st_size > LARGEST:
            raise EmbeddingError(f"{what} has over {LARGEST:,} bytes")
        content = path.read_bytes()
    except OSError as error:
        raise EmbeddingError(f"cannot read {what}: {error.strerror}") from error
    return parsed(content.removeprefix(b"\xef\xbb\xbf"), kind, what)


def parsed(content: bytes, kind: type[T], what: str) -> T:
    """``content`` as a ``kind``; ``what`` names it in an error.

    Raises:
        EmbeddingError: it is no JSON, or a field has another type.
    """
    try:
        return TypeAdapter(kind).validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        says = label_text(first["msg"])[:200]
        if first["type"] == "json_invalid":
            raise EmbeddingError(f"{what} is no JSON: {says}") from None
        field = label_text(".".join(map(str, first["loc"])))[:100]
        raise EmbeddingError(f"{what}: {field}: {says}" if field else f"{what}: {says}") from None
