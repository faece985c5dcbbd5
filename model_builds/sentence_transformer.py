"""Reads the description of a model from its repository, in the layout of sentence-transformers.

``modules.json`` lists the parts, each with a folder; ``config_sentence_transformers.json`` has the
prompts. An unsupported part is an error that names it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from operators.embedding.protocol import EmbeddingError

PROMPTS_FILE = "config_sentence_transformers.json"
_POOLING = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
_QUERY, _DOCUMENT = ("query",), ("document", "passage", "corpus")
_UNLIMITED = 1_000_000
"""A tokenizer's ``model_max_length`` of this or more means no limit."""


Pooling = Literal["mean", "cls"]


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
    config: Mapping[str, Any] = field(default_factory=dict)


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
    config = read_object(files, "config.json")
    if config.get("model_type") == "model2vec" or config.get("architectures") == ["StaticModel"]:
        return Description("static", config=config)
    folder, whole = "", True
    pooling: Pooling | Literal[""] = ""
    for module in _modules(files):
        kind, at = module["type"].rpartition(".")[2], module["path"]
        at = f"{at}/" if at else ""
        if kind == "StaticEmbedding":
            return Description("static", at, config=config)
        if kind == "Transformer":
            folder = at
        elif kind == "Pooling":
            own = read_object(files, f"{at}config.json")
            pooling, whole = _pooling(own, at), bool(own.get("include_prompt", True))
        elif kind != "Normalize":
            raise EmbeddingError(f"cannot convert: its module {kind} is not supported")
    config = read_object(files, f"{folder}config.json")
    prompts = read_object(files, PROMPTS_FILE)
    query, document = _prompts(prompts)
    if (query or document) and not whole:
        raise EmbeddingError("cannot convert: its pooling leaves the prompt out")
    windows = [
        read_object(files, name)
        for name in sorted(files)
        if name.startswith(f"{folder}sentence_") and name.endswith("_config.json")
    ]
    tokenizer = read_object(files, f"{folder}tokenizer_config.json")
    longest = [each["max_seq_length"] for each in windows if each.get("max_seq_length")]
    longest += [tokenizer.get("model_max_length") or 0]
    return Description(
        "encoder",
        folder,
        pooling,
        query,
        document,
        max_tokens=int(longest[0]) if 0 < longest[0] < _UNLIMITED else 0,
        lower_case=any(each.get("do_lower_case") for each in windows),
        matryoshka=_matryoshka(config, prompts),
        config=config,
    )


def positions(config: Mapping[str, Any]) -> int:
    """The maximum tokens of a config.json; 0: not stated."""
    most = int(config.get("max_position_embeddings") or config.get("n_positions") or 0)
    after_padding = config.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet")
    return most - int(config.get("pad_token_id") or 1) - 1 if most and after_padding else most


def read_object(files: Mapping[str, Path], name: str) -> dict[str, Any]:
    """The JSON object of a file; empty where there is none.

    Raises:
        EmbeddingError: it is no object.
    """
    content = _read(files, name) if name in files else {}
    if not isinstance(content, dict):
        raise EmbeddingError(f"{name} of the repository is no JSON object")
    return content


def _modules(files: Mapping[str, Path]) -> list[dict[str, str]]:
    modules = _read(files, "modules.json") if "modules.json" in files else []
    fits = isinstance(modules, list) and all(
        isinstance(one, dict) and {"type", "path"} <= one.keys() for one in modules
    )
    if not fits:
        raise EmbeddingError("modules.json of the repository does not list modules")
    return [{"type": str(one["type"]), "path": str(one["path"])} for one in modules]


def _read(files: Mapping[str, Path], name: str) -> Any:
    try:
        return json.loads(files[name].read_bytes())
    except ValueError as error:
        raise EmbeddingError(f"{name} of the repository is no JSON: {error}") from error


def _pooling(config: Mapping[str, Any], at: str) -> Pooling:
    """``mean`` or ``cls`` of a Pooling module's config.json, in its old form or its new one."""
    if "pooling_mode" in config:
        mode = config["pooling_mode"]
        modes = mode if isinstance(mode, list) else [mode]
    else:
        switches = [name for name, on in config.items() if name.startswith("pooling_mode_") and on]
        modes = [_POOLING.get(name, name.removeprefix("pooling_mode_")) for name in switches]
    if len(modes) != 1 or modes[0] not in ("mean", "cls"):
        stated = " and ".join(map(str, modes)) or f"not said in {at}config.json"
        raise EmbeddingError(
            f"cannot convert: its pooling is {stated}, only mean and cls are supported"
        )
    return "cls" if modes[0] == "cls" else "mean"


def _prompts(settings: Mapping[str, Any]) -> tuple[str, str]:
    """The prefixes of questions and of documents, chosen as sentence-transformers chooses them."""
    prompts = settings.get("prompts") or {}
    fallback = prompts.get(settings.get("default_prompt_name") or "", "")
    query, document = (
        next((str(prompts[name] or "") for name in names if name in prompts), fallback)
        for names in (_QUERY, _DOCUMENT)
    )
    return query, document


def _matryoshka(*settings: Mapping[str, Any]) -> tuple[int, ...]:
    """The lengths to which a vector may be truncated, as some files list them."""
    listed: set[int] = set()
    for each in settings:
        for name in ("matryoshka_dimensions", "matryoshka_dims"):
            listed |= {int(one) for one in each.get(name) or []}
    return tuple(sorted(listed))
