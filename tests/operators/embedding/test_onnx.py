"""The real model, and small hand-made graphs for what the real one does not use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from operators.embedding import onnx as onnx_models
from operators.embedding.cross_encoder import MAX_TOKENS, load_reranker
from operators.embedding.onnx import DirectoryEmbedder, load_directory
from operators.embedding.protocol import EmbeddingError, ModelNotInstalled, TextTooLong
from operators.embedding.registry import load_embedder
from operators.errors import CrosscorpusError, UnknownName

WORDS = [
    "the",
    "cache",
    "is",
    "flushed",
    "twice",
    "HTTPServer.makeFile()",
    "-1",
    "naïve",
    "😀",
    "\t",
]


def random_texts(number: int, longest: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, size=rng.integers(0, longest))) for _ in range(number)]


def alone(embedder: DirectoryEmbedder, texts: list[str]) -> bytes:
    return np.concatenate([embedder.embed_documents([text]) for text in texts]).tobytes()


# --- the default model


def test_the_vector_is_the_published_one(minilm: DirectoryEmbedder) -> None:
    # As the model's authors print it for this sentence.
    published = [0.0676569, 0.0634960, 0.0487131, 0.0793050, 0.0374481, 0.0026528, 0.0393749]
    vector = minilm.embed_documents(["This is an example sentence"])[0]
    np.testing.assert_allclose(vector[:7], published, atol=8e-3)
    assert (minilm.model, minilm.dimensions, minilm.max_tokens) == ("minilm", 384, 254)


def test_a_text_has_the_same_bits_in_every_batch(minilm: DirectoryEmbedder) -> None:
    texts = random_texts(40, 60)
    expected = alone(minilm, texts)
    assert minilm.embed_documents(texts).tobytes() == expected
    rng = np.random.default_rng(1)
    for _ in range(3):
        order = rng.permutation(len(texts))
        got = minilm.embed_documents([texts[row] for row in order])
        assert got[np.argsort(order)].tobytes() == expected


def test_a_question_has_the_same_bits_alone_in_a_batch_and_from_memory(
    minilm: DirectoryEmbedder,
) -> None:
    texts = [*random_texts(12, 40, seed=2), "flush " * 600, "", "twice " * 300]
    fresh = load_embedder("minilm")
    single = np.concatenate([fresh.embed_queries([text]) for text in texts])
    assert load_embedder("minilm").embed_queries(texts).tobytes() == single.tobytes()
    assert fresh.embed_queries(texts).tobytes() == single.tobytes()
    assert minilm.embed_queries(texts[::-1])[::-1].tobytes() == single.tobytes()


def test_threads_share_a_model_and_get_the_same_bits(minilm: DirectoryEmbedder) -> None:
    texts = random_texts(10, 40, seed=3)
    expected = alone(minilm, texts)
    with ThreadPoolExecutor(6) as pool:
        for got in pool.map(lambda _: minilm.embed_documents(texts).tobytes(), range(12)):
            assert got == expected


def test_a_document_may_fill_the_window_and_no_more(minilm: DirectoryEmbedder) -> None:
    full = "flush " * 254
    assert minilm.count_tokens([full]) == [254]
    assert np.isfinite(minilm.embed_documents([full])).all()
    with pytest.raises(TextTooLong, match=r"text 1 has 255 word-pieces, .* takes 254"):
        minilm.embed_documents([full, full + "flush"])


def test_what_a_long_question_says_first_counts_most(minilm: DirectoryEmbedder) -> None:
    windows = ["flush cache " * 64, "apple pie " * 64, "green tea " * 16]
    whole = minilm.embed_queries(["".join(windows)])[0]
    mean = np.average(minilm.embed_queries(windows), axis=0, weights=[1, 1 / 4, 1 / 4 / 9])
    np.testing.assert_allclose(whole, mean / np.linalg.norm(mean), atol=1e-6)


def test_a_question_of_forty_thousand_words_is_answered(minilm: DirectoryEmbedder) -> None:
    vector = minilm.embed_queries(["flush the cache " * 13_334])
    assert abs(float(np.linalg.norm(vector)) - 1) < 1e-5


@pytest.mark.parametrize(
    "text",
    ["", "\0", "\ud800", "x" * 5000, "[SEP]"],
)
def test_odd_questions_have_a_finite_unit_vector(minilm: DirectoryEmbedder, text: str) -> None:
    vector = minilm.embed_queries([text])
    assert abs(float(np.linalg.norm(vector)) - 1) < 1e-5


def test_markers_in_a_text_are_only_text(minilm: DirectoryEmbedder) -> None:
    assert minilm.count_tokens(["[SEP]"]) == [3]


# --- hand-made directories


def make_directory(
    folder: Path,
    *,
    settings: dict[str, Any] | None = None,
    types: bool = False,
    markers: bool = True,
) -> Path:
    """A model whose token vectors are rows of a table: dimensions 4, words a to h."""
    folder.mkdir(exist_ok=True)
    vocabulary = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "[UNK]": 3}
    vocabulary |= {word: 4 + at for at, word in enumerate("abcdefgh")} | {"query": 12, ":": 13}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if markers:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=4)
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.random.default_rng(5).normal(size=(14, 4)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states"], axis=0)]
    names = ["input_ids", "attention_mask"]
    constants = [numpy_helper.from_array(table, "table")]
    if types:
        names.append("token_type_ids")
        constants.append(numpy_helper.from_array(np.eye(2, 4, dtype=np.float32), "types"))
        nodes.append(helper.make_node("Gather", ["types", "token_type_ids"], ["type"], axis=0))
        nodes.append(helper.make_node("Add", ["states", "type"], ["typed"]))
    last, output = "typed" if types else "states", "last_hidden_state"
    shape: list[str | int] = ["batch", "tokens", 4]
    nodes.append(helper.make_node("Identity", [last], [output]))
    graph = helper.make_graph(
        nodes,
        "table",
        [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "tokens"]) for n in names],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        constants,
    )
    opset = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), folder / "model.onnx")
    given = {"pooling": "mean", "max_tokens": 8, "dimensions": 4} | (settings or {})
    (folder / "crosscorpus.json").write_text(json.dumps(given))
    np.save(folder / "table.npy", table)
    return folder


def expected_mean(folder: Path, ids: list[int]) -> Any:
    mean = np.load(folder / "table.npy")[ids].mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_mean_pooling_counts_real_tokens_with_the_markers(tmp_path: Path) -> None:
    folder = make_directory(tmp_path / "m")
    embedder = load_embedder(f"onnx:{folder}")
    assert (embedder.model, embedder.max_tokens) == ("onnx:m", 6)
    np.testing.assert_allclose(
        embedder.embed_documents(["a b"])[0], expected_mean(folder, [1, 4, 5, 2]), atol=1e-6
    )


def test_cls_pooling_takes_the_first_token(tmp_path: Path) -> None:
    folder = make_directory(tmp_path / "m", settings={"pooling": "cls"})
    vector = load_directory(folder).embed_documents(["a b"])[0]
    np.testing.assert_allclose(vector, expected_mean(folder, [1]), atol=1e-6)


def test_prefixes_are_embedded_and_reserve_room(tmp_path: Path) -> None:
    settings = {"query_prefix": "query: ", "document_prefix": "h: "}
    folder = make_directory(tmp_path / "m", settings=settings)
    embedder = load_directory(folder)
    question, document = embedder.embed_queries(["a"]), embedder.embed_documents(["a"])
    np.testing.assert_allclose(question[0], expected_mean(folder, [1, 12, 13, 4, 2]), atol=1e-6)
    np.testing.assert_allclose(document[0], expected_mean(folder, [1, 11, 13, 4, 2]), atol=1e-6)
    assert embedder.count_tokens(["a"]) == [1]
    assert embedder.max_tokens == 3
    assert np.isfinite(embedder.embed_documents(["a b c"])).all()


def test_a_tokenizer_without_markers_embeds_an_empty_text_too(tmp_path: Path) -> None:
    folder = make_directory(tmp_path / "m", markers=False)
    embedder = load_directory(folder)
    assert embedder.max_tokens == 8
    np.testing.assert_allclose(
        embedder.embed_queries(["", "a"]),
        [expected_mean(folder, [0]), expected_mean(folder, [4])],
        atol=1e-6,
    )


def spaces(tmp_path: Path) -> Iterator[str]:
    base = tmp_path / "m"
    yield load_directory(make_directory(base)).space
    for change in (
        {"pooling": "cls"},
        {"query_prefix": "query: "},
        {"document_prefix": "query: "},
        {"max_tokens": 16},
    ):
        yield load_directory(make_directory(base, settings=change)).space
    yield load_directory(make_directory(base, types=True)).space
    yield load_directory(make_directory(base, markers=False)).space


def test_everything_that_decides_a_vector_changes_the_space(tmp_path: Path) -> None:
    assert len(set(spaces(tmp_path))) == 7


def test_weights_beside_the_graph_change_the_space(tmp_path: Path) -> None:
    folder = make_directory(tmp_path / "m")
    before = load_directory(folder).space
    (folder / "model.onnx_data").write_bytes(b"more")
    assert load_directory(folder).space != before


# --- bad directories


def test_a_file_that_is_missing_or_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = make_directory(tmp_path / "m")
    (folder / "tokenizer.json").write_bytes(b"not this")
    with pytest.raises(EmbeddingError, match=r"tokenizer\.json") as caught:
        load_directory(folder)
    assert "\n" not in str(caught.value)
    (folder / "model.onnx").unlink()
    with pytest.raises(ModelNotInstalled, match=r"has no model\.onnx"):
        load_directory(folder)


def test_a_file_that_differs_from_its_hash_is_damaged(tmp_path: Path) -> None:
    folder = make_directory(tmp_path / "m", settings={"files": {"tokenizer.json": "0" * 64}})
    with pytest.raises(ModelNotInstalled, match=r"tokenizer\.json' is damaged"):
        load_directory(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pooling": "max"}, "pooling"),
        ({"max_token": 4}, "max_token: Extra"),
        ({"max_tokens": 1}, "max_tokens"),
        ({"dimensions": 5}, "5 dimensions"),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    folder = make_directory(tmp_path / "m", settings=change)
    with pytest.raises(EmbeddingError, match=message):
        load_directory(folder)


@pytest.mark.parametrize(
    ("share", "most"),
    [("50000 100000", 1), ("max 100000", 10**6), (None, 10**6)],
)
def test_threads_are_no_more_than_the_share_of_the_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: str | None, most: int
) -> None:
    file = tmp_path / "cpu.max"
    if share is not None:
        file.write_text(f"{share}\n")
    monkeypatch.setattr(onnx_models, "CPU_SHARE", file)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(64), raising=False)
    assert onnx_models.cores() == min(64, most)


def test_the_runtime_keeps_and_sends_nothing_about_this_machine(tmp_path: Path) -> None:
    load = "from operators.embedding.onnx import open_session; from pathlib import Path"
    code = f"{load}\ntry: open_session(Path('none'))\nexcept Exception as error: print(error)"
    kept = {"ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME"}
    bare = {name: value for name, value in os.environ.items() if name not in kept}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=bare | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "cannot load" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_does_not_start_is_an_error_and_never_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runtime's GPU build names its devices on every machine, and falls back in silence."""
    monkeypatch.setenv("CROSSCORPUS_DEVICE", "cuda")
    named = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: named)
    with pytest.raises(CrosscorpusError, match=r"device 'cuda' does not start.*\[gpu\]"):
        load_directory(make_directory(tmp_path))


PAIR_WORDS = ["[PAD]", "[UNK]", "[SEP]", "cache", "flush", "queue", "the"]


def directory(at: Path, *, outputs: int = 1) -> Path:
    """Write the model: the score is the sum of one weight a word of the passage."""
    tokenizer = Tokenizer(WordLevel({w: n for n, w in enumerate(PAIR_WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="$A [SEP]", pair="$A [SEP] $B:1 [SEP]:1", special_tokens=[("[SEP]", 2)]
    )
    at.mkdir(exist_ok=True)
    tokenizer.save(str(at / "tokenizer.json"))
    weights = np.zeros((len(PAIR_WORDS), outputs), np.float32)
    weights[3:6, 0] = (2.0, 1.0, 0.5)
    nodes = [
        helper.make_node("Gather", ["w", "input_ids"], ["each"], axis=0),
        helper.make_node("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["second", "two"], ["wide"]),
        helper.make_node("Mul", ["each", "wide"], ["counted"]),
        helper.make_node("ReduceSum", ["counted", "one"], ["logits"], keepdims=0),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "token_type_ids")
    ]
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", outputs])
    constants = [numpy_helper.from_array(weights, "w")]
    constants += [numpy_helper.from_array(np.array([n]), s) for s, n in (("two", 2), ("one", 1))]
    graph = helper.make_graph(nodes, "pairs", inputs, [logits], constants)
    opset = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), at / "model.onnx")
    return at


def test_a_pair_has_the_score_that_the_model_gives_it_alone_or_among_others(
    tmp_path: Path,
) -> None:
    reranker = load_reranker(f"onnx:{directory(tmp_path)}")
    pairs = [("flush", "the cache"), ("cache", "queue queue"), ("the", ""), ("", "cache flush")]
    assert list(reranker(pairs)) == [2.0, 1.0, 0.0, 3.0]
    assert [next(iter(reranker([pair]))) for pair in pairs] == list(reranker(pairs))


def test_a_long_passage_loses_its_end_and_the_question_stays(tmp_path: Path) -> None:
    reranker = load_reranker(f"onnx:{directory(tmp_path)}")
    first, last = "cache " + "the " * MAX_TOKENS, "the " * MAX_TOKENS + "cache"
    assert list(reranker([("flush flush", first), ("flush", last)])) == [2.0, 0.0]


def test_what_is_no_reranker_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = load_reranker(f"onnx:{directory(tmp_path / 'two', outputs=2)}")
    with pytest.raises(EmbeddingError, match=r"gives \(2,\) a pair; a reranker gives one number"):
        two([("a", "b")])
    (tmp_path / "own_rerankers.py").write_text("load = lambda: 3\ngood = lambda: len\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load_reranker("python:own_rerankers:good") is len
    with pytest.raises(EmbeddingError, match="its int cannot be called with pairs"):
        load_reranker("python:own_rerankers:load")
    with pytest.raises(ModelNotInstalled, match=r"has no model\.onnx"):
        load_reranker(f"onnx:{tmp_path}")
    (tmp_path / "two" / "model.onnx").write_bytes(b"cut")
    load_reranker.cache_clear()
    with pytest.raises(EmbeddingError, match="cannot load"):
        load_reranker(f"onnx:{tmp_path / 'two'}")
    with pytest.raises(UnknownName, match="unknown reranker 'onx:x', did you mean 'onnx:DIR'"):
        load_reranker("onx:x")
