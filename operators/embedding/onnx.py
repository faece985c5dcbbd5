"""Any encoder in ONNX, from a directory of three files, on ONNX Runtime.

``model.onnx``, ``tokenizer.json`` (Hugging Face format) and ``crosscorpus.json``, for example::

    {"name": "bge-small", "pooling": "cls", "max_tokens": 512, "dimensions": 384,
     "query_prefix": "Represent this sentence for searching relevant passages: "}

The same text gets the same bits in every call (on a GPU almost the same: its sums depend on the
batch). So the padding of a text depends only on its own length. Texts share a batch only if the
settings say that the graph's rows are independent (``batch_tokens``): the runtime may sum a batch
of one and of two in another order. For long queries, see
:meth:`DirectoryEmbedder.embed_queries`.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from operators.embedding.cache import QueryCache
from operators.embedding.protocol import (
    EmbeddingError,
    ModelNotInstalled,
    TextTooLong,
    Vectors,
    file_sha256,
    readable,
    space_fingerprint,
    unit,
)
from operators.embedding.word_pieces import AT_ONCE, WordPieces, read_tokenizer
from operators.errors import CrosscorpusError

SETTINGS_FILE = "crosscorpus.json"
QUERY_WINDOW = 128
"""Window of a long query in word-pieces. Twice as many give lower recall (benchmarks)."""

MAX_QUERY_WINDOWS = 16
PAD_MULTIPLE = 8
CPU_SHARE = Path("/sys/fs/cgroup/cpu.max")
"""CPU microseconds in a container's period, and the period: more threads would only wait."""


class ModelSettings(BaseModel):
    """The contents of ``crosscorpus.json``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = ""
    """The name of the model; empty: the directory's name."""
    pooling: Literal["mean", "cls"]
    """How token vectors are pooled."""
    normalise: Literal[True] = True
    """Vectors are scaled to length 1; settings that are installed say it."""
    query_prefix: str = ""
    document_prefix: str = ""
    max_tokens: int = Field(ge=8)
    """The model's window in word-pieces, with its markers ([CLS], [SEP]) and a prefix."""
    dimensions: int = Field(ge=1)
    graph_dimensions: int = Field(default=0, ge=0)
    """The graph's dimensions; the first ``dimensions`` are kept, for a model trained for this
    (Kusupati et al., Matryoshka, NeurIPS 2022); 0: the graph outputs ``dimensions``."""
    batch_tokens: int = Field(default=0, ge=0)
    """Word-pieces run at once; 0: one text at a time. Only for a graph with independent rows."""
    origin: str = ""
    """The origin of the weights, for people."""
    files: dict[str, str] = Field(default_factory=dict)
    """SHA-256 by file name; a file that differs is an error."""
    same_as: str = ""
    """SHA-256 of another ``model.onnx`` with the same vectors: the two are one vector space."""


@dataclass(frozen=True)
class DirectoryEmbedder(WordPieces):
    """A loaded model directory; an :class:`operators.embedding.protocol.Embedder`."""

    model: str
    space: str
    dimensions: int
    max_tokens: int
    settings: ModelSettings
    _session: Any
    _tokenizer: Any
    _markers: tuple[list[int], list[int]]
    _padding: int
    _cache: QueryCache = field(default_factory=QueryCache)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed n texts into (n, dimensions).

        Raises:
            TextTooLong: a text, with the prefix, does not fit the window.
        """
        prefix, room = self.settings.document_prefix, self._room()
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), AT_ONCE):
            pieces = self._pieces(texts[start : start + AT_ONCE], prefix)
            for offset, ids in enumerate(pieces):
                if len(ids) > room:
                    raise TextTooLong(
                        f"text {start + offset} has {len(ids)} word-pieces, the model"
                        f" {self.model!r} takes {room}: split it into smaller chunks"
                    )
            vectors[start : start + len(pieces)] = self._embed(pieces)
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed n queries into (n, dimensions), recent ones from the cache.

        A query of more than ``QUERY_WINDOW`` word-pieces is split into windows of that length, of
        which the first ``MAX_QUERY_WINDOWS`` count. Its vector is their weighted mean, scaled to
        length 1 again. A window's weight is its length over the square of its position from 1,
        because queries usually begin with their subject.
        """
        return self._cache.vectors(texts, self._embed_questions, self.dimensions)

    def _embed_questions(self, texts: Sequence[str]) -> Vectors:
        prefix = self.settings.query_prefix
        (start,) = self._pieces([prefix], "")
        size = min(QUERY_WINDOW, self._room() - len(start))
        split: list[list[list[int]]] = []
        for text, ids in zip(texts, self._pieces(texts, prefix), strict=True):
            if len(ids) <= len(start) + size:
                split.append([ids])
                continue
            (content,) = self._pieces([text], "")
            begins = range(0, min(len(content), MAX_QUERY_WINDOWS * size), size)
            split.append([start + content[begin : begin + size] for begin in begins])
        vectors = self._embed(list(chain.from_iterable(split)))
        if len(vectors) == len(texts):
            return vectors
        ends = np.cumsum([len(windows) for windows in split])
        parts = np.split(vectors, ends[:-1])
        long = [row for row, windows in enumerate(split) if len(windows) > 1]
        per_text = np.stack([part[0] for part in parts])
        means = np.stack([_mean(split[row], parts[row]) for row in long])
        per_text[long] = unit(means, self.model)
        return per_text

    def _room(self) -> int:
        return self.settings.max_tokens - sum(map(len, self._markers))

    def _pieces(self, texts: Sequence[str], prefix: str) -> list[list[int]]:
        prefixed = [prefix + text for text in readable(texts)]
        return [encoding.ids for encoding in self._encodings(prefixed)]

    def _embed(self, pieces: Sequence[list[int]]) -> Vectors:
        vectors = np.empty((len(pieces), self.dimensions), np.float32)

        def fill(rows: list[int]) -> None:
            vectors[rows] = self._run([pieces[row] for row in rows])

        batches = list(self._batches(pieces))
        if len(batches) <= MAX_QUERY_WINDOWS:
            for rows in batches:
                fill(rows)
        else:  # other batches run while the threads of one batch wait
            with ThreadPoolExecutor(cores()) as several:
                list(several.map(fill, batches))
        return unit(vectors, self.model)

    def _batches(self, pieces: Sequence[list[int]]) -> Iterator[list[int]]:
        """Rows that run together: of one padded length, as many as ``batch_tokens`` allows."""
        lengths = [_padded(len(ids) + sum(map(len, self._markers))) for ids in pieces]
        order = sorted(range(len(pieces)), key=lambda row: (lengths[row], row))
        for length, group in groupby(order, key=lambda row: lengths[row]):
            rows = list(group)
            size = max(1, self.settings.batch_tokens // length)
            yield from (rows[start : start + size] for start in range(0, len(rows), size))

    def _run(self, pieces: Sequence[list[int]]) -> Vectors:
        first, last = self._markers
        sequences = [[*first, *ids, *last] or [self._padding] for ids in pieces]
        # Padding must end with the window: the model has no positions beyond it.
        width = min(_padded(len(sequences[0])), self.settings.max_tokens)
        ids = np.full((len(sequences), width), self._padding, np.int64)
        mask = np.zeros_like(ids)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = {tensor.name for tensor in self._session.get_inputs()}
        outputs = [str(tensor.name) for tensor in self._session.get_outputs()]
        output = "last_hidden_state" if "last_hidden_state" in outputs else outputs[0]
        try:
            (states,) = self._session.run([output], {k: v for k, v in feed.items() if k in wanted})
        except Exception as error:  # the runtime's exceptions share no base
            raise EmbeddingError(
                f"the model {self.model!r} failed on {width} word-pieces; is its max_tokens right?"
                f" {str(error).splitlines()[0][:200]}"
            ) from error
        pooled = self._pool(states, [len(sequence) for sequence in sequences])
        whole = pooled.shape[1:] == (self.settings.graph_dimensions,)
        return np.ascontiguousarray(pooled[:, : self.dimensions]) if whole else pooled

    def _pool(self, states: npt.NDArray[Any], counts: Sequence[int]) -> Vectors:
        if self.settings.pooling == "cls":
            return states[:, 0].astype(np.float32)
        rows = zip(states, counts, strict=True)
        return np.stack([row[:count].mean(axis=0, dtype=np.float32) for row, count in rows])


def load_directory(directory: Path, *, model: str | None = None) -> DirectoryEmbedder:
    """Load ``model.onnx``, ``tokenizer.json`` and ``crosscorpus.json`` from a directory.

    The name of the vector space depends on the hashes of weights and tokenizer, the pooling, the
    prefixes and the window.

    Args:
        directory: has the three files; any other ``model.onnx*`` there counts as weights too.
        model: the name to show; default: ``onnx:`` and the settings' name.

    Raises:
        ModelNotInstalled: a file is missing, or differs from the hash in the settings.
        EmbeddingError: the settings are wrong, or do not fit the graph.
    """
    settings = read_settings(directory)
    hashes = check_files(directory, settings)
    tokenizer, padding = read_tokenizer(directory / "tokenizer.json")
    session = _shared_session(directory / "model.onnx", (*hashes.values(), device(), cores()))
    name = model or f"onnx:{settings.name or directory.name}"
    markers = _markers(tokenizer)
    reserved = len(tokenizer.encode(settings.document_prefix, add_special_tokens=False))
    reserved += reserved > 0  # at the seam a tokenizer may split otherwise
    weights = {n: h for n, h in hashes.items() if n.startswith(("model.onnx", "tokenizer.json"))}
    weights["model.onnx"] = settings.same_as or weights["model.onnx"]
    parts = settings.model_dump(
        include={"pooling", "normalise", "query_prefix", "document_prefix", "max_tokens"}
    )
    if settings.graph_dimensions:
        parts["dimensions"] = settings.dimensions
    embedder = DirectoryEmbedder(
        model=name,
        space=space_fingerprint(parts | {"files": weights}),
        dimensions=settings.dimensions,
        max_tokens=settings.max_tokens - sum(map(len, markers)) - reserved,
        settings=settings,
        _session=session,
        _tokenizer=tokenizer,
        _markers=markers,
        _padding=padding,
    )
    _check_graph(embedder)
    return embedder


def read_settings(directory: Path) -> ModelSettings:
    """Read and check ``crosscorpus.json``."""
    path = directory / SETTINGS_FILE
    if not directory.is_dir():
        raise ModelNotInstalled(f"there is no model directory {str(directory)!r}")
    try:
        return ModelSettings.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise ModelNotInstalled(
            f"{str(directory)!r} has no {SETTINGS_FILE}; it says, for example:"
            ' {"pooling": "mean", "max_tokens": 512, "dimensions": 384}'
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise EmbeddingError(f"{str(path)!r}: {where}: {first['msg']}") from error


def check_files(directory: Path, settings: ModelSettings) -> dict[str, str]:
    """The hashes of the model's files, compared with those of the settings.

    Returns:
        SHA-256 by file name, of ``tokenizer.json`` and every ``model.onnx*``.

    Raises:
        ModelNotInstalled: a file is missing or differs.
    """
    weights = sorted(path.name for path in directory.glob("model.onnx*"))
    hashes = {}
    for name in dict.fromkeys(["model.onnx", "tokenizer.json", *weights, *settings.files]):
        if not (directory / name).is_file():
            raise ModelNotInstalled(f"{str(directory)!r} has no {name}")
        hashes[name] = file_sha256(directory / name)
        if hashes[name] != settings.files.get(name, hashes[name]):
            raise ModelNotInstalled(f"{str(directory / name)!r} is damaged: its hash is wrong")
    return hashes


def device() -> str:
    """The device, from ``CROSSCORPUS_DEVICE``: ``cpu`` or ``cuda``."""
    return os.environ.get("CROSSCORPUS_DEVICE", "").strip().lower() or "cpu"


def cores() -> int:
    """The number of processors that this process may use, limited by its container's share."""
    affinity = hasattr(os, "sched_getaffinity")
    count = len(os.sched_getaffinity(0)) if affinity else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # no such file, or "max"
        share, period = map(int, CPU_SHARE.read_text().split())
        count = max(1, min(count, -(-share // period)))
    return count


def _padded(length: int) -> int:
    return max(1, -(-length // PAD_MULTIPLE)) * PAD_MULTIPLE


def _mean(windows: list[list[int]], vectors: Vectors) -> Vectors:
    """The vector of a query, from those of its windows by their lengths and positions."""
    weights = [len(window) / position**2 for position, window in enumerate(windows, start=1)]
    mean: npt.NDArray[np.float64] = np.average(vectors, axis=0, weights=weights)
    return mean.astype(np.float32)


def _markers(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The ids of the model's markers before and after a text."""
    encoding = tokenizer.encode("a")
    own = [at for at, special in enumerate(encoding.special_tokens_mask) if not special]
    first, last = (own[0], own[-1] + 1) if own else (len(encoding.ids), len(encoding.ids))
    return encoding.ids[:first], encoding.ids[last:]


@lru_cache(maxsize=1)
def _shared_session(path: Path, _same: tuple[object, ...]) -> Any:
    """The graph at ``path``, shared by the drivers of a process; ``_same`` changes with it."""
    return open_session(path)


def open_session(path: Path) -> Any:
    """The graph at ``path``, loaded to run on this machine's cores.

    ``CROSSCORPUS_DEVICE=cuda`` has it run on a GPU.

    Raises:
        EmbeddingError: the file is no graph that the runtime takes.
        CrosscorpusError: the device is not available.
    """
    # Else the import (1.31.1) writes an id of the machine into ~/.cache, for reports to Microsoft.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    provider, there = f"{device().upper()}ExecutionProvider", onnxruntime.get_available_providers()
    if provider not in there:
        raise CrosscorpusError(
            f"no device {device()!r}: this ONNX Runtime has {', '.join(there)}; for an NVIDIA GPU:"
            " pip install 'crosscorpus[gpu]', then, because two packages write the same files,"
            " pip install --force-reinstall --no-deps onnxruntime-gpu"
        )
    if device() == "cuda":
        with redirect_stdout(sys.stderr):
            onnxruntime.preload_dlls()  # the extra's libraries, which the loader does not search
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = cores()
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Threads that spin between operators occupy the cores that the database needs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=[provider])
    except Exception as error:  # the runtime's exceptions share no base
        reason = str(error).splitlines()[0][:200]
        raise EmbeddingError(f"cannot load {str(path)!r}: {reason}") from error
    if provider not in session.get_providers():
        raise CrosscorpusError(
            f"device {device()!r} does not start, and ONNX Runtime would use the processor: it"
            " needs a GPU, its driver, and the libraries that 'crosscorpus[gpu]' brings"
        )
    return session


def _check_graph(embedder: DirectoryEmbedder) -> None:
    inputs = {tensor.name for tensor in embedder._session.get_inputs()}
    if not {"input_ids"} <= inputs <= {"input_ids", "attention_mask", "token_type_ids"}:
        raise EmbeddingError(f"{embedder.model!r} wants inputs {sorted(inputs)}, not token ids")
    states = embedder._run([[]])
    if states.shape[1:] != (embedder.dimensions,):
        raise EmbeddingError(
            f"{embedder.model!r} gives vectors of shape {states.shape[1:]}, its settings say"
            f" {embedder.dimensions} dimensions and pooling {embedder.settings.pooling!r}"
        )
