"""A hub on 127.0.0.1, with the parts of its HTTP that a download uses, and tiny models for it."""

from __future__ import annotations

import hashlib
import json
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import onnx
import published_encoders
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

NAME = "org/small-model"
"""The repository that tests install."""

_LARGE = (".safetensors", ".onnx", ".onnx_data", ".bin", ".bpe.model")
"""Ends of files that a hub keeps in LFS."""


@dataclass
class Repository:
    """What a hub holds of a model: branches and the files of its one commit."""

    files: dict[str, bytes]
    commit: str = "c0ffee" + "0" * 34
    branches: tuple[str, ...] = ("main",)
    gated: bool = False
    tags: list[str] = field(default_factory=lambda: ["license:mit"])
    served: dict[str, bytes] = field(default_factory=dict)
    """What comes instead of a file's bytes."""
    cut: dict[str, int | list[int]] = field(default_factory=dict)
    """The connection ends after so many bytes of a file, once or several times."""
    headers: dict[str, str] = field(default_factory=dict)
    """Headers of each answer, in the place of the usual ones."""
    info: dict[str, Any] = field(default_factory=dict)
    """What the answer about the repository has instead."""
    raw_info: bytes | None = None
    """The whole answer about the repository."""
    redirects: dict[str, str] = field(default_factory=dict)
    """Where a file is said to be."""


@dataclass
class Hub:
    """A running stub."""

    address: str
    repositories: dict[str, Repository] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, path and range of each request."""
    tokens: list[tuple[str, str]] = field(default_factory=list)
    """Path and token of each request."""
    faults: list[tuple[str, int, dict[str, str]]] = field(default_factory=list)
    """Start of a path, status (0: the connection ends) and headers of an answer given once."""


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def git_blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@contextmanager
def running_hub(tls: ssl.SSLContext | None = None) -> Iterator[Hub]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    hub = Hub(f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}")
    server.hub = hub  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield hub
    server.shutdown()
    server.server_close()
    thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self, *, body: bool) -> None:
        hub: Hub = self.server.hub  # type: ignore[attr-defined]
        path = unquote(urlsplit(self.path).path)
        hub.asked.append((self.command, path, self.headers.get("Range", "")))
        hub.tokens.append((path, self.headers.get("Authorization", "")))
        fault = next((each for each in hub.faults if path.startswith(each[0])), None)
        if fault:
            hub.faults.remove(fault)
            self.close_connection = True
            return self._send(*fault[1:], b"", body) if fault[1] else None
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            name, rest = "/".join(parts[2:4]), parts[4:]
        elif parts[0] == "cdn":
            name, rest = "/".join(parts[1:3]), ["cdn", *parts[3:]]
        else:
            name, rest = "/".join(parts[:2]), parts[2:]
        repository = hub.repositories.get(name)
        if repository is None:
            return self._send(401, {"X-Error-Code": "RepoNotFound"}, b"", body)
        if (
            repository.gated
            and rest[:1] != ["cdn"]
            and self.headers.get("Authorization") != "Bearer hf_secret"
        ):
            return self._send(401, {"X-Error-Code": "GatedRepo"}, b"", body)
        if rest[:1] == ["cdn"]:
            return self._file(repository, "/".join(rest[1:]), body)
        revision = rest[1] if len(rest) > 1 else "main"
        if revision not in (*repository.branches, repository.commit):
            return self._send(404, {"X-Error-Code": "RevisionNotFound"}, b"", body)
        if rest[:1] == ["resolve"]:
            return self._resolve(hub, name, repository, "/".join(rest[2:]), body)
        if rest and rest[0] != "revision":
            return self._send(404, {}, b"", body)
        info = json.dumps(_info(name, repository) | repository.info).encode()
        if repository.raw_info is not None:
            info = repository.raw_info
        headers = {"Content-Type": "application/json"} | repository.headers
        return self._send(200, headers, info, body)

    def _resolve(self, hub: Hub, name: str, repository: Repository, file: str, body: bool) -> None:
        if file not in repository.files:
            return self._send(404, {"X-Error-Code": "EntryNotFound"}, b"", body)
        content = repository.files[file]
        headers = {"X-Repo-Commit": repository.commit}
        if file in repository.redirects:
            return self._send(302, headers | {"Location": repository.redirects[file]}, b"", body)
        if not file.endswith(_LARGE):
            headers |= {"ETag": git_blob(content)} | repository.headers
            return self._file(repository, file, body, headers)
        linked = {"X-Linked-Etag": f'"{sha256(content)}"', "X-Linked-Size": str(len(content))}
        # Another host, as in life: no token goes there.
        elsewhere = hub.address.replace("127.0.0.1", "localhost")
        location = {"Location": f"{elsewhere}/cdn/{name}/{file}"}
        headers |= linked | location | repository.headers
        return self._send(302, headers, b"", body)

    def _file(
        self,
        repository: Repository,
        file: str,
        body: bool,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        content, start = repository.served.get(file, repository.files[file]), 0
        if asked := self.headers.get("Range"):
            start = int(asked.removeprefix("bytes=").split("-")[0])
        status = 206 if start else 200
        sent = {"Accept-Ranges": "bytes"} | dict(headers or {})
        if start:
            sent["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        cut = repository.cut.pop(file, None) if body else None
        if isinstance(cut, list):
            cut, *repository.cut[file] = cut or [None]
        self._send(status, sent, content[start:], body, cut)

    def _send(
        self,
        status: int,
        headers: Mapping[str, str],
        content: bytes,
        body: bool,
        cut: int | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content[:cut])
        if cut is not None:
            self.close_connection = True


def _info(name: str, repository: Repository) -> dict[str, Any]:
    siblings = []
    for file, content in repository.files.items():
        one: dict[str, Any] = {"rfilename": file, "size": len(content)}
        one["blobId"] = git_blob(content)
        if file.endswith(_LARGE):
            one["lfs"] = {"sha256": sha256(content), "size": len(content), "pointerSize": 130}
        siblings.append(one)
    common = {"id": name, "modelId": name, "private": False, "downloads": 0, "likes": 0}
    return common | {"sha": repository.commit, "tags": repository.tags, "siblings": siblings}


# --- tiny models


def tokenizer(pairs: bool = True) -> Tokenizer:
    """Letters, as BERT's tokenizer cuts words into them."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = [*special, *letters, *(f"##{each}" for each in letters), "."]
    made = Tokenizer(models.WordPiece({p: n for n, p in enumerate(pieces)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    markers = [("[CLS]", 2), ("[SEP]", 3)]
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1" if pairs else "[CLS] $A [SEP] $B [SEP]",
        special_tokens=markers,
    )
    made.add_special_tokens(special)
    return made


def sentence_transformer(family: str = "bert", **pooling: Any) -> dict[str, bytes]:
    """The files of an encoder with weights in safetensors, in sentence-transformers' layout."""
    parts = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(parts.items())
    ]
    prompts = {"query": "search ", "passage": "found "}
    return {
        "README.md": b"# A model\n",
        "modules.json": json.dumps(modules).encode(),
        "1_Pooling/config.json": json.dumps(
            pooling or {"word_embedding_dimension": 24, "pooling_mode_mean_tokens": True}
        ).encode(),
        "config_sentence_transformers.json": json.dumps({"prompts": prompts}).encode(),
        "sentence_bert_config.json": b'{"max_seq_length": 128, "do_lower_case": false}',
        "config.json": json.dumps(published_encoders.config(family)).encode(),
        "tokenizer_config.json": b'{"model_max_length": 512}',
        "tokenizer.json": tokenizer().to_str().encode(),
        "model.safetensors": save(published_encoders.tensors(family)),
        "pytorch_model.bin": b"\x80\x04a pickle",
    }


def table_graph(dimensions: int = 6, *, external: bool = False) -> dict[str, bytes]:
    """An ONNX encoder that looks up each token's vector; its weights in a file of their own."""
    table = np.random.default_rng(3).normal(size=(60, dimensions)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"], axis=0)]
    shape: list[str | int] = ["batch", "tokens", dimensions]
    return _saved(nodes, {"table": table}, ["input_ids", "attention_mask"], shape, external)


def pair_graph() -> dict[str, bytes]:
    """An ONNX cross-encoder: the mean of what a table says of each token and its type."""
    rng = np.random.default_rng(4)
    table = rng.normal(size=(60, 1)).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["said"], axis=0),
        helper.make_node("Cast", ["token_type_ids"], ["types"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["types", "last"], ["wide"]),
        helper.make_node("Mul", ["said", "wide"], ["of_passage"]),
        helper.make_node("ReduceMean", ["of_passage", "second"], ["logits"], keepdims=0),
    ]
    constants = {"table": table, "last": np.array([2]), "second": np.array([1])}
    names = ["input_ids", "attention_mask", "token_type_ids"]
    return _saved(nodes, constants, names, ["batch", 1], False)


def _saved(
    nodes: list[Any],
    constants: Mapping[str, np.ndarray[Any, Any]],
    inputs: list[str],
    shape: list[Any],
    external: bool,
) -> dict[str, bytes]:
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "tokens"]) for n in inputs],
        [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    with tempfile.TemporaryDirectory() as folder:
        options = {"location": "model.onnx_data", "size_threshold": 0} if external else {}
        onnx.save(model, f"{folder}/model.onnx", save_as_external_data=external, **options)
        return {f"onnx/{path.name}": path.read_bytes() for path in Path(folder).iterdir()}


def model2vec(**tensors: np.ndarray[Any, Any]) -> dict[str, bytes]:
    """Word vectors as the package model2vec saves them."""
    table = np.random.default_rng(5).normal(size=(57, 8)).astype(np.float32)
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": True}
    return {
        "config.json": json.dumps(config).encode(),
        "tokenizer.json": tokenizer().to_str().encode(),
        "model.safetensors": save({"embeddings": table} | tensors),
    }


def with_graph(**graph: Any) -> dict[str, bytes]:
    """A model that is not converted, with an ONNX file."""
    files = sentence_transformer() | table_graph(**graph)
    del files["model.safetensors"]
    files["config.json"] = b'{"model_type": "modernbert", "max_position_embeddings": 64}'
    return files


# --- installing


def install(**more: Any) -> list[str]:
    """Install ``NAME`` and return the lines of progress."""
    from crosscorpus.model_builds.install_hub import install_hub

    said: list[str] = []
    install_hub(f"hf:{NAME}", say=said.append, **more)
    return said
