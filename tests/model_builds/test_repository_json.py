"""Odd values in the files of a repository: each is a line that names the file."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from typing import Any

import pytest
from hub_stub import NAME, Repository, install, model2vec, sentence_transformer, with_graph

from operators.embedding.hub_models import hub_directory
from operators.embedding.protocol import EmbeddingError

DEEP = b'{"a":' * 100_000
ODD = ['"x"', "-1", "NaN", "1" + "0" * 400]
FIELDS = {
    "config.json": [
        *("hidden_size", "num_attention_heads", "num_hidden_layers", "layer_norm_eps"),
        *("max_position_embeddings", "matryoshka_dimensions", "model_type", "pad_token_id"),
    ],
    "tokenizer_config.json": ["model_max_length"],
    "sentence_bert_config.json": ["max_seq_length"],
    "config_sentence_transformers.json": ["prompts", "default_prompt_name"],
    "1_Pooling/config.json": ["pooling_mode"],
}


def ends_in_a_line(files: dict[str, bytes], put: Callable[..., Repository], **more: Any) -> str:
    """Installs, or says in one line what is wrong."""
    put(files)
    line = ""
    try:
        install(**more)
    except EmbeddingError as error:
        line = str(error)
    assert "\n" not in line
    assert len(line) < 700
    shutil.rmtree(hub_directory(NAME, **more), ignore_errors=True)
    return line


@pytest.mark.parametrize("file", [*FIELDS, "modules.json", "tokenizer.json"])
def test_json_that_is_too_deep_or_none_is_a_line_that_names_the_file(
    put: Callable[..., Repository], file: str
) -> None:
    for content in (DEEP, b"[" * 100_000, b"", b"\xff\xfe", b"1" * 10_000, b'"x"'):
        assert file in ends_in_a_line(sentence_transformer() | {file: content}, put)


@pytest.mark.parametrize(("file", "field"), [(f, field) for f in FIELDS for field in FIELDS[f]])
def test_an_odd_value_of_a_field_is_a_line_or_does_no_harm(
    put: Callable[..., Repository], file: str, field: str
) -> None:
    for value in ODD:
        own = {n: v for n, v in json.loads(sentence_transformer()[file]).items() if n != field}
        text = f"{json.dumps(own)[:-1]}{', ' if own else ''}{json.dumps(field)}: {value}}}"
        ends_in_a_line(sentence_transformer() | {file: text.encode()}, put)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("config.json", {"hidden_size": "x"}, "config.json .*hidden_size: Input should be a valid"),
        ("config.json", {"num_hidden_layers": 10**9}, "num_hidden_layers: Input should be less"),
        ("config.json", {"num_attention_heads": 0}, "config.json .*num_attention_heads"),
        ("config.json", {"matryoshka_dimensions": 5}, "config.json .*matryoshka_dimensions"),
        (
            "sentence_bert_config.json",
            {"max_seq_length": [1]},
            "sentence_bert_config.json .*max_seq",
        ),
        ("sentence_bert_config.json", {"max_seq_length": 5}, "takes 5 word-pieces"),
        ("config_sentence_transformers.json", {"prompts": ["a"]}, "transformers.json .*prompts"),
        ("1_Pooling/config.json", {"pooling_mode": "a\nb"}, r"its pooling is a\\u\{a\}b"),
    ],
)
def test_an_odd_value_is_named_with_its_file(
    put: Callable[..., Repository], file: str, content: dict[str, Any], said: str
) -> None:
    own = json.loads(sentence_transformer()[file]) | content
    line = ends_in_a_line(sentence_transformer() | {file: json.dumps(own).encode()}, put)
    assert re.search(said, line), line


@pytest.mark.parametrize(
    "index",
    [b'{"weight_map": []}', b"{}", b"[]", b'{"weight_map": {"a": 5}}', b'{"weight_map":' * 50_000],
)
def test_an_odd_index_of_shards_is_a_line(put: Callable[..., Repository], index: bytes) -> None:
    files = sentence_transformer() | {"model.safetensors.index.json": index}
    del files["model.safetensors"]
    line = ends_in_a_line(files, put)
    assert "model.safetensors.index.json" in line


def safetensors_file(header: Any, data: bytes = b"abcd") -> bytes:
    written = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + data


def one_tensor(shape: list[int], offsets: list[int], kind: str = "F32") -> bytes:
    name = "embeddings.position_embeddings.weight"
    return safetensors_file({name: {"dtype": kind, "shape": shape, "data_offsets": offsets}})


@pytest.mark.parametrize(
    "weights",
    [
        *(b"", b"\0" * 8, b"\xff" * 100, safetensors_file(DEEP), safetensors_file({"a": 5})),
        *(one_tensor([1], [4, 0]), one_tensor([1], [100, 104]), one_tensor([-1], [0, 4])),
        *(one_tensor([2**62, 4], [0, 0]), one_tensor([0, 2**63 - 1], [0, 0])),
        *(one_tensor([], [0, 4]), one_tensor([1] * 70, [0, 4]), one_tensor([1], [0, 4], "X9")),
        sentence_transformer()["model.safetensors"][:-10],
    ],
)
def test_an_odd_header_of_weights_is_a_line(put: Callable[..., Repository], weights: bytes) -> None:
    assert ends_in_a_line(sentence_transformer() | {"model.safetensors": weights}, put)
    static = model2vec() | {"model.safetensors": weights}
    assert ends_in_a_line(static, put)


@pytest.mark.parametrize(
    "change",
    [
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
        {"model": {"type": "WordLevel", "vocab": {"a": 4_000_000_000}, "unk_token": "a"}},
        {"model": {"type": "Unigram", "unk_id": 99, "vocab": [["a", 0.0]]}},
        {"added_tokens": [{"id": "x"}]},
    ],
)
def test_an_odd_tokenizer_is_a_line(put: Callable[..., Repository], change: dict[str, Any]) -> None:
    tokenizer = json.loads(sentence_transformer()["tokenizer.json"]) | change
    for files in (sentence_transformer(), model2vec(), with_graph()):
        ends_in_a_line(files | {"tokenizer.json": json.dumps(tokenizer).encode()}, put)
