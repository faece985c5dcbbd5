"""Hub models ``hf:ORG/NAME`` in the data directory, where ``models install`` puts them.

Nothing here uses the network: a missing model is an error that says which command to run.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from operators.embedding.minilm import ModelStatus
from operators.embedding.onnx import device, load_directory
from operators.embedding.protocol import Embedder, EmbeddingError, ModelNotInstalled, file_sha256
from operators.embedding.static import load_model2vec
from operators.foundation.data_dir import data_home

RECORD_FILE = "hub.json"
_NAME = re.compile(r"([\w-][\w.-]*/[\w-][\w.-]*?)(?:@([^\s@]+))?", re.ASCII)
_COMMIT = re.compile("[0-9a-f]{7,40}")

Kind = Literal["encoder", "static", "reranker"]


class HubRecord(BaseModel):
    """The contents of ``hub.json``: a model's origin, and the files in its folder."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    repository: str
    revision: str
    """The commit."""
    asked: str = ""
    """The requested revision; empty: the default branch."""
    kind: Kind
    made: str
    """How the graph was made, for people."""
    licence: str = ""
    options: dict[str, str | int] = Field(default_factory=dict)
    """The user's options, besides the repository's own files."""
    fetched: dict[str, str]
    """SHA-256 of the downloaded files, by path in the repository."""
    files: dict[str, str]
    """SHA-256 of the installed files, by file name."""
    max_tokens: int = Field(default=512, ge=8)
    """Of a reranker: word-pieces of question and passage together."""


def split_name(name: str) -> tuple[str, str]:
    """``ORG/NAME`` and the revision (or nothing) of ``hf:ORG/NAME[@REVISION]``.

    Raises:
        ModelNotInstalled: it is no such name.

    >>> split_name("hf:BAAI/bge-small-en-v1.5@main")
    ('BAAI/bge-small-en-v1.5', 'main')
    """
    match = _NAME.fullmatch(name.removeprefix("hf:"))
    if match is None or ".." in match[1]:
        raise ModelNotInstalled(
            f"{name!r} is no model of a hub: hf:ORG/NAME or hf:ORG/NAME@REVISION"
        )
    return match[1], match[2] or ""


def hub_directory(repository: str, *, reranker: bool = False, home: Path | None = None) -> Path:
    """The folder of the installed ``ORG/NAME``; an embedding model for a GPU has its own."""
    folder = "hf-rerankers" if reranker else "hf"
    gpu = "+cuda" if device() == "cuda" and not reranker else ""
    return (home or data_home()) / "models" / folder / f"{repository}{gpu}"


def load_hub_model(name: str) -> Embedder:
    """Load the installed model ``hf:ORG/NAME[@REVISION]``.

    Raises:
        ModelNotInstalled: it is missing, damaged or of another revision; says what to run.
    """
    repository, _ = split_name(name)
    directory = hub_directory(repository)
    record = installed(name, directory)
    model = f"hf:{repository}"
    try:
        if record.kind == "static":
            check_record(directory, record)
            return load_model2vec(directory, model=model)
        return load_directory(directory, model=model)
    except ModelNotInstalled as error:
        raise ModelNotInstalled(f"{error}: {_way(name)}") from error


def installed_reranker(name: str) -> tuple[Path, HubRecord]:
    """The folder of the installed reranker ``hf:ORG/NAME[@REVISION]``, its files checked.

    Raises:
        ModelNotInstalled: it is missing, damaged or of another revision; says what to run.
    """
    directory = hub_directory(split_name(name)[0], reranker=True)
    record = installed(name, directory, reranker=True)
    try:
        check_record(directory, record)
    except ModelNotInstalled as error:
        raise ModelNotInstalled(f"{error}: {_way(name, reranker=True)}") from error
    return directory, record


def installed(name: str, directory: Path, *, reranker: bool = False) -> HubRecord:
    """The record of ``name`` in its folder.

    Raises:
        ModelNotInstalled: there is none, or it is of another revision; says what to run.
    """
    repository, revision = split_name(name)
    way = _way(name, reranker=reranker)
    if not (directory / RECORD_FILE).is_file():
        raise ModelNotInstalled(f"the model 'hf:{repository}' is not installed: {way}")
    record = read_record(directory)
    if not is_of(record, revision):
        raise ModelNotInstalled(
            f"the model 'hf:{repository}' is installed at {record.revision[:12]}, not at"
            f" {revision!r}: {way}"
        )
    return record


def read_record(directory: Path) -> HubRecord:
    """Read ``hub.json``.

    Raises:
        ModelNotInstalled: it cannot be read.
    """
    try:
        return HubRecord.model_validate_json((directory / RECORD_FILE).read_bytes())
    except (OSError, ValidationError) as error:
        raise ModelNotInstalled(f"cannot read {str(directory / RECORD_FILE)!r}") from error


def is_of(record: HubRecord, revision: str) -> bool:
    """Whether a record matches ``revision``: any if empty, the requested one, or its commit."""
    commit = _COMMIT.fullmatch(revision) and record.revision.startswith(revision)
    return not revision or revision == record.asked or bool(commit)


def check_record(directory: Path, record: HubRecord) -> None:
    """Compare the files of a folder with its record.

    Raises:
        ModelNotInstalled: one is missing or differs.
    """
    for name, expected in record.files.items():
        if not (directory / name).is_file():
            raise ModelNotInstalled(f"{str(directory)!r} has no {name}")
        if file_sha256(directory / name) != expected:
            raise ModelNotInstalled(f"{str(directory / name)!r} is damaged: its hash is wrong")


def hub_statuses(home: Path | None = None) -> Iterator[ModelStatus]:
    """The status of each installed hub model: complete by the hashes of its files, or not."""
    models = (home or data_home()) / "models"
    for folder, note in (("hf", ""), ("hf-rerankers", " (reranker)")):
        for path in sorted(models.glob(f"{folder}/*/*/{RECORD_FILE}")):
            directory = path.parent
            name = f"hf:{directory.parent.name}/{directory.name}{note}"
            size = sum(each.stat().st_size for each in directory.iterdir() if each.is_file())
            try:
                check_record(directory, read_record(directory))
            except EmbeddingError as error:
                yield ModelStatus(name, "damaged", directory, size, str(error))
            else:
                yield ModelStatus(name, "installed", directory, size, "")


def _way(name: str, *, reranker: bool = False) -> str:
    more = " --reranker" if reranker else " --device cuda" if device() == "cuda" else ""
    repository, revision = split_name(name)
    at = f"@{revision}" if revision else ""
    return f"run `crosscorpus models install hf:{repository}{at}{more}`"
