"""A model of a hub, installed once into the data directory: ``models install hf:ORG/NAME``.

For a BERT-like encoder it makes an integer graph from the published weights, and compares the
vectors with those of a plain encoder. For others it uses the repository's ONNX file unchanged. The
directory gets its final name only when it is complete.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from crosscorpus.model_builds.bert_to_onnx import Arithmetic, encoder_graph
from crosscorpus.model_builds.encoder_weights import Encoder, read_encoder, shards, why_not
from crosscorpus.model_builds.hub import PICKLES, Published, fetch, look_up
from crosscorpus.model_builds.install_minilm import Say, locked
from crosscorpus.model_builds.integer_model import (
    Parts,
    build_in_integers,
    converted,
    that_fit,
    write_settings,
)
from crosscorpus.model_builds.reference import hidden_states, score
from crosscorpus.model_builds.repository_json import ModelConfig
from crosscorpus.model_builds.sentence_transformer import (
    Description,
    describe,
    longest_of_tokenizer,
    positions,
    read_config,
    settings_files,
)
from operators.embedding.cross_encoder import MAX_TOKENS, read_reranker
from operators.embedding.hub_models import (
    RECORD_FILE,
    HubRecord,
    Kind,
    check_record,
    hub_directory,
    is_of,
    read_record,
    split_name,
)
from operators.embedding.onnx import ModelSettings, load_directory, open_session
from operators.embedding.protocol import (
    EmbeddingError,
    ModelNotInstalled,
    Vectors,
    file_sha256,
    unit,
)
from operators.embedding.static import load_model2vec
from operators.embedding.word_pieces import read_tokenizer
from operators.errors import CrosscorpusError
from operators.foundation.escape import label_text

TEXTS = (
    "why is the cache flushed twice?",
    "def flush(self) -> None:\n    self._dirty = False  # nothing left to write",
    "The wallet refuses to sign when the fee rate is above the maximum.",
    "Die Warteschlange wird geleert, bevor der Dienst endet.",
    "Bake the apples for half an hour. " * 4,
)
"""The texts on which a converted model is compared."""

LEAST_COSINE = 0.98
"""Minimum cosine of integers to fp32 on each of ``TEXTS``; below it the graph stays in fp32."""

_LARGEST_ID = 2**24
"""The maximum id of a word-piece; the library spends time and memory on each unused id below."""

LEAST_WINDOW = 8
"""Minimum word-pieces that a model takes."""

_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_GRAPHS = ("onnx/model.onnx", "model.onnx")
_TWO_GIGABYTES = 2_000_000_000
"""The maximum size of one ONNX file."""


@dataclass(frozen=True)
class Options:
    """A user's options for a model, which override its own files; None: use the files."""

    pooling: Literal["mean", "cls"] | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    dimensions: int | None = None

    def said(self) -> dict[str, str | int]:
        """The options that are set."""
        return {name: value for name, value in vars(self).items() if value is not None}


_NO_OPTIONS = Options()


def install_hub(
    name: str,
    *,
    reranker: bool = False,
    options: Options = _NO_OPTIONS,
    home: Path | None = None,
    say: Say = lambda _: None,
) -> Path:
    """Install ``hf:ORG/NAME[@REVISION]`` unless it is there and complete; repair it if damaged.

    Args:
        name: without a revision, an installed model stays, even if the hub has a newer one.
        reranker: it is a cross-encoder.
        options: values that the repository's files lack, or that replace theirs.
        home: the data directory; default: :func:`operators.foundation.data_dir.data_home`.
        say: called with one line of progress at a time.

    Returns:
        The model's directory.

    Raises:
        ModelNotInstalled: the repository cannot be downloaded.
        EmbeddingError: it has no model that this program supports; says why.
    """
    repository, revision = split_name(name)
    directory = hub_directory(repository, reranker=reranker, home=home)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with locked(directory.parent.parent.parent / ".lock", say):
            record = _complete(directory)
            as_asked = record is not None and options.said() in ({}, record.options)
            if record and as_asked and is_of(record, revision):
                say(f"hf:{repository} is installed at {record.revision[:12]} in {directory}")
                return directory
            for left_over in directory.parent.glob(".hub-*"):  # of an interrupted run
                shutil.rmtree(left_over, ignore_errors=True)
            published = look_up(repository, revision)
            with tempfile.TemporaryDirectory(prefix=".hub-", dir=directory.parent) as work:
                job = _Job(published, revision, options, Path(work), say)
                with _explained(f"the files of {job.name} do not fit together"):
                    built = _reranker(job) if reranker else _embedder(job)
                if directory.exists():
                    directory.rename(Path(work) / "before")
                built.rename(directory)
    except OSError as error:
        raise ModelNotInstalled(f"cannot write {str(directory)!r}: {error.strerror}") from error
    say(f"hf:{repository} is installed at {published.commit[:12]} in {directory}")
    return directory


@dataclass(frozen=True)
class _Job:
    published: Published
    asked: str
    options: Options
    work: Path
    say: Say

    @property
    def name(self) -> str:
        return f"hf:{self.published.repository}"


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Give an error of a library that reads files of anybody in one line."""
    try:
        yield
    except (CrosscorpusError, OSError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the library tokenizers is no Exception
        says = label_text(" ".join(str(error).split()))[:300]
        raise EmbeddingError(f"{what}: {type(error).__name__}: {says}") from error


def _complete(directory: Path) -> HubRecord | None:
    try:
        record = read_record(directory)
        check_record(directory, record)
    except EmbeddingError:
        return None
    return record


def _embedder(job: _Job) -> Path:
    files = fetch(job.published, settings_files(job.published.files))
    described = describe(files)
    if described.kind == "static":
        return _static(job, described, files)
    weights = next((n for n in _WEIGHTS if job.published.has(described.folder + n)), None)
    reason = "config.json is missing" if (own := described.config) is None else why_not(own)
    if weights and not reason:
        return _from_weights(job, described, files, described.folder + weights)
    graph = next((name for name in _GRAPHS if job.published.has(name)), None)
    if graph is None:
        raise EmbeddingError(_no_weights(job, reason))
    return _from_graph(job, described, files, graph)


def _from_weights(
    job: _Job, described: Description, files: Mapping[str, Path], weights: str
) -> Path:
    """The graph in integers, or in fp32 if integers differ too much from the reference."""
    folder = described.folder
    wanted = [weights, _tokenizer_name(job, folder)]
    fetched = _fetch_weights(job, weights, wanted[1])
    job.say("converting to ONNX, and checking")
    encoder = read_encoder(files[f"{folder}config.json"], fetched[weights])
    tokenizer = fetched[wanted[1]]
    settings = _settings(job, described, encoder.hidden, encoder.positions, tokenizer)
    parts = Parts(encoder, tokenizer, settings)
    built, made = build_in_integers(parts, job.work), "converted from safetensors, in integers"
    least = cosine_to_reference(built, parts)
    if least < LEAST_COSINE:
        if _is_large(encoder):
            raise EmbeddingError(
                f"cannot convert {job.name}: in integers its cosine is {least:.3f}"
            )
        job.say(f"in integers the cosine to the reference is {least:.3f}: it stays in fp32")
        built, made = converted(parts, job.work / "fp32", "fp32"), "converted from safetensors"
        least = cosine_to_reference(built, parts)
    if not least >= LEAST_COSINE:
        raise EmbeddingError(
            f"cannot convert {job.name}: its cosine to the reference is {least:.3f}"
        )
    job.say(f"the cosine to the reference is at least {least:.4f} on {len(TEXTS)} texts")
    return _recorded(job, built, "encoder", made, {**files, **fetched})


def _from_graph(job: _Job, described: Description, files: Mapping[str, Path], graph: str) -> Path:
    """The repository's own graph; there is nothing to compare it with."""
    tokenizer = _tokenizer_name(job, described.folder)
    fetched = _fetch(job, [*_graph_files(job, graph), tokenizer])
    built = _folder(job, fetched, graph, tokenizer)
    hidden = _dimensions(built / "model.onnx", described.config)
    most = positions(described.config)
    settings = _settings(job, described, hidden, most, built / "tokenizer.json")
    hashes = {path.name: file_sha256(path) for path in built.iterdir()}
    write_settings(built, settings.model_copy(update={"files": hashes}))
    model = load_directory(built)
    vectors = model.embed_documents(that_fit(model, TEXTS))
    if len(np.unique(vectors.round(4), axis=0)) < len(vectors):
        raise EmbeddingError(f"{graph} of {job.name} gives two texts one vector")
    return _recorded(job, built, "encoder", f"{graph} of the repository", {**files, **fetched})


def _static(job: _Job, described: Description, files: Mapping[str, Path]) -> Path:
    weights = f"{described.folder}model.safetensors"
    tokenizer = _tokenizer_name(job, described.folder)
    if job.options.said():
        raise EmbeddingError("a model of word vectors takes no options")
    fetched = _fetch(job, [weights, tokenizer])
    built = job.work / "static"
    built.mkdir()
    for name in (weights, tokenizer):
        shutil.copyfile(fetched[name], built / name.rpartition("/")[2])
    load_model2vec(built).embed_documents(TEXTS)
    made = "word vectors of the repository"
    return _recorded(job, built, "static", made, {**files, **fetched})


def _reranker(job: _Job) -> Path:
    if job.options.said():
        raise EmbeddingError("a reranker takes no options")
    files = fetch(job.published, settings_files(job.published.files))
    config = read_config(files)
    weights = next((name for name in _WEIGHTS if job.published.has(name)), None)
    graph = next((name for name in _GRAPHS if job.published.has(name)), None)
    reason = why_not(config, head=True) if config else "config.json is missing"
    if weights and not reason:
        return _reranker_from_weights(job, files, weights)
    if graph is None:
        raise EmbeddingError(_no_weights(job, reason))
    tokenizer = _tokenizer_name(job, "")
    fetched = _fetch(job, [*_graph_files(job, graph), tokenizer])
    built = _folder(job, fetched, graph, tokenizer)
    most = _room_for_pairs(files, positions(config))
    _scores(job, built, most)
    made = f"{graph} of the repository"
    return _recorded(job, built, "reranker", made, {**files, **fetched}, max_tokens=most)


def _reranker_from_weights(job: _Job, files: Mapping[str, Path], weights: str) -> Path:
    """The graph in integers that this machine multiplies correctly, or in fp32."""
    tokenizer = _tokenizer_name(job, "")
    fetched = _fetch_weights(job, weights, tokenizer)
    job.say("converting to ONNX, and checking")
    encoder = read_encoder(files["config.json"], fetched[weights], head=True)
    most = _room_for_pairs(files, encoder.positions)
    expected = _reference_scores(encoder, fetched[tokenizer], most)
    scores: dict[Arithmetic, list[float]] = {}
    kinds: tuple[Arithmetic, ...] = ("int8", "uint8", "fp32")
    for arithmetic in kinds[: 2 if _is_large(encoder) else 3]:
        built = job.work / arithmetic
        built.mkdir()
        (built / "model.onnx").write_bytes(encoder_graph(encoder, arithmetic))
        shutil.copyfile(fetched[tokenizer], built / "tokenizer.json")
        scores[arithmetic] = _scores(job, built, most)
        close = float(np.corrcoef(expected, scores[arithmetic])[0, 1])
        if arithmetic != "int8" and close >= LEAST_COSINE:
            break
    else:
        raise EmbeddingError(f"cannot convert {job.name}: its scores correlate {close:.3f} only")
    if arithmetic == "uint8" and scores["int8"] == scores["uint8"]:
        built = job.work / "int8"  # signed products do not overflow here, and are quicker
    job.say(f"the scores of {len(expected)} pairs correlate {close:.4f} with the reference")
    made = "converted from safetensors" + (", in integers" if arithmetic == "uint8" else "")
    return _recorded(job, built, "reranker", made, {**files, **fetched}, max_tokens=most)


def _is_large(encoder: Encoder) -> bool:
    """Whether the numbers of an encoder in fp32 are too many for one ONNX file."""
    return sum(each.nbytes for each in encoder.tensors.values()) > _TWO_GIGABYTES


def _room_for_pairs(files: Mapping[str, Path], most: int) -> int:
    sizes = [size for size in (longest_of_tokenizer(files), most) if size >= 1]
    room = int(min([MAX_TOKENS, *sizes]))
    if room < LEAST_WINDOW:
        raise EmbeddingError(f"its files say {room} word-pieces: {LEAST_WINDOW} are needed")
    return room


def _pairs() -> list[tuple[str, str]]:
    return [(question, text) for question in TEXTS for text in TEXTS]


def _scores(job: _Job, directory: Path, most: int) -> list[float]:
    """The scores of pairs of ``TEXTS``, each one number, not all the same; a long one fits too."""
    reranker = read_reranker(directory, job.name, most)
    scores = reranker(_pairs())
    reranker([(TEXTS[0], TEXTS[1] * 200)])
    if len({*scores}) == 1:
        raise EmbeddingError(f"{job.name} gives every passage one score")
    return scores


def _reference_scores(encoder: Encoder, tokenizer: Path, most: int) -> list[float]:
    read, _ = read_tokenizer(tokenizer)
    read.enable_truncation(most, strategy="only_second")
    encodings = [read.encode(*pair) for pair in _pairs()]
    return [score(encoder, each.ids, each.type_ids) for each in encodings]


def _settings(
    job: _Job, described: Description, hidden: int, most: int, tokenizer: Path
) -> ModelSettings:
    """The contents of ``crosscorpus.json``, from the repository's files and the user's options."""
    options, published = job.options, job.published
    pooling = options.pooling or described.pooling
    if not pooling:
        raise EmbeddingError(f"{job.name} does not say its pooling: add --pooling mean or cls")
    windows = [size for size in (described.max_tokens, most) if size]
    if not windows:
        raise EmbeddingError(f"{job.name} does not say how many word-pieces it takes")
    if min(windows) < LEAST_WINDOW:
        raise EmbeddingError(
            f"{job.name} takes {min(windows)} word-pieces: {LEAST_WINDOW} are needed"
        )
    if described.lower_case and not _lowers(tokenizer):
        raise EmbeddingError(f"cannot convert {job.name}: it wants texts in lower case")
    query, document = (
        described_as if prefix is None else prefix
        for prefix, described_as in (
            (options.query_prefix, described.query_prefix),
            (options.document_prefix, described.document_prefix),
        )
    )
    kept = options.dimensions or hidden
    if not 0 < kept <= hidden or (kept < hidden and kept not in (described.matryoshka or [kept])):
        known = ", ".join(map(str, described.matryoshka)) or f"1 to {hidden}"
        raise EmbeddingError(f"{job.name} has no {kept} dimensions: {known}")
    if kept < hidden and not described.matryoshka:
        job.say(f"its files do not say that the first {kept} of {hidden} dimensions do alone")
    job.say(
        f"pooling {pooling}, {min(windows)} word-pieces, {kept} dimensions; before a question:"
        f" {query!r}, before a document: {document!r}"
    )
    licence = f", {published.licence}" if published.licence else ""
    return ModelSettings(
        name=published.repository,
        pooling=pooling,
        query_prefix=query,
        document_prefix=document,
        max_tokens=min(windows),
        dimensions=kept,
        graph_dimensions=hidden if kept < hidden else 0,
        origin=f"{job.name}@{published.commit}{licence}",
    )


def cosine_to_reference(directory: Path, parts: Parts) -> float:
    """The least cosine of a directory's vectors of ``TEXTS`` to those of the plain encoder."""
    model, (tokenizer, _) = load_directory(directory), read_tokenizer(parts.tokenizer)
    texts = that_fit(model, TEXTS)
    expected = np.stack(
        [_reference(parts, tokenizer.encode(_prefixed(parts, t)).ids) for t in texts]
    )
    vectors = model.embed_documents(texts)
    return float((vectors * unit(expected, "the reference")).sum(axis=1).min())


def _reference(parts: Parts, ids: list[int]) -> Vectors:
    encoder: Encoder = parts.encoder
    states = hidden_states(encoder, ids)
    pooled = states[0] if parts.settings.pooling == "cls" else states.mean(axis=0)
    vector: Vectors = pooled[: parts.settings.dimensions].astype(np.float32)
    return vector


def _prefixed(parts: Parts, text: str) -> str:
    return parts.settings.document_prefix + text


def _lowers(tokenizer: Path) -> bool:
    read, _ = read_tokenizer(tokenizer)
    return bool(read.encode("The Cache").ids == read.encode("the cache").ids)


def _dimensions(graph: Path, config: ModelConfig | None) -> int:
    """The length of a graph's vectors, by the shape that it declares, else by config.json."""
    outputs = {each.name: each.shape for each in open_session(graph).get_outputs()}
    shape = outputs.get("last_hidden_state") or next(iter(outputs.values()))
    if len(shape) != 3:
        raise EmbeddingError(f"the graph gives {shape}, not states of tokens")
    if isinstance(shape[-1], int):
        return shape[-1]
    config = config or ModelConfig()
    return config.hidden_size or config.n_embd or config.dim or 1


def _tokenizer_name(job: _Job, folder: str) -> str:
    names = dict.fromkeys((f"{folder}tokenizer.json", "tokenizer.json", "onnx/tokenizer.json"))
    for name in names:
        if job.published.has(name):
            return name
    raise EmbeddingError(f"cannot convert {job.name}: it has no tokenizer.json")


def _graph_files(job: _Job, graph: str) -> list[str]:
    """A graph and the weights beside it, which it names."""
    beside = (f"{graph}_data", f"{graph}.data")
    return [graph, *(name for name in beside if job.published.has(name))]


def _folder(job: _Job, fetched: Mapping[str, Path], graph: str, tokenizer: str) -> Path:
    built = job.work / "graph"
    built.mkdir()
    for name in _graph_files(job, graph):
        shutil.copyfile(fetched[name], built / name.rpartition("/")[2])
    shutil.copyfile(fetched[tokenizer], built / "tokenizer.json")
    return built


def _fetch(job: _Job, names: list[str]) -> dict[str, Path]:
    files = job.published.files
    size = sum(files[name].size for name in names if name in files)
    job.say(f"fetching {', '.join(names)} of {job.name} ({size / 1e6:.1f} MB)")
    fetched = fetch(job.published, names)
    for name in names:
        if name.endswith("tokenizer.json"):
            with _explained(f"{name} of {job.name} does not cut texts"):
                tokenizer, _ = read_tokenizer(fetched[name])
                if max(tokenizer.get_vocab().values(), default=0) > _LARGEST_ID:
                    raise EmbeddingError(f"{name} of {job.name} has ids over {_LARGEST_ID}")
                tokenizer.encode_batch([*TEXTS, "é 7 \u4e2d"])
    return fetched


def _fetch_weights(job: _Job, weights: str, tokenizer: str) -> dict[str, Path]:
    """A safetensors file or the shards of an index, and the tokenizer."""
    fetched = _fetch(job, [weights, tokenizer])
    if weights.endswith(".index.json"):
        folder = weights.rpartition("model.")[0]
        fetched |= _fetch(job, [f"{folder}{shard}" for shard in shards(fetched[weights])])
    return fetched


def _no_weights(job: _Job, reason: str) -> str:
    files = job.published.files
    has = "it has no onnx/model.onnx"
    pickles = sorted(name for name in files if name.endswith(PICKLES))
    if pickles and not any(name.endswith(".safetensors") for name in files):
        return (
            f"cannot take {job.name}: its weights are only in {pickles[0]}, which can run code when"
            f" it is read, and {has}"
        )
    why = reason or "it has no model.safetensors"
    return f"cannot convert {job.name}: {why}; and {has}"


def _recorded(
    job: _Job,
    built: Path,
    kind: Kind,
    made: str,
    fetched: Mapping[str, Path],
    max_tokens: int = MAX_TOKENS,
) -> Path:
    """Write ``hub.json``."""
    published = job.published
    record = HubRecord(
        repository=published.repository,
        revision=published.commit,
        asked=job.asked,
        kind=kind,
        made=made,
        licence=published.licence,
        options=job.options.said(),
        fetched={name: file_sha256(path) for name, path in sorted(fetched.items())},
        files={path.name: file_sha256(path) for path in sorted(built.iterdir())},
        max_tokens=max_tokens,
    )
    (built / RECORD_FILE).write_text(record.model_dump_json(indent=2) + "\n", "utf-8")
    return built
