import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from operators.embedding.protocol import ModelNotInstalled
from operators.embedding.registry import load_embedder
from operators.embedding.static import StaticEmbedder, load_static, read_static

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


def test_it_satisfies_the_protocol_with_unit_vectors(static: StaticEmbedder) -> None:
    assert load_embedder("static").space == static.space
    vectors = static.embed_queries(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (4, static.dimensions) == (4, 256)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


def test_a_text_has_the_same_bits_in_every_batch(static: StaticEmbedder) -> None:
    texts = [text * times for text in TEXTS for times in (1, 7, 40)]
    alone = np.concatenate([static.embed_documents([text]) for text in texts])
    assert static.embed_documents(texts).tobytes() == alone.tobytes()
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: static.embed_documents(texts), range(8)):
            assert got.tobytes() == alone.tobytes()


@pytest.mark.parametrize("text", ["", " ", "\0", "\ud800", "</s>", "x" * 100_000])
def test_odd_texts_have_a_finite_unit_vector(static: StaticEmbedder, text: str) -> None:
    vector = static.embed_queries([text])
    assert np.isfinite(vector).all()
    assert abs(float(np.linalg.norm(vector)) - 1) < 1e-5


def test_tokens_are_counted(static: StaticEmbedder) -> None:
    assert static.count_tokens(["", "hello world"]) == [0, 2]
    assert static.count_tokens([]) == []
    assert static.embed_documents([]).shape == (0, 256)


def test_a_package_without_its_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelNotInstalled, match="reinstall wordllama"):
        read_static(tmp_path)


def test_loading_it_leaves_the_process_logging_alone() -> None:
    program = """
import logging, sys
from operators.embedding.registry import load_embedder
load_embedder("static").embed_queries(["x"])
assert not logging.getLogger().handlers
assert "wordllama" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
