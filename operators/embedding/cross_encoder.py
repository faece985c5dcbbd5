"""A reranker: a model that scores a query and a passage together, from a directory or your own.

A directory has ``model.onnx`` (a cross-encoder with one score a pair) and ``tokenizer.json``, in
the form that Hugging Face's exporters write. A pair runs alone, so that its score does not depend
on the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from operators.embedding.hub_models import installed_reranker
from operators.embedding.onnx import open_session
from operators.embedding.protocol import EmbeddingError, ModelNotInstalled, readable
from operators.embedding.registry import own_model
from operators.embedding.word_pieces import read_tokenizer
from operators.ranking.rerank import Reranker

MAX_TOKENS = 512
"""Maximum word-pieces of query and passage together; a longer passage is truncated."""


@dataclass(frozen=True)
class CrossEncoder:
    """A loaded directory; takes pairs of a question and a passage, returns a score a pair."""

    name: str
    _session: Any
    _tokenizer: Any

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The scores of ``pairs``, higher is better.

        Raises:
            EmbeddingError: the model fails, or returns more than one number a pair.
        """
        return [self._score(*readable(pair)) for pair in pairs]

    def _score(self, question: str, passage: str) -> float:
        encoding = self._tokenizer.encode(question, passage)
        known = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        wanted = [tensor.name for tensor in self._session.get_inputs()]
        try:
            feed = {name: np.array([known[name]], np.int64) for name in wanted}
            scores = self._session.run(None, feed)[0]
        except Exception as error:  # the runtime's exceptions share no base
            reason = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
            raise EmbeddingError(f"the reranker {self.name!r} failed: {reason}") from error
        if scores.size != 1:
            shape = scores.shape[1:]
            raise EmbeddingError(f"{self.name!r} gives {shape} a pair; a reranker gives one number")
        return float(scores.item())


@cache
def load_reranker(name: str) -> Reranker:
    """Load a reranker by its name.

    Args:
        name: ``onnx:DIR``, ``hf:ORG/NAME`` (installed by ``crosscorpus models install hf:ORG/NAME
            --reranker``) or ``python:MODULE:FUNCTION`` (a function of your own without arguments
            that returns the reranker).

    Raises:
        ModelNotInstalled: a file is missing.
        EmbeddingError: the model does not load, or your own object cannot be called.
        UnknownName: no such reranker.
    """
    kind, _, rest = name.partition(":")
    if kind == "onnx" and rest:
        return read_reranker(Path(rest).expanduser(), name)
    if kind == "hf" and rest:
        directory, record = installed_reranker(name)
        return read_reranker(directory, name, record.max_tokens)
    reranker: Reranker = own_model("rerankers", name)
    if not callable(reranker):
        raise EmbeddingError(
            f"{name}: its {type(reranker).__name__} cannot be called with pairs (question, passage)"
        )
    return reranker


def read_reranker(directory: Path, name: str, max_tokens: int = MAX_TOKENS) -> CrossEncoder:
    """Load a directory with ``model.onnx`` and ``tokenizer.json``.

    Raises:
        ModelNotInstalled: a file is missing.
        EmbeddingError: the model does not load.
    """
    for file in ("model.onnx", "tokenizer.json"):
        if not (directory / file).is_file():
            raise ModelNotInstalled(f"{str(directory)!r} has no {file}")
    tokenizer, _ = read_tokenizer(directory / "tokenizer.json")
    tokenizer.enable_truncation(max_tokens, strategy="only_second")
    return CrossEncoder(name, open_session(directory / "model.onnx"), tokenizer)
