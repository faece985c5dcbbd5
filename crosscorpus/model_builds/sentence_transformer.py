"""Reads the description of a model from its repository, in the layout of sentence-transformers.

``modules.json`` lists the parts, each with a folder; ``config_sentence_transformers.json`` has the
prompts. An unsupported part is an error that names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field

from crosscorpus.model_builds.repository_json import ModelConfig, Size, read_json
from operators.embedding.protocol import EmbeddingError
from operators.foundation.escape import label_text

PROMPTS_FILE = "config_sentence_transformers.json"
_POOLING = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
_QUERY, _DOCUMENT = ("query",), ("document", "passage", "corpus")
_UNLIMITED = 1_000_000
"""A tokenizer's ``model_max_length`` of this or more means no limit."""


Pooling = Literal["mean", "cls"]
T = TypeVar("T")


class _Module(BaseModel):
    type: Annotated[str, Field(pattern=r"^[\w.]+$")]
    path: str


class _Prompts(BaseModel):
    prompts: dict[str, str | None] | None = None
    default_prompt_name: str | None = None
    matryoshka_dimensions: list[Size] | None = None
    matryoshka_dims: list[Size] | None = None


class _Window(BaseModel):
    max_seq_length: float | None = None
    do_lower_case: Any = None


class _TokenizerConfig(BaseModel):
    model_max_length: float | None = None


@dataclass(frozen=True)
class Description:
    """How texts become vectors; 0 and empty: the files do not state it."""

    kind: Literal["encoder", "static"]
    folder: str = ""
    """Of config.json and weights in the repository; empty, or with a slash at its end."""
    pooling: Pooling | Literal[""] = ""
    query_prefix: str = ""
    document_prefix: str = ""
    max_tokens: int = 0
    lower_case: bool = False
    matryoshka: tuple[int, ...] = ()
    config: ModelConfig | None = None
    """None: the repository has no config.json."""


def settings_files(names: Iterable[str]) -> list[str]:
    """The repository's files that describe the model, all small."""
    wanted = ("modules.json", "config.json", "tokenizer_config.json", PROMPTS_FILE)
    files = []
    for name in names:
        folder, _, last = name.rpartition("/")
        window = last.startswith("sentence_") and last.endswith("_config.json")
        if folder.count("/") == 0 and not folder.startswith("onnx") and (last in wanted or window):
            files.append(name)
    return sorted(files)


def describe(files: Mapping[str, Path]) -> Description:
    """Read the files of :func:`settings_files`.

    Raises:
        EmbeddingError: the model has a part that is not supported; names it.
    """
    config = read_config(files)
    if config and (config.model_type == "model2vec" or config.architectures == ["StaticModel"]):
        return Description("static", config=config)
    folder, whole = "", True
    pooling: Pooling | Literal[""] = ""
    for module in _modules(files):
        kind, at = module.type.rpartition(".")[2], module.path
        at = f"{at}/" if at else ""
        if kind == "StaticEmbedding":
            return Description("static", at, config=config)
        if kind == "Transformer":
            folder = at
        elif kind == "Pooling":
            own = _read(files, f"{at}config.json", dict[str, Any]) or {}
            pooling, whole = _pooling(own, at), bool(own.get("include_prompt", True))
        elif kind != "Normalize":
            raise EmbeddingError(f"cannot convert: its module {kind} is not supported")
    config = read_config(files, folder)
    prompts = _read(files, PROMPTS_FILE, _Prompts) or _Prompts()
    query, document = _prefixes(prompts)
    if (query or document) and not whole:
        raise EmbeddingError("cannot convert: its pooling leaves the prompt out")
    windows = [
        window
        for name in sorted(files)
        if name.startswith(f"{folder}sentence_") and name.endswith("_config.json")
        if (window := _read(files, name, _Window))
    ]
    longest = [each.max_seq_length for each in windows if each.max_seq_length]
    longest += [longest_of_tokenizer(files, folder)]
    return Description(
        "encoder",
        folder,
        pooling,
        query,
        document,
        max_tokens=int(longest[0]) if 0 < longest[0] < _UNLIMITED else 0,
        lower_case=any(each.do_lower_case for each in windows),
        matryoshka=_matryoshka(config or ModelConfig(), prompts),
        config=config,
    )


def read_config(files: Mapping[str, Path], folder: str = "") -> ModelConfig | None:
    """The config.json of a folder of the repository; None: it has none.

    Raises:
        EmbeddingError: a field has another type.
    """
    return _read(files, f"{folder}config.json", ModelConfig)


def longest_of_tokenizer(files: Mapping[str, Path], folder: str = "") -> float:
    """The maximum tokens of a tokenizer_config.json; 0: not stated, infinite: no limit."""
    stated = _read(files, f"{folder}tokenizer_config.json", _TokenizerConfig)
    return (stated and stated.model_max_length) or 0


def positions(config: ModelConfig | None) -> int:
    """The maximum tokens of a config.json; 0: not stated."""
    config = config or ModelConfig()
    most = config.max_position_embeddings or config.n_positions or 0
    after_padding = config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet")
    return max(0, most - (config.pad_token_id or 1) - 1) if most and after_padding else most


def _modules(files: Mapping[str, Path]) -> list[_Module]:
    try:
        return _read(files, "modules.json", list[_Module]) or []
    except EmbeddingError as error:
        if "is no JSON" in str(error):
            raise
        raise EmbeddingError("modules.json of the repository does not list modules") from error


def _read(files: Mapping[str, Path], name: str, kind: type[T]) -> T | None:
    return read_json(files[name], kind, name) if name in files else None


def _pooling(config: Mapping[str, Any], at: str) -> Pooling:
    """``mean`` or ``cls`` of a Pooling module's config.json, in its old form or its new one."""
    if "pooling_mode" in config:
        mode = config["pooling_mode"]
        modes = mode if isinstance(mode, list) else [mode]
    else:
        switches = [name for name, on in config.items() if name.startswith("pooling_mode_") and on]
        modes = [_POOLING.get(name, name.removeprefix("pooling_mode_")) for name in switches]
    if len(modes) != 1 or modes[0] not in ("mean", "cls"):
        stated = label_text(" and ".join(map(str, modes)))[:80] or f"not said in {at}config.json"
        raise EmbeddingError(
            f"cannot convert: its pooling is {stated}, only mean and cls are supported"
        )
    return "cls" if modes[0] == "cls" else "mean"


def _prefixes(settings: _Prompts) -> tuple[str, str]:
    """The prefixes of questions and of documents, chosen as sentence-transformers chooses them."""
    prompts = settings.prompts or {}
    fallback = prompts.get(settings.default_prompt_name or "") or ""
    query, document = (
        next((prompts[name] or "" for name in names if name in prompts), fallback)
        for names in (_QUERY, _DOCUMENT)
    )
    return query, document


def _matryoshka(*settings: ModelConfig | _Prompts) -> tuple[int, ...]:
    """The lengths to which a vector may be truncated, as some files list them."""
    listed: set[int] = set()
    for each in settings:
        listed |= {*(each.matryoshka_dimensions or []), *(each.matryoshka_dims or [])}
    return tuple(sorted(listed))
