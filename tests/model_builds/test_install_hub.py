"""Models of a hub: a stub of its HTTP on 127.0.0.1, tiny models in each layout."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import published_encoders
import pytest
from command import run_here
from hub_stub import (
    NAME,
    Hub,
    Repository,
    install,
    model2vec,
    pair_graph,
    sentence_transformer,
    table_graph,
    with_graph,
)
from safetensors.numpy import load, save
from tokenizers import Tokenizer

from crosscorpus.model_builds.install_hub import Options, install_hub
from operators.embedding.cross_encoder import load_reranker
from operators.embedding.hub_models import hub_directory, hub_statuses, read_record
from operators.embedding.onnx import DirectoryEmbedder
from operators.embedding.protocol import EmbeddingError, ModelNotInstalled, file_sha256
from operators.embedding.registry import load_embedder

TEXTS = ["the cache is flushed twice", "a wallet refuses to sign", "bake the apples"]


@pytest.fixture(autouse=True)
def no_reranker_from_before() -> None:
    load_reranker.cache_clear()  # type: ignore[attr-defined]


def loaded(name: str = NAME) -> DirectoryEmbedder:
    found = load_embedder(f"hf:{name}")
    assert isinstance(found, DirectoryEmbedder)
    return found


# --- what is installed


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_an_encoder_is_converted_and_gives_the_vectors_of_its_weights(
    put: Callable[..., Repository], family: str, tmp_path: Path
) -> None:
    put(sentence_transformer(family))
    said = install()
    assert any("cosine to the reference" in line for line in said)
    model = loaded()
    assert (model.model, model.dimensions) == (f"hf:{NAME}", 24)
    assert np.linalg.norm(model.embed_documents(TEXTS), axis=1) == pytest.approx(1)
    record = read_record(hub_directory(NAME))
    assert (record.revision, record.licence) == ("c0ffee" + "0" * 34, "mit")
    files = sentence_transformer(family)
    (tmp_path / "weights").write_bytes(files["model.safetensors"])
    assert record.fetched["model.safetensors"] == file_sha256(tmp_path / "weights")


def test_pooling_prompts_and_window_are_those_of_its_own_files(
    put: Callable[..., Repository],
) -> None:
    put(sentence_transformer(pooling_mode_cls_token=True, pooling_mode_mean_tokens=False))
    install()
    own = loaded().settings
    assert (own.pooling, own.query_prefix, own.document_prefix) == ("cls", "search ", "found ")
    assert own.max_tokens == 128
    assert own.origin == f"hf:{NAME}@c0ffee{'0' * 34}, mit"


def test_what_the_user_says_goes_before_what_the_files_say(put: Callable[..., Repository]) -> None:
    put(sentence_transformer())
    options = Options(pooling="cls", query_prefix="", document_prefix="d ", dimensions=8)
    install(options=options)
    model = loaded()
    own = model.settings
    assert (own.pooling, own.query_prefix, own.document_prefix) == ("cls", "", "d ")
    assert model.embed_documents(TEXTS).shape == (3, 8)
    assert install()[0].startswith(f"hf:{NAME} is installed"), "as it is"
    assert any("fetching" in line for line in install(options=Options(pooling="mean")))


def test_matryoshka_dimensions_are_the_first_ones_and_a_space_of_their_own(
    put: Callable[..., Repository],
) -> None:
    files = with_graph()
    config = {"model_type": "modernbert", "max_position_embeddings": 64}
    files["config.json"] = json.dumps(config | {"matryoshka_dimensions": [6, 3]}).encode()
    put(files)
    install()
    whole = loaded()
    install(options=Options(dimensions=3))
    first = loaded()
    expected = whole.embed_documents(TEXTS)[:, :3]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(first.embed_documents(TEXTS), expected, atol=1e-6)
    assert first.space != whole.space
    with pytest.raises(EmbeddingError, match="no 4 dimensions: 3, 6"):
        install(options=Options(dimensions=4))
    assert loaded().dimensions == 3, "what was installed stays"


@pytest.mark.parametrize("external", [False, True])
def test_what_is_not_converted_is_taken_as_the_repositorys_graph(
    put: Callable[..., Repository], external: bool
) -> None:
    files = put(with_graph(external=external)).files
    install()
    model = loaded()
    assert (model.dimensions, model.settings.max_tokens) == (6, 64)
    assert model.embed_documents(TEXTS).shape == (3, 6)
    assert ("model.onnx_data" in read_record(hub_directory(NAME)).files) is external
    assert (hub_directory(NAME) / "model.onnx").read_bytes() == files["onnx/model.onnx"]


def test_shards_are_fetched_and_put_together(put: Callable[..., Repository]) -> None:
    files = sentence_transformer("roberta")
    put(dict(files))
    install()
    whole = loaded()
    tensors = load(files.pop("model.safetensors"))
    names = [*tensors]
    where = {name: f"model-{n % 2 + 1}-of-2.safetensors" for n, name in enumerate(names)}
    for shard in set(where.values()):
        files[shard] = save({name: tensors[name] for name in names if where[name] == shard})
    files["model.safetensors.index.json"] = json.dumps({"weight_map": where}).encode()
    shutil.rmtree(hub_directory(NAME))
    put(files)
    install()
    assert loaded().space == whole.space


def test_integers_that_are_too_coarse_for_a_model_give_way_to_floating_point(
    put: Callable[..., Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crosscorpus.model_builds.install_hub.LEAST_COSINE", 0.999999)
    put(sentence_transformer())
    assert any("stays in fp32" in line for line in install())
    assert read_record(hub_directory(NAME)).made == "converted from safetensors"


# --- word vectors


def test_word_vectors_of_model2vec_are_means_without_unknown_pieces(
    put: Callable[..., Repository],
) -> None:
    files = put(model2vec()).files
    install()
    model = load_embedder(f"hf:{NAME}")
    table = load(files["model.safetensors"])["embeddings"]
    cutter = Tokenizer.from_str(files["tokenizer.json"].decode())
    for text in (*TEXTS, "é8 the 7 cache"):
        ids = [each for each in cutter.encode(text, add_special_tokens=False).ids if each != 1]
        mean = table[ids].mean(axis=0)
        found = model.embed_documents([text])[0]
        np.testing.assert_allclose(found, mean / np.linalg.norm(mean), atol=1e-6)
    assert np.isfinite(model.embed_queries(["", "7 8"])).all()
    assert load_embedder(f"model2vec:{hub_directory(NAME)}").space == model.space


# --- rerankers


def with_pair_graph() -> dict[str, bytes]:
    """A cross-encoder that is not converted."""
    config = b'{"model_type": "deberta-v2", "max_position_embeddings": 302}'
    return sentence_transformer() | {"config.json": config} | pair_graph()


@pytest.mark.parametrize(("family", "least"), [("bert", 0.5), ("roberta", 0.98)])
def test_a_reranker_is_converted_in_integers_where_these_are_close_to_its_weights(
    put: Callable[..., Repository], family: str, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Scores of random weights with 24 numbers a state hardly differ: integers are coarse there.
    monkeypatch.setattr("crosscorpus.model_builds.install_hub.LEAST_COSINE", least)
    weights = save(published_encoders.cross_encoder(family))
    put(sentence_transformer(family) | {"model.safetensors": weights})
    said = install(reranker=True)
    (line,) = (line for line in said if "pairs correlate" in line)
    assert float(line.split()[6]) >= least
    reranker = load_reranker(f"hf:{NAME}")
    assert len({*reranker([("cache", text) for text in TEXTS])}) == 3
    record = read_record(hub_directory(NAME, reranker=True))
    assert record.made.removesuffix(", in integers") == "converted from safetensors"
    assert record.made.endswith("in integers") is (least == 0.5)
    assert record.max_tokens == (302 if family == "bert" else 300)


def test_a_reranker_is_installed_beside_and_asked_by_its_name(
    put: Callable[..., Repository],
) -> None:
    put(with_pair_graph())
    install(reranker=True)
    reranker = load_reranker(f"hf:{NAME}")
    one, other = reranker([("cache", "flush"), ("cache", "apple pie")])
    assert one != other
    assert read_record(hub_directory(NAME, reranker=True)).max_tokens == 302
    with pytest.raises(ModelNotInstalled, match=f"models install hf:{NAME}`"):
        load_embedder(f"hf:{NAME}")
    model = hub_directory(NAME, reranker=True) / "model.onnx"
    model.write_bytes(model.read_bytes() + b" ")
    load_reranker.cache_clear()  # type: ignore[attr-defined]
    with pytest.raises(ModelNotInstalled, match=f"its hash is wrong.*hf:{NAME} --reranker"):
        load_reranker(f"hf:{NAME}")


# --- downloads


def test_nothing_is_fetched_that_is_not_needed_and_nothing_twice(
    put: Callable[..., Repository], hub: Hub
) -> None:
    put(sentence_transformer() | table_graph())
    install()
    asked = [path for method, path, _ in hub.asked if method == "GET"]
    assert not [path for path in asked if path.endswith((".bin", "README.md", ".onnx"))]
    hub.asked.clear()
    assert install() == [f"hf:{NAME} is installed at c0ffee000000 in {hub_directory(NAME)}"]
    assert hub.asked == []


@pytest.mark.parametrize("file", ["model.safetensors", "config.json"])
def test_a_file_that_differs_from_its_hash_is_refused_and_nothing_is_installed(
    put: Callable[..., Repository], file: str
) -> None:
    files = sentence_transformer()
    changed = bytes([files[file][0] ^ 1]) + files[file][1:]
    put(files, served={file: changed})
    with pytest.raises(EmbeddingError, match=f"{file} .* differs from the hash that the hub gives"):
        install()
    assert not hub_directory(NAME).exists()
    put(files)
    install()
    assert loaded().dimensions == 24, "the wrong file in the package's cache is fetched again"


def test_a_gated_model_says_what_to_do_and_a_token_opens_it(
    put: Callable[..., Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(sentence_transformer(), gated=True)
    with pytest.raises(ModelNotInstalled, match=r"is gated: accept its terms at .*HF_TOKEN"):
        install()
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    install()
    assert "hf_secret" not in (hub_directory(NAME) / "hub.json").read_text()


def test_what_the_hub_does_not_have_is_said(hub: Hub, put: Callable[..., Repository]) -> None:
    with pytest.raises(ModelNotInstalled, match=f"no model 'hf:{NAME}' at {hub.address}"):
        install()
    put(sentence_transformer())
    with pytest.raises(ModelNotInstalled, match="has no revision 'v9'"):
        install_hub(f"hf:{NAME}@v9")


@pytest.mark.parametrize("name", ["hf:", "hf:alone", "hf:../x/y", "hf:a/..", "hf:a/b@", "hf:a/b c"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ModelNotInstalled, match="no model of a hub"):
        install_hub(name)


# --- what cannot be taken


def test_weights_in_pickles_alone_are_refused_and_not_fetched(
    put: Callable[..., Repository], hub: Hub
) -> None:
    files = sentence_transformer()
    del files["model.safetensors"]
    put(files)
    with pytest.raises(EmbeddingError, match=r"only in pytorch_model\.bin, which can run code"):
        install()
    assert not [path for _, path, _ in hub.asked if path.endswith(".bin")]


Change = dict[str, bytes | None]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tokenizer.json": None}, "it has no tokenizer.json"),
        ({"modules.json": b"{"}, "modules.json of the repository is no JSON"),
        ({"config.json": b'{"model_type": "t5"}'}, "model_type is 't5'"),
        ({"model.safetensors": b"cut"}, "cannot read model.safetensors"),
    ],
)
def test_what_cannot_be_converted_is_said_in_a_line(
    put: Callable[..., Repository], change: Change, said: str
) -> None:
    files = sentence_transformer() | change
    put({name: content for name, content in files.items() if content is not None})
    with pytest.raises(EmbeddingError, match=said) as error:
        install()
    assert "\n" not in str(error.value)
    assert not hub_directory(NAME).exists()
    assert [path.name for path in hub_directory(NAME).parent.iterdir()] == []


@pytest.mark.parametrize("place", ["../../secret", "absolute", "not there"])
def test_a_graph_that_reads_a_file_elsewhere_is_refused(
    put: Callable[..., Repository], place: str
) -> None:
    secret = hub_directory(NAME).parent / "secret"  # the folder is made in one beside it
    secret.parent.mkdir(parents=True)
    secret.write_bytes(bytes(100_000))
    place = str(secret) if place == "absolute" else place
    files = with_graph(external=True)
    graph = onnx.load_from_string(files["onnx/model.onnx"])
    for tensor in graph.graph.initializer:
        for entry in tensor.external_data:
            entry.value = place if entry.key == "location" else entry.value
    put(files | {"onnx/model.onnx": graph.SerializeToString()})
    with pytest.raises(EmbeddingError, match="cannot load") as error:
        install()
    assert "\n" not in str(error.value)
    assert not hub_directory(NAME).exists()


# --- what a question loads


def test_a_model_that_is_not_installed_says_the_command_and_fetches_nothing(
    put: Callable[..., Repository], hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(sentence_transformer())
    way = f"'hf:{NAME}' is not installed: run `crosscorpus models install hf:{NAME}"
    with pytest.raises(ModelNotInstalled, match=f"{way}`"):
        load_embedder(f"hf:{NAME}")
    with pytest.raises(ModelNotInstalled, match=f"{way}@v1`"):
        load_embedder(f"hf:{NAME}@v1")
    with pytest.raises(ModelNotInstalled, match=f"{way} --reranker`"):
        load_reranker(f"hf:{NAME}")
    with monkeypatch.context() as gpu:
        gpu.setenv("CROSSCORPUS_DEVICE", "cuda")
        with pytest.raises(ModelNotInstalled, match=f"{way} --device cuda`"):
            load_embedder(f"hf:{NAME}")
    assert hub.asked == []
    install()
    hub.asked.clear()
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    loaded()
    assert hub.asked == []


def test_a_revision_in_the_name_must_be_the_installed_one(put: Callable[..., Repository]) -> None:
    put(sentence_transformer(), branches=("main", "v1"))
    install_hub(f"hf:{NAME}@v1")
    for name in (NAME, f"{NAME}@v1", f"{NAME}@c0ffee0"):
        assert loaded(name).model == f"hf:{NAME}"
    with pytest.raises(ModelNotInstalled, match="installed at c0ffee000000, not at 'main'"):
        loaded(f"{NAME}@main")


def test_a_damaged_model_is_seen_and_repaired(put: Callable[..., Repository]) -> None:
    put(sentence_transformer())
    install()
    space, graph = loaded().space, hub_directory(NAME) / "model.onnx"
    graph.write_bytes(graph.read_bytes()[:-1])
    with pytest.raises(ModelNotInstalled, match=f"its hash is wrong: run `.* hf:{NAME}`"):
        loaded()
    (status,) = hub_statuses()
    assert (status.name, status.state) == (f"hf:{NAME}", "damaged")
    install()
    assert loaded().space == space
    assert [each.state for each in hub_statuses()] == ["installed"]


# --- the command


def test_the_command_installs_and_lists_a_model(put: Callable[..., Repository]) -> None:
    put(sentence_transformer())
    done = run_here(("models", "install", f"hf:{NAME}", "--query-prefix", "ask: "), {})
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(hub_directory(NAME))
    assert "before a question: 'ask: '" in done.stderr
    listed = run_here(("models", "status"), {}).stdout
    assert f"hf:{NAME}: installed" in listed
    refused = run_here(("models", "install", "hf:org/none"), {})
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    for arguments in (("bge-small",), ("minilm", "--reranker"), ("minilm", "--pooling", "cls")):
        assert run_here(("models", "install", *arguments), {}).returncode == 2
