"""A user's own reader: any object whose ``scan()`` yields documents.

It becomes a source like ours: unchanged documents are neither embedded nor written, an interrupted
run resumes, and secrets are detected. If the object states the pairs that only it fills
(``scopes``), documents missing from a scan are deleted.
"""

import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from operators.errors import CrosscorpusError, UnknownName
from operators.foundation.own_object import own_object
from operators.sources.jsonl import SourceError, documents_of, is_corpus_name
from operators.sources.protocol import Item, Source
from operators.sources.records.record_map import RecordMap
from operators.sources.records.record_source import mapped


def reader_source(
    reader: Any, read: RecordMap | None = None, load: Mapping[str, Any] | None = None
) -> Source:
    """The source of a reader.

    Args:
        reader: its ``scan()`` yields mappings with the keys of a line of ``ingest documents``
            (:mod:`operators.sources.jsonl`). It may have ``name`` (default: its class's, in lower
            case), ``version`` (1; a new one reads everything again) and ``scopes``, the pairs of
            corpus and repository that only it fills. Or it is one of LlamaIndex, with
            ``load_data``, or any iterable, such as a resource of dlt.
        read: makes documents of what it gives, where these are records of a service.
        load: arguments of ``load_data``.

    Raises:
        SourceError: it is none of these, or its ``name`` or ``scopes`` have another form.
    """
    kind = type(reader).__name__
    given = _records(reader, load or {})
    name = getattr(reader, "name", kind.lower())
    if not isinstance(name, str) or not is_corpus_name(name):
        raise SourceError(f"the name of {kind} is lower-case letters, digits and _, not {name!r}")
    scopes = getattr(reader, "scopes", None)
    if scopes is not None:
        try:
            scopes = tuple((str(corpus), str(repo)) for corpus, repo in scopes)
        except (TypeError, ValueError):
            raise SourceError(f"{kind}.scopes are pairs (corpus, repo), not {scopes!r}") from None

    def scan() -> Iterator[Item]:
        rows = ((f"document {n}", _record(one)) for n, one in enumerate(given(), start=1))
        try:
            yield from documents_of(rows if read is None else mapped(rows, read, {}, {}))
        except CrosscorpusError:
            raise
        except Exception as error:  # any error of the reader
            raise SourceError(f"{name}: {type(error).__name__}: {error}") from error

    mark = f"own_{name}/{getattr(reader, 'version', 1)}"
    return Source(mark, scan, scopes, lambda: 0.0, whole=scopes is not None)


def _records(reader: Any, load: Mapping[str, Any]) -> Callable[[], Iterable[Any]]:
    """What starts one reading of ``reader``."""
    for name, arguments in (("scan", {}), ("lazy_load_data", load), ("load_data", load)):
        if callable(found := getattr(reader, name, None)):
            return partial(found, **arguments)
    if isinstance(reader, Iterable):
        return lambda: reader
    kind = type(reader).__name__
    raise SourceError(f"{kind} is no reader: it has no scan() and no load_data(), and is no list")


def _record(one: Any) -> Any:
    """A record as a mapping; of a document of LlamaIndex its id, text and metadata."""
    if isinstance(one, Mapping):
        return dict(one)
    fields = ("id_", "text", "metadata")
    return {n: getattr(one, n, None) for n in fields} if hasattr(one, "metadata") else one


def named_reader(
    name: str,
    arguments: Sequence[str],
    read: RecordMap | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> Source:
    """The source of a user's own class, or of a library's.

    Args:
        name: ``python:MODULE:CLASS``.
        arguments: of its class: ``VALUE``, or ``KEY=VALUE`` if it has such an argument.
        read: makes documents of its records.
        options: more arguments: ``init`` those of the class, ``load`` those of ``load_data``.

    Raises:
        UnknownName: no reader has this name.
        SourceError: it takes other arguments; the message says which.
    """
    make = own_object(name)
    if make is None:
        raise UnknownName(f"unknown source {name!r}: name a class, as python:MODULE:CLASS")
    signature = inspect.signature(make)
    pairs = [one.partition("=") for one in arguments]
    keyed = {key: value for key, equals, value in pairs if equals and key in signature.parameters}
    plain = [one for one, (key, *_) in zip(arguments, pairs, strict=True) if key not in keyed]
    keyed |= (options or {}).get("init", {})
    try:
        signature.bind(*plain, **keyed)
    except TypeError as error:
        raise SourceError(f"{name} takes {signature}: {error}") from None
    return reader_source(make(*plain, **keyed), read, (options or {}).get("load"))


def reader_options(path: Path) -> dict[str, dict[str, Any]]:
    """The arguments of a reader in a YAML file, with ``${NAME}`` from the environment.

    Raises:
        SourceError: the file can't be read, has other keys than ``init`` and ``load``, or names a
            variable that is not set. The error repeats no value.
    """
    try:
        text = os.path.expandvars(path.read_text("utf-8"))
        found = yaml.safe_load(text) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SourceError(f"{path}: {type(error).__name__}: it is no YAML to read") from None
    if missing := re.search(r"\$\{(\w+)\}", text):
        raise SourceError(f"{path}: the environment has no {missing[1]}")
    parts = found.values() if isinstance(found, dict) else [None]
    if not all(isinstance(part, dict) for part in parts) or {*found} - {"init", "load"}:
        raise SourceError(f"{path}: expected arguments under init (the class) and load (load_data)")
    return dict(found)
