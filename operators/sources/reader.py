"""A user's own reader: any object whose ``scan()`` yields documents.

It becomes a source like ours: unchanged documents are neither embedded nor written, an interrupted
run resumes, and secrets are detected. If the object states the pairs that only it fills
(``scopes``), documents missing from a scan are deleted.
"""

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from operators.errors import CrosscorpusError, UnknownName
from operators.foundation.own_object import own_object
from operators.sources.jsonl import SourceError, documents_of, is_corpus_name
from operators.sources.protocol import Item, Source


def reader_source(reader: Any) -> Source:
    """The source of a reader.

    Args:
        reader: its ``scan()`` yields mappings with the keys of a line of ``ingest documents``
            (:mod:`operators.sources.jsonl`). It may have ``name`` (default: its class's, in lower
            case), ``version`` (1; a new one reads everything again) and ``scopes``, the pairs of
            corpus and repository that only it fills.

    Raises:
        SourceError: it has no ``scan``, or its ``name`` or ``scopes`` have another form.
    """
    kind = type(reader).__name__
    if not callable(getattr(reader, "scan", None)):
        raise SourceError(f"{kind} is no reader: it lacks scan(), which gives documents")
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
        rows = ((f"document {n}", row) for n, row in enumerate(reader.scan(), start=1))
        try:
            yield from documents_of(rows)
        except CrosscorpusError:
            raise
        except Exception as error:  # any error of the reader
            raise SourceError(f"{name}: {type(error).__name__}: {error}") from error

    mark = f"own_{name}/{getattr(reader, 'version', 1)}"
    return Source(mark, scan, scopes, lambda: 0.0, whole=scopes is not None)


def named_reader(name: str, arguments: Sequence[str]) -> Source:
    """The source of a user's own class.

    Args:
        name: ``python:MODULE:CLASS``.
        arguments: of its class: ``VALUE``, or ``KEY=VALUE`` if it has such an argument.

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
    try:
        signature.bind(*plain, **keyed)
    except TypeError as error:
        raise SourceError(f"{name} takes {signature}: {error}") from None
    return reader_source(make(*plain, **keyed))
