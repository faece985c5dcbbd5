"""Models by their name, and what every one of them keeps to."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from operators.embedding.minilm import load_minilm, minilm_directory, minilm_status
from operators.embedding.onnx import DirectoryEmbedder
from operators.embedding.passage import MAX_HEADING, chunk_heading, embedded_text
from operators.embedding.protocol import (
    EmbeddingError,
    ModelNotInstalled,
    readable,
    space_fingerprint,
    unit,
)
from operators.embedding.registry import load_embedder
from operators.embedding.static import StaticEmbedder, load_static, read_static
from operators.embedding.word_pieces import AT_ONCE, WordPieces
from operators.errors import UnknownName


def test_a_model_of_ones_own_is_loaded_and_what_it_lacks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [name for name in dir(load_embedder("minilm")) if not name.startswith("_")]
    assert {"space", "embed_queries"} <= {*whole}
    (tmp_path / "own_models.py").write_text(
        "from operators.embedding.minilm import load_minilm as load\n"
        "class Half:\n    model, space, dimensions, max_tokens = 'half', 'x', 2, 9\n"
        "    def embed_documents(self, texts): return texts\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load_embedder("python:own_models:load").model == "minilm"
    lacking = "its Half lacks count_tokens, embed_queries"
    with pytest.raises(EmbeddingError, match=lacking):
        load_embedder("python:own_models:Half")
    for name, said in (("no_models:load", "No module named"), ("own_models:laod", "'laod'")):
        with pytest.raises(ModelNotInstalled, match=said):
            load_embedder(f"python:{name}")


@pytest.mark.parametrize("name", ["minlm", "onnx:", "onnx", "openai:", "", "static:x"])
def test_an_unknown_name_is_an_error_that_names_the_nearest_or_the_known_ones(name: str) -> None:
    said = "did you mean 'minilm'" if name == "minlm" else r"did you mean|known: .*minilm"
    with pytest.raises(UnknownName, match=said):
        load_embedder(name)


def test_a_space_changes_with_every_part_and_not_with_their_order() -> None:
    parts = {"weights": "a", "pooling": "mean", "normalise": True, "max_tokens": 256}
    others = {"weights": "b", "pooling": "cls", "normalise": False, "max_tokens": 512}
    changed = [parts, *(parts | {name: value} for name, value in others.items())]
    spaces = {space_fingerprint(each) for each in changed}
    assert len(spaces) == 5
    assert all(len(space) == 16 for space in spaces)
    assert space_fingerprint(dict(reversed(parts.items()))) == space_fingerprint(parts)


@pytest.mark.parametrize("bad", [[0, 0], [np.nan, 1], [np.inf, 1]])
def test_a_vector_without_a_direction_is_an_error(bad: list[float]) -> None:
    with pytest.raises(EmbeddingError, match="text 1 of a call"):
        unit(np.array([[1, 0], bad], np.float32), "m")


def test_one_text_in_place_of_a_list_is_refused() -> None:
    with pytest.raises(TypeError, match="a list of texts"):
        readable("one text")


def test_a_model_that_was_never_installed_is_missing(tmp_path: Path) -> None:
    status = minilm_status(minilm_directory(tmp_path))
    assert (status.state, status.bytes) == ("missing", 0)
    with pytest.raises(ModelNotInstalled, match="run `crosscorpus models install`"):
        load_minilm(tmp_path)


@pytest.mark.parametrize("damage", ["truncated", "missing", "settings"])
def test_a_damaged_installation_is_seen(
    tmp_path: Path, minilm: DirectoryEmbedder, damage: str
) -> None:
    folder = tmp_path / "models" / "minilm-integers"
    shutil.copytree(minilm_directory(), folder)
    if damage == "truncated":
        (folder / "model.onnx").write_bytes((folder / "model.onnx").read_bytes()[:1000])
    elif damage == "missing":
        (folder / "tokenizer.json").unlink()
    else:
        (folder / "crosscorpus.json").write_text("{}")
    status = minilm_status(minilm_directory(tmp_path))
    assert status.state == "damaged"
    assert status.reason
    with pytest.raises(ModelNotInstalled, match="run `crosscorpus models install`"):
        load_minilm(tmp_path)


TEXTS = [
    "why is the cache flushed twice?",
    "def flush_cache(self):\n    self.dirty = False",
    "a pie with apples and cinnamon",
    "😀 émigré \u0627\u0644\u0639",
]


@pytest.fixture(scope="module")
def static() -> StaticEmbedder:
    pytest.importorskip("wordllama", reason="the extra 'static' is not installed")
    return load_static()


def test_vectors_are_the_packages_own(static: StaticEmbedder, tmp_path: Path) -> None:
    # In a process of its own: importing the package sets up logging.
    program = f"""
import numpy, pathlib, wordllama
folder = pathlib.Path(wordllama.__file__).parent
model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
numpy.save({str(tmp_path / "own.npy")!r}, model.embed({TEXTS!r}, norm=True))
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    own = np.load(tmp_path / "own.npy")
    np.testing.assert_allclose(static.embed_documents(TEXTS), own, atol=1e-6)


def test_a_text_has_the_same_bits_in_every_batch(static: StaticEmbedder) -> None:
    texts = [text * times for text in TEXTS for times in (1, 7, 40)]
    alone = np.concatenate([static.embed_documents([text]) for text in texts])
    assert static.embed_documents(texts).tobytes() == alone.tobytes()
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: static.embed_documents(texts), range(8)):
            assert got.tobytes() == alone.tobytes()


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "x" * 100_000])
def test_odd_texts_have_a_finite_unit_vector(static: StaticEmbedder, text: str) -> None:
    vector = static.embed_queries([text])
    assert np.isfinite(vector).all()
    assert abs(float(np.linalg.norm(vector)) - 1) < 1e-5


def test_a_package_without_its_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelNotInstalled, match="reinstall wordllama"):
        read_static(tmp_path)


class Pieces(WordPieces):
    def __init__(self) -> None:
        self._tokenizer = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
        self._tokenizer.pre_tokenizer = Whitespace()


def test_each_text_is_counted_however_many_there_are() -> None:
    texts = ["a b c", "", "a"] * AT_ONCE
    assert Pieces().count_tokens(texts) == [3, 0, 1] * AT_ONCE


def test_a_chunk_is_embedded_with_where_it_is_from() -> None:
    assert embedded_text("Cache", "Flush", "It flushes.") == "Cache > Flush\nIt flushes."
    assert embedded_text(None, "Flush", "It flushes.") == "Flush\nIt flushes."


def test_a_long_heading_is_cut_and_the_text_is_not() -> None:
    text = "word " * 500
    assert embedded_text("t" * 500, "a", text) == "t" * MAX_HEADING + "\n" + text
    assert len(chunk_heading("t" * 500, "a")) == MAX_HEADING
