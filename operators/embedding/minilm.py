"""The default model, all-MiniLM-L6-v2, in the data directory.

:mod:`crosscorpus.model_builds` installs it once on each machine. It computes in integers; a GPU has
its own files with the same vector space.
"""

from dataclasses import dataclass
from pathlib import Path

from operators.embedding.onnx import (
    DirectoryEmbedder,
    check_files,
    device,
    load_directory,
    read_settings,
)
from operators.embedding.protocol import EmbeddingError, ModelNotInstalled
from operators.foundation.data_dir import data_home


@dataclass(frozen=True)
class ModelStatus:
    """Whether a model is usable, and if not, why."""

    name: str
    state: str  # installed | missing | damaged
    path: Path
    bytes: int
    reason: str


def minilm_directory(home: Path | None = None) -> Path:
    """The model's folder; ``home`` as for :func:`load_minilm`."""
    name = "minilm-cuda" if device() == "cuda" else "minilm-integers"
    return (home or data_home()) / "models" / name


def load_minilm(home: Path | None = None) -> DirectoryEmbedder:
    """Load the installed all-MiniLM-L6-v2: 384 dimensions, English, 254 word-pieces a text.

    Args:
        home: the data directory; default: :func:`operators.foundation.data_dir.data_home`.

    Raises:
        ModelNotInstalled: it is missing or damaged; says what to run.
    """
    directory = minilm_directory(home)
    gpu = " --device cuda" if device() == "cuda" else ""
    way = f"run `crosscorpus models install{gpu}`"
    if not directory.is_dir():
        raise ModelNotInstalled(f"the model 'minilm' is missing: {way}")
    try:
        return load_directory(directory, model="minilm")
    except EmbeddingError as error:
        raise ModelNotInstalled(f"{error}: {way}") from error


def minilm_status(directory: Path) -> ModelStatus:
    """Whether ``directory`` contains the model, complete by the hashes of its files."""
    if not directory.is_dir():
        return ModelStatus("minilm", "missing", directory, 0, "not installed")
    size = sum(path.stat().st_size for path in directory.glob("*") if path.is_file())
    try:
        settings = read_settings(directory)
        check_files(directory, settings)
    except EmbeddingError as error:
        return ModelStatus("minilm", "damaged", directory, size, str(error))
    if set(settings.files) < {"model.onnx", "tokenizer.json"}:
        return ModelStatus("minilm", "damaged", directory, size, "not made by this program")
    return ModelStatus("minilm", "installed", directory, size, "")
