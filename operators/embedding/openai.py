"""Any endpoint with the OpenAI embeddings protocol: your own server, or a provider.

Texts are sent only to the address in the name: ``openai:MODEL@URL``. The key comes from
``OPENAI_API_KEY`` and is sent only in the request's header.
"""

import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import httpx2
import numpy as np

from operators.embedding.cache import QueryCache
from operators.embedding.protocol import (
    EmbeddingError,
    TextTooLong,
    Vectors,
    readable,
    space_fingerprint,
    unit,
)
from operators.foundation.certificates import untrusted

KEY_VARIABLE = "OPENAI_API_KEY"

BATCH = 64
"""Texts a request."""

FIRST_WAIT_S = 0.5
"""Seconds before the first retry; doubled each time."""

_TIMEOUT_S = 60.0
_RETRIED = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_ATTEMPTS = 6
_LONGEST_WAIT_S = 60.0
_BYTES_A_TOKEN = 3  # safe: English and code have 3.5 to 4.5
_FORM = "openai:MODEL@URL, for example openai:nomic-embed-text@http://localhost:11434/v1"


@dataclass(frozen=True)
class Endpoint:
    """The parts of a name ``openai:MODEL@URL#options``."""

    model: str
    url: str
    max_tokens: int = 512
    query_prefix: str = ""
    document_prefix: str = ""


@dataclass(frozen=True)
class OpenAIEmbedder:
    """A remote model; an :class:`operators.embedding.protocol.Embedder`.

    The endpoint's tokenizer is unknown: ``_BYTES_A_TOKEN`` bytes of UTF-8 count as a token.
    """

    model: str
    space: str
    dimensions: int
    max_tokens: int
    endpoint: Endpoint
    _client: httpx2.Client
    _cache: QueryCache = field(default_factory=QueryCache)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Estimate each text's tokens; the estimate tends to be too high."""
        return [_tokens(text) for text in readable(texts)]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed n texts into (n, dimensions).

        Raises:
            TextTooLong: a text is over ``max_tokens`` by :meth:`count_tokens`; many endpoints
                would cut it silently.
            EmbeddingError: the endpoint refuses, replies incorrectly, or all retries fail.
        """
        for row, count in enumerate(self.count_tokens(texts)):
            if count > self.max_tokens:
                raise TextTooLong(
                    f"text {row} has about {count} tokens, {self.model!r} takes {self.max_tokens}:"
                    " split it into smaller chunks, or say #max_tokens=N after the address"
                )
        return self._embed(texts, self.endpoint.document_prefix)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed n queries into (n, dimensions), recent ones from the cache.

        Of a query over ``max_tokens`` only the beginning is embedded: queries usually begin with
        their subject.
        """
        return self._cache.vectors(texts, self._embed_questions, self.dimensions)

    def _embed_questions(self, texts: Sequence[str]) -> Vectors:
        size = self.max_tokens * _BYTES_A_TOKEN
        beginnings = [text.encode()[:size].decode(errors="ignore") for text in readable(texts)]
        return self._embed(beginnings, self.endpoint.query_prefix)

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        # An endpoint refuses an empty text.
        ready = [(prefix + text) or " " for text in readable(texts)]
        vectors = np.empty((len(ready), self.dimensions), np.float32)
        for start in range(0, len(ready), BATCH):
            batch = ready[start : start + BATCH]
            part = _request(self._client, self.endpoint, batch)
            if part.shape[1] != self.dimensions:
                raise EmbeddingError(
                    f"{self.model!r} gave {part.shape[1]} dimensions, {self.dimensions} before"
                )
            vectors[start : start + len(batch)] = part
        return unit(vectors, self.model)


def load_openai(name: str) -> OpenAIEmbedder:
    """A model behind an endpoint; a probe text gives its dimensions, the environment its key.

    Args:
        name: ``MODEL@URL``, the URL up to and without ``/embeddings``. After a ``#`` it may have
            ``max_tokens``, ``query_prefix`` and ``document_prefix`` as in a query string:
            ``intfloat/e5-base@http://localhost:8080/v1#query_prefix=query:%20&max_tokens=512``.

    Raises:
        EmbeddingError: the name is wrong, or the endpoint's reply is invalid.
    """
    endpoint = parse_name(name)
    token = os.environ.get(KEY_VARIABLE, "").strip()
    if not (token.isascii() and token.isprintable()):
        raise EmbeddingError(f"{KEY_VARIABLE} holds characters that no key has")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    client = httpx2.Client(headers=headers, timeout=_TIMEOUT_S)
    try:
        # Fewer attempts, because the usual cause is a server that is not running.
        probe = _request(client, endpoint, [endpoint.document_prefix + "probe"], attempts=3)
    except BaseException:
        client.close()
        raise
    decisive = {**asdict(endpoint), "dimensions": probe.shape[1]}
    del decisive["max_tokens"]
    return OpenAIEmbedder(
        model=full_name(endpoint),
        space=space_fingerprint(decisive),
        dimensions=probe.shape[1],
        max_tokens=max(1, endpoint.max_tokens - _tokens(endpoint.document_prefix)),
        endpoint=endpoint,
        _client=client,
    )


def parse_name(name: str) -> Endpoint:
    """The endpoint of a name ``MODEL@URL#options``.

    >>> parse_name("bge-m3@http://localhost:8080/v1/").url
    'http://localhost:8080/v1'
    """
    address, _, options = name.partition("#")
    match = re.fullmatch(r"(.+)@(https?://.+)", address)
    parts = urlsplit(match[2] if match else "")
    if not match or not parts.hostname:
        raise EmbeddingError(f"openai:{address.split('@')[0]} does not say where: {_FORM}")
    if parts.username or parts.password or parts.query:
        raise EmbeddingError(f"the address holds a secret: put the key into {KEY_VARIABLE}")
    values: dict[str, Any] = dict(parse_qsl(options, keep_blank_values=True))
    known = {"max_tokens", "query_prefix", "document_prefix"}
    if unknown := sorted(set(values) - known):
        raise EmbeddingError(f"unknown option {unknown[0]!r}; known: {', '.join(sorted(known))}")
    length = values.get("max_tokens", "512")
    if not length.isdecimal() or int(length) < 1:
        raise EmbeddingError(f"max_tokens must be a positive number, not {length!r}")
    return Endpoint(match[1], match[2].rstrip("/"), **{**values, "max_tokens": int(length)})


def full_name(endpoint: Endpoint) -> str:
    """The name of a model as a user writes it, with its options.

    >>> full_name(parse_name("e5@http://localhost:8080/v1/#query_prefix=query:%20&max_tokens=512"))
    'openai:e5@http://localhost:8080/v1#query_prefix=query:%20'
    """
    plain = asdict(Endpoint(endpoint.model, endpoint.url))
    options = {name: value for name, value in asdict(endpoint).items() if value != plain[name]}
    query = urlencode(options, quote_via=quote, safe=":")
    return f"openai:{endpoint.model}@{endpoint.url}" + (f"#{query}" if query else "")


def _tokens(text: str) -> int:
    return -(-len(text.encode()) // _BYTES_A_TOKEN)


def _request(
    client: httpx2.Client, endpoint: Endpoint, texts: Sequence[str], attempts: int = _ATTEMPTS
) -> Vectors:
    """The vectors of a few texts; retries a request that may succeed later."""
    body = {"model": endpoint.model, "input": list(texts), "encoding_format": "float"}
    where = urlsplit(endpoint.url).netloc
    problem = ""
    for attempt in range(attempts):
        retry_after = 0.0
        try:
            response = client.post(f"{endpoint.url}/embeddings", json=body)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            if reason := untrusted(error):
                raise EmbeddingError(f"the embedding endpoint {where}: {reason}") from None
            problem = f"no answer ({type(error).__name__})"
        else:
            if response.is_success:
                return _vectors(response, len(texts), where)
            problem = _refusal(response)
            if response.status_code not in _RETRIED:
                raise EmbeddingError(f"the embedding endpoint {where}: {problem}")
            retry_after = _retry_after(response.headers.get("Retry-After"))
        if attempt < attempts - 1:
            time.sleep(min(max(FIRST_WAIT_S * 2**attempt, retry_after), _LONGEST_WAIT_S))
    raise EmbeddingError(f"the embedding endpoint {where}: {problem}, {attempts} times")


def _retry_after(header: str | None) -> float:
    """Seconds to wait; 0 if the header has no number."""
    with suppress(ValueError):
        return max(0.0, float(header or 0))
    return 0.0


def _refusal(response: httpx2.Response) -> str:
    if response.status_code in {401, 403}:  # such a reply may quote the key
        return f"HTTP {response.status_code}, the key is refused: set {KEY_VARIABLE}"
    try:
        reply: Any = response.json()
        reply = reply.get("error", reply)
        reply = reply.get("message", "") if isinstance(reply, dict) else reply
    except (ValueError, AttributeError):
        reply = ""
    key = response.request.headers.get("Authorization", "").removeprefix("Bearer ")
    text = " ".join(str(reply).split())[:200]
    if key:
        text = text.replace(key, "***")
    return f"HTTP {response.status_code}" + (f": {text}" if text else "")


def _vectors(response: httpx2.Response, wanted: int, where: str) -> Vectors:
    """The vectors in the order of their ``index``; each must occur once."""
    try:
        rows = response.json()["data"]
        by_index = {int(row["index"]): row["embedding"] for row in rows}
        if len(rows) != wanted or sorted(by_index) != list(range(wanted)):
            raise EmbeddingError(
                f"the embedding endpoint {where} gave {len(rows)} vectors for {wanted} texts"
            )
        vectors = np.array([by_index[row] for row in range(wanted)], np.float32)
    except (ValueError, KeyError, TypeError) as error:
        raise EmbeddingError(
            f"the embedding endpoint {where} does not speak the OpenAI protocol"
        ) from error
    if vectors.ndim != 2 or vectors.shape[1] == 0:
        raise EmbeddingError(f"the embedding endpoint {where} gave no vectors")
    return vectors
