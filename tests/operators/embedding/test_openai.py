"""Against a real local server that speaks the protocol, faults included."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from operators.embedding.openai import OpenAIEmbedder, load_openai, parse_name
from operators.embedding.protocol import EmbeddingError, TextTooLong
from operators.embedding.registry import load_embedder

Answer = tuple[int, dict[str, str], Any]


def vector_of(text: str, dimensions: int) -> list[float]:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])
    return [float(x) for x in np.random.default_rng(seed).normal(size=dimensions)]


@dataclass
class Server:
    """Answers embeddings; ``faults`` are given first, one a request; ``bend`` edits an answer."""

    dimensions: int = 8
    faults: list[Answer] = field(default_factory=list)
    bend: Any = None
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    url: str = ""

    def answer(self, body: dict[str, Any]) -> Answer:
        if self.faults:
            return self.faults.pop(0)
        rows = [
            {"object": "embedding", "index": at, "embedding": vector_of(text, self.dimensions)}
            for at, text in enumerate(body["input"])
        ]
        # The protocol says that the index tells, not the place.
        data = {"object": "list", "data": rows[::-1], "model": body["model"], "usage": {}}
        return 200, {}, self.bend(data) if self.bend else data

    def inputs(self) -> list[list[str]]:
        return [body["input"] for _, _, body in self.requests]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.requests.append((self.path, dict(self.headers), body))
            status, headers, content = state.answer(body)
            raw = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield state
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("operators.embedding.openai.FIRST_WAIT_S", 0.01)


def connect(server: Server, options: str = "") -> OpenAIEmbedder:
    embedder = load_openai(f"tiny@{server.url}{options}")
    server.requests.clear()
    return embedder


def expected(texts: list[str], dimensions: int = 8) -> Any:
    rows = np.array([vector_of(text, dimensions) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_a_probe_tells_the_dimensions(server: Server) -> None:
    server.dimensions = 5
    embedder = load_embedder(f"openai:tiny@{server.url}/")
    assert embedder.dimensions == 5
    assert embedder.model == f"openai:tiny@{server.url}"
    path, _, body = server.requests[0]
    assert path == "/v1/embeddings"
    assert body == {"model": "tiny", "input": ["probe"], "encoding_format": "float"}


def test_vectors_come_in_the_order_of_the_texts_in_batches(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("operators.embedding.openai.BATCH", 3)
    embedder = connect(server)
    texts = [f"text {number}" for number in range(8)]
    vectors = embedder.embed_documents(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected(texts), atol=1e-6)
    assert [len(texts) for texts in server.inputs()] == [3, 3, 2]
    assert embedder.embed_documents([]).shape == (0, 8)


def test_prefixes_are_sent_and_a_question_only_once(server: Server) -> None:
    embedder = connect(server, "#query_prefix=query:%20&document_prefix=passage:%20")
    embedder.embed_documents(["a"])
    question = embedder.embed_queries(["a"])
    assert embedder.embed_queries(["a"]).tobytes() == question.tobytes()
    assert server.inputs() == [["passage: a"], ["query: a"]]


def test_the_name_has_the_options_so_that_it_loads_the_same_model(server: Server) -> None:
    for options in ("#query_prefix=query:%20", "#max_tokens=99&document_prefix=a%26b%23%20"):
        embedder = connect(server, options)
        assert embedder.model.endswith(options)
        assert load_embedder(embedder.model).space == embedder.space


def test_the_key_travels_in_the_header_and_nowhere_else(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret\n")
    embedder = connect(server)
    server.faults = [
        (401, {}, {"error": {"message": "Incorrect API key provided: sk-secret"}}),
        (400, {}, {"error": {"message": "no such model\nfor sk-secret"}}),
    ]
    for message in ("the key is refused: set OPENAI_API_KEY", r"no such model for \*\*\*"):
        with pytest.raises(EmbeddingError, match=message) as caught:
            embedder.embed_documents(["a"])
        assert "sk-secret" not in str(caught.value)
    assert all(headers["Authorization"] == "Bearer sk-secret" for _, headers, _ in server.requests)
    assert "sk-secret" not in caplog.text
    assert "sk-secret" not in repr(embedder)


@pytest.mark.parametrize("status", [429, 503])
def test_what_may_pass_is_tried_again(server: Server, status: int) -> None:
    embedder = connect(server)
    server.faults = [(status, {}, b"busy")] * 3
    np.testing.assert_allclose(embedder.embed_documents(["a"]), expected(["a"]), atol=1e-6)
    assert len(server.requests) == 4


def test_retry_after_is_obeyed(server: Server) -> None:
    embedder = connect(server)
    server.faults = [(429, {"Retry-After": "0.4"}, {})]
    start = time.monotonic()
    embedder.embed_documents(["a"])
    assert time.monotonic() - start > 0.35


def test_it_gives_up_in_the_end_and_says_why(server: Server) -> None:
    embedder = connect(server)
    server.faults = [(503, {}, {"error": {"message": "loading"}})] * 9
    with pytest.raises(EmbeddingError, match=r"127\.0\.0\.1:\d+: HTTP 503: loading, 6 times"):
        embedder.embed_documents(["a"])
    assert len(server.requests) == 6


@pytest.mark.parametrize("status", [400, 404, 307])
def test_a_refusal_is_not_repeated(server: Server, status: int) -> None:
    embedder = connect(server)
    server.faults = [(status, {"Location": "http://elsewhere.invalid/"}, b"<html>")]
    with pytest.raises(EmbeddingError, match=f"HTTP {status}"):
        embedder.embed_documents(["a"])
    assert len(server.requests) == 1


def drop_one(data: dict[str, Any]) -> dict[str, Any]:
    return data | {"data": data["data"][1:]}


def double_one(data: dict[str, Any]) -> dict[str, Any]:
    return data | {"data": [*data["data"][1:], data["data"][-1]]}


def make_nan(data: dict[str, Any]) -> dict[str, Any]:
    data["data"][0]["embedding"][2] = float("nan")
    return data


@pytest.mark.parametrize(
    ("bend", "message"),
    [
        (drop_one, "2 vectors for 3 texts"),
        (double_one, "3 vectors for 3 texts"),
        (make_nan, "no usable vector"),
        (lambda _: b"<html>", "does not speak"),
    ],
)
def test_a_wrong_answer_is_an_error(server: Server, bend: Any, message: str) -> None:
    embedder = connect(server)
    server.bend = bend
    with pytest.raises(EmbeddingError, match=message):
        embedder.embed_documents(["a", "b", "c"])


def test_no_server_is_one_line_and_soon(server: Server) -> None:
    with pytest.raises(EmbeddingError, match=r"no answer \(ConnectError\), 3 times") as caught:
        load_openai("tiny@http://127.0.0.1:9")
    assert "\n" not in str(caught.value)


def test_a_text_that_the_endpoint_might_cut_is_refused(server: Server) -> None:
    embedder = connect(server, "#max_tokens=10")
    assert embedder.count_tokens(["", "abc", "é" * 3, "x" * 31]) == [0, 1, 2, 11]
    with pytest.raises(TextTooLong, match="text 1 has about 11 tokens"):
        embedder.embed_documents(["x" * 30, "x" * 31])
    assert server.requests == []


def test_of_a_long_question_the_beginning_is_sent(server: Server) -> None:
    embedder = connect(server, "#max_tokens=10")
    vectors = embedder.embed_queries(["aaaa " * 6 + "bbbb " * 6, "é" * 9000, "", "\ud800"])
    assert np.isfinite(vectors).all()
    assert server.inputs() == [["aaaa " * 6, "é" * 15, " ", "\ufffd"]]


def test_model_address_and_prefixes_name_the_space(server: Server) -> None:
    spaces = {connect(server, options).space for options in ("", "#query_prefix=q")}
    spaces.add(load_openai(f"other@{server.url}").space)
    server.dimensions = 9
    spaces.add(connect(server).space)
    assert len(spaces) == 4


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("text-embedding-3-small", "does not say where"),
        ("@http://host", "does not say where"),
        ("m@http://user:pw@host/v1", "OPENAI_API_KEY"),
        ("m@http://host/v1?key=pw", "OPENAI_API_KEY"),
        ("m@http://host#max_token=3", "unknown option 'max_token'"),
    ],
)
def test_a_wrong_name_is_explained_without_its_secrets(name: str, message: str) -> None:
    with pytest.raises(EmbeddingError, match=message) as caught:
        parse_name(name)
    assert "pw" not in str(caught.value)


def test_a_key_with_control_characters_is_refused(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a\nb")
    with pytest.raises(EmbeddingError, match="OPENAI_API_KEY") as caught:
        load_openai(f"tiny@{server.url}")
    assert "sk-a" not in str(caught.value)
