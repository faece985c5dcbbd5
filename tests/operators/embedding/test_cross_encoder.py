"""A small cross-encoder: it scores how many word-pieces of a pair are in both of its parts."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from operators.embedding.cross_encoder import MAX_TOKENS, load_reranker
from operators.embedding.protocol import EmbeddingError, ModelNotInstalled
from operators.errors import UnknownName

WORDS = ["[PAD]", "[UNK]", "[SEP]", "cache", "flush", "queue", "the"]


def directory(at: Path, *, outputs: int = 1) -> Path:
    """Write the model: the score is the sum of one weight a word of the passage."""
    tokenizer = Tokenizer(WordLevel({w: n for n, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="$A [SEP]", pair="$A [SEP] $B:1 [SEP]:1", special_tokens=[("[SEP]", 2)]
    )
    at.mkdir(exist_ok=True)
    tokenizer.save(str(at / "tokenizer.json"))
    weights = np.zeros((len(WORDS), outputs), np.float32)
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
