"""A user's own reader, whose ``scan()`` yields documents, one of LlamaIndex, or any iterable.

It becomes a source like ours: unchanged documents are neither embedded nor written, an interrupted
run resumes, and secrets are detected. If the object states the pairs that only it fills
(``scopes``), documents missing from a scan are deleted.
"""

import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from operators.errors import CrosscorpusError, UnknownName
from operators.foundation.own_object import own_object
from operators.sources.jsonl import SourceError, documents_of, is_corpus_name
from operators.sources.protocol import Item, Source
from operators.sources.records.record_map import RecordMap
from operators.sources.records.record_source import mapped
from operators.sources.secrets import redacted

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SHORTEST_SECRET = 4  # characters; a shorter value is no password, and occurs by chance


def reader_source(
    reader: Any,
    read: RecordMap | None = None,
    load: Mapping[str, Any] | None = None,
    secret: Iterable[Any] = (),
    given: Mapping[str, str] | None = None,
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
        secret: values that no error may show.
        given: fields of every record that lacks them: ``repo`` and ``base_url``.

    Raises:
        SourceError: it is none of these, or its ``name`` or ``scopes`` have another form.
    """
    kind = type(reader).__name__
    start = _records(reader, load or {})
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
        try:
            rows = ((f"document {n}", _record(one)) for n, one in enumerate(start(), start=1))
            yield from documents_of(rows if read is None else mapped(rows, read, given or {}, {}))
        except CrosscorpusError:
            raise
        except Exception as error:  # any error of the reader
            raise SourceError(f"{name}: {_told(error, secret)}") from (None if secret else error)

    mark = f"own_{name}/{getattr(reader, 'version', 1)}"
    return Source(mark, _begun_once(scan), scopes, lambda: 0.0, whole=scopes is not None)


def _told(error: Exception, secret: Iterable[Any]) -> str:
    """The kind and the text of an error; ``…`` for each of ``secret``, as in an address too."""
    text = str(error)
    for value in sorted(map(str, _leaves(secret)), key=len, reverse=True):
        if len(value) >= _SHORTEST_SECRET:
            forms = ([one, quote(one, "", None, "replace"), "+" * (one == " ")] for one in value)
            signs = (f"(?:{'|'.join(map(re.escape, filter(None, form)))})" for form in forms)
            text = re.sub("".join(signs), "…", text)
    return f"{type(error).__name__}: {redacted(text)}"


def _leaves(value: Any) -> Iterator[Any]:
    """The values in lists and mappings, or ``value``."""
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, str) or not isinstance(value, Iterable):
        yield value
        return
    for one in value:
        yield from _leaves(one)


def _records(reader: Any, load: Mapping[str, Any]) -> Callable[[], Iterable[Any]]:
    """What starts one reading of ``reader``."""
    for name, arguments in (("scan", {}), ("lazy_load_data", load), ("load_data", load)):
        found = getattr(reader, name, None)  # of the base, lazy_load_data raises
        if callable(found) and getattr(found, "__module__", "") != "llama_index.core.readers.base":
            return partial(found, **arguments)
    if isinstance(reader, Iterable):
        return lambda: reader
    kind = type(reader).__name__
    raise SourceError(f"{kind} is no reader: it has no scan() and no load_data(), and is no list")


def _begun_once(scan: Callable[[], Iterator[Item]]) -> Callable[[], Iterator[Item]]:
    """``scan``; the next goes on with one left at its first item: some give records only once."""
    left: list[Iterator[Item]] = []

    def resumed() -> Iterator[Item]:
        items = left.pop() if left else scan()
        for first in islice(items, 1):
            left.append(chain([first], items))
            yield first
            left.clear()
        yield from items

    return resumed


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
    given: Mapping[str, str] | None = None,
) -> Source:
    """The source of a user's own class, or of a library's.

    Args:
        name: ``python:MODULE:CLASS``.
        arguments: of its class: ``VALUE``, or ``KEY=VALUE`` if it has such an argument.
        read: makes documents of its records.
        options: more arguments: ``init`` those of the class, ``load`` those of ``load_data``.
        given: as for :func:`reader_source`.

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
    secret = [*plain, *keyed.values(), options or {}]
    try:
        made = make(*plain, **keyed)
    except CrosscorpusError:
        raise
    except Exception as error:  # any error of the reader
        raise SourceError(f"{name}: {_told(error, secret)}") from None
    return reader_source(made, read, (options or {}).get("load"), secret, given)


def reader_options(path: Path) -> dict[str, dict[str, Any]]:
    """The arguments of a reader in a YAML file, with ``${NAME}`` from the environment.

    Raises:
        SourceError: the file can't be read, has other keys than ``init`` and ``load``, or names a
            variable that is not set. The error repeats no value.
    """
    try:
        found = yaml.safe_load(path.read_text("utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise SourceError(f"{path}: {type(error).__name__}: it is no YAML to read") from None
    try:  # after YAML is read: a password with its signs stays what it is
        found = _expanded(found)
    except KeyError as missing:
        raise SourceError(f"{path}: the environment has no {missing.args[0]}") from None
    parts = found.values() if isinstance(found, dict) else [None]
    if not all(isinstance(part, dict) for part in parts) or {*found} - {"init", "load"}:
        raise SourceError(f"{path}: expected arguments under init (the class) and load (load_data)")
    return dict(found)


def _expanded(value: Any) -> Any:
    """``value`` with ``${NAME}`` in its texts replaced; raises KeyError where NAME is not set."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda name: os.environ[name[1]], value)
    if isinstance(value, list):
        return [_expanded(one) for one in value]
    if isinstance(value, dict):
        return {key: _expanded(one) for key, one in value.items()}
    return value
