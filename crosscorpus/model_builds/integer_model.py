"""A model directory of an encoder, in integers that this machine multiplies correctly."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crosscorpus.model_builds.bert_to_onnx import Arithmetic, encoder_graph
from crosscorpus.model_builds.encoder_weights import Encoder
from operators.embedding.onnx import (
    SETTINGS_FILE,
    DirectoryEmbedder,
    ModelSettings,
    device,
    load_directory,
    read_settings,
)
from operators.embedding.protocol import file_sha256

_SAMPLE = [f"{'cache flush ' * words}{words}" for words in range(1, 24)]


@dataclass(frozen=True)
class Parts:
    """The parts of a directory; the settings lack hashes and batches."""

    encoder: Encoder
    tokenizer: Path
    settings: ModelSettings


def build_in_integers(parts: Parts, work: Path) -> Path:
    """Make the directory in ``work`` and return it."""
    quick = converted(parts, work / "quick", "int8")
    same = file_sha256(quick / "model.onnx")
    if device() == "cuda":
        return converted(parts, work / "cuda", "signed", same, batch_tokens=8192)
    # Only a test run shows whether signed products overflow here; unsigned ones are always correct.
    exact = converted(parts, work / "exact", "uint8", same)
    models = [load_directory(directory) for directory in (quick, exact)]
    sample = that_fit(models[0], _SAMPLE)
    alone = [
        np.concatenate([model.embed_documents([text]) for text in sample]).tobytes()
        for model in models
    ]
    built = quick if alone[0] == alone[1] else exact
    if load_directory(built).embed_documents(sample).tobytes() != alone[1]:
        settings = read_settings(built)  # this processor lets the texts of a batch differ
        write_settings(built, settings.model_copy(update={"batch_tokens": 0}))
    return built


def converted(
    parts: Parts,
    directory: Path,
    arithmetic: Arithmetic,
    same_as: str = "",
    batch_tokens: int = 256,
) -> Path:
    """Make ``directory`` of these parts and return it."""
    directory.mkdir()
    (directory / "model.onnx").write_bytes(encoder_graph(parts.encoder, arithmetic))
    shutil.copyfile(parts.tokenizer, directory / "tokenizer.json")
    hashes = {name: file_sha256(directory / name) for name in ("model.onnx", "tokenizer.json")}
    own = {"batch_tokens": batch_tokens, "files": hashes, "same_as": same_as}
    write_settings(directory, parts.settings.model_copy(update=own))
    return directory


def that_fit(model: DirectoryEmbedder, texts: Sequence[str]) -> list[str]:
    """``texts``, each truncated to the model's window."""
    truncated = []
    for text in texts:
        while model.count_tokens([text])[0] > model.max_tokens:
            text = text[: len(text) // 2]
        truncated.append(text)
    return truncated


def write_settings(directory: Path, settings: ModelSettings) -> None:
    """Write ``crosscorpus.json``, without unneeded fields that an earlier version does not know."""
    unused = set() if settings.graph_dimensions else {"graph_dimensions"}
    text = settings.model_dump_json(indent=2, exclude=unused)
    (directory / SETTINGS_FILE).write_text(text + "\n", "utf-8")
