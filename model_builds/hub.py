"""Files of a model repository on a hub (huggingface.co, or what ``HF_ENDPOINT`` names), verified.

The package ``huggingface_hub`` downloads into the user's usual cache (``HF_HOME``), with the user's
token. It resumes after a lost connection; a later run downloads only incomplete files again. Each
file is compared with the hash that the repository states for the commit: SHA-256 of large files,
git's own of the others.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from operators.embedding.protocol import EmbeddingError, ModelNotInstalled, file_sha256

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".h5", ".msgpack", ".ot")
"""Endings of files that are never downloaded: loading a pickle can run code."""

_TRIES = 3
"""Attempts to download a file when the package gives up after a lost connection."""


@dataclass(frozen=True)
class HubFile:
    """A repository's record of a file; ``sha256`` is empty if the file is only in git."""

    size: int
    sha256: str
    blob: str


@dataclass(frozen=True)
class Published:
    """One commit of a repository."""

    repository: str
    commit: str
    licence: str
    files: dict[str, HubFile]

    def has(self, name: str) -> bool:
        """Whether the commit has the file ``name``."""
        return name in self.files


def look_up(repository: str, revision: str) -> Published:
    """The current commit of ``revision`` (or the default branch, if empty), and its files.

    Raises:
        ModelNotInstalled: there is none, it is gated, or the hub cannot be reached.
    """
    from huggingface_hub import HfApi

    try:
        info = HfApi(endpoint=_endpoint()).model_info(
            repository, revision=revision or None, files_metadata=True, timeout=30
        )
    except Exception as error:  # of three HTTP libraries, by the package's version
        raise _error(error, repository, revision) from error
    files = {
        each.rfilename: HubFile(
            size=(each.lfs.size if each.lfs else each.size) or 0,
            sha256=each.lfs.sha256 if each.lfs else "",
            blob=each.blob_id or "",
        )
        for each in info.siblings or []
        if _plain(each.rfilename)
    }
    licences = [tag for tag in info.tags or [] if tag.startswith("license:")]
    licence = licences[0].removeprefix("license:") if licences else ""
    if not info.sha or not files:
        raise ModelNotInstalled(f"'hf:{repository}' has no commit with files")
    return Published(repository, info.sha, licence, files)


def fetch(published: Published, names: Iterable[str]) -> dict[str, Path]:
    """Download ``names`` of a commit and return their paths; existing files are kept.

    Raises:
        ModelNotInstalled: the repository lacks one, it is gated, or the hub cannot be reached.
        EmbeddingError: a file differs from its hash, even after a second download.
    """
    paths = {}
    for name in names:
        if not published.has(name):
            raise ModelNotInstalled(f"'hf:{published.repository}' has no {name}")
        if name.endswith(PICKLES):
            raise EmbeddingError(f"{name} is not fetched: to read it can run code")
        for again in (False, True):  # a damaged cache is repaired
            path = _download(published, name, again)
            if _is(path, published.files[name]):
                break
        else:
            what = f"{name} of 'hf:{published.repository}' differs from the hash that the hub gives"
            raise EmbeddingError(f"{what}: nothing is installed")
        paths[name] = path
    return paths


def _download(published: Published, name: str, again: bool) -> Path:
    from huggingface_hub import hf_hub_download

    tries = 0
    while True:
        tries += 1
        try:
            path = hf_hub_download(
                published.repository,
                name,
                revision=published.commit,
                endpoint=_endpoint(),
                force_download=again,
            )
            return Path(path)
        except Exception as error:  # of three HTTP libraries, by the package's version
            broken = any(each.__name__ == "TransportError" for each in type(error).__mro__)
            if not broken or tries == _TRIES:
                raise _error(error, published.repository, published.commit, name) from error


def _is(path: Path, expected: HubFile) -> bool:
    if expected.sha256:
        return file_sha256(path) == expected.sha256
    content = path.read_bytes()
    blob = b"blob %d\0" % len(content) + content
    return hashlib.sha1(blob, usedforsecurity=False).hexdigest() == expected.blob


def _plain(name: str) -> bool:
    """Whether a name stays within the folder it is put into."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\\" not in name


def _endpoint() -> str | None:
    """The hub's address; None: the package's own, huggingface.co."""
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None


def _error(error: Exception, repository: str, revision: str, name: str = "") -> ModelNotInstalled:
    """The error in one line."""
    from huggingface_hub import errors

    place = f"{_endpoint() or 'https://huggingface.co'}/{repository}"
    what = f"'hf:{repository}'"
    if isinstance(error, errors.GatedRepoError):
        return ModelNotInstalled(
            f"{what} is gated: accept its terms at {place}, then run `hf auth login` or set"
            " HF_TOKEN"
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return ModelNotInstalled(f"{what} has no revision {revision!r}")
    if isinstance(error, errors.RepositoryNotFoundError):
        return ModelNotInstalled(
            f"there is no model {what} at {place}; if it is private, run `hf auth login` or set"
            " HF_TOKEN"
        )
    if isinstance(error, errors.OfflineModeIsEnabled):
        return ModelNotInstalled(f"{what} cannot be fetched: HF_HUB_OFFLINE is set")
    there_not = isinstance(error, errors.EntryNotFoundError)
    if there_not and not isinstance(error, errors.LocalEntryNotFoundError):
        return ModelNotInstalled(f"{what} has no {name}")
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    of = f"{name} of {what}" if name else what
    kept = "; run the command again: files that came whole are kept" if name else ""
    return ModelNotInstalled(
        f"{of} cannot be fetched from {place}: {type(error).__name__}: {reason[:200]}{kept}"
    )
