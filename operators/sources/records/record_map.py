"""The map of a service's records: in JMESPath, which of a record's fields is what of a document.

A map is data, so that a service of one's own needs no Python. `JMESPath <https://jmespath.org>`_ is
the query language of JSON that the command lines of AWS and Azure have; it has no side effects. It
has no limit of time and memory either: ``[@, @][]``, forty times after one another, is a bomb.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import jmespath
import yaml
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions, signature
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from operators.errors import CrosscorpusError, UnknownName, suggest
from operators.sources.formats.html import element_text


class _Functions(Functions):  # type: ignore[misc]
    """Besides JMESPath's own two of the JMESPath Community, ``replace`` and ``split``, and one for
    pages of HTML: ``element(page, name)``, the text of the element with this id or class.
    """

    @signature(*[{"types": ["string"]}] * 3)  # type: ignore[untyped-decorator]
    def _func_replace(self, text: str, old: str, new: str) -> str:
        return text.replace(old, new)

    @signature(*[{"types": ["string"]}] * 2)  # type: ignore[untyped-decorator]
    def _func_split(self, text: str, by: str) -> list[str]:
        return text.split(by)

    @signature(*[{"types": ["string"]}] * 2)  # type: ignore[untyped-decorator]
    def _func_element(self, page: str, name: str) -> str:
        return element_text(page, name)


_OPTIONS = jmespath.Options(custom_functions=_Functions())


def _compiles(expression: str) -> str:
    try:
        jmespath.compile(expression)
    except (JMESPathError, RecursionError) as error:
        raise ValueError(
            f"{expression[:200]!r} is no JMESPath: {str(error).splitlines()[0]}"
        ) from None
    return expression


Expression = Annotated[str, AfterValidator(_compiles)]
Form = Literal["markdown", "text", "html", "jira", "adf", "slack", "mail"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Part(_Model):
    """One of the texts of a document: its own, or a comment, a reply, a message."""

    text: Expression
    author: Expression | None = None
    created_at: Expression | None = None


class DocumentMap(_Model):
    """The documents of one kind; each expression is read in a record."""

    corpus: str
    when: Expression | None = None  # only of records for which it is true
    key: Expression  # names the document
    thread: Expression | None = None  # records of one value are one document, each a part
    title: Expression
    form: Form = "markdown"  # of the texts
    text: Expression | None = None
    author: Expression | None = None
    parts: Expression | None = None  # the list of further texts
    part: Part = Part(text="text")  # the fields of each
    repo: Expression | None = None
    path: Expression | None = None
    url: Expression | None = None
    created_at: Expression | None = None
    state: Expression | None = None
    version: Expression | None = None
    allowed: Expression | None = None  # who may see it
    metadata: dict[str, Expression] = {}


class Names(_Model):
    """A file of an export that says what ids stand for, in texts and as authors."""

    file: str
    id: Expression
    name: Expression


class RecordMap(_Model):
    """A file of ``configs/sources``."""

    name: str = ""  # that of its file, unless given: what --prune deletes was read by this map
    about: str  # what it reads, and how one gets it
    records: Expression | None = None  # the list in what was read; without it, that is a record
    names: list[Names] = []
    folder: Expression | None = None  # what `_folder` is; without it the first folder of its file
    also: list[str] = []  # maps whose documents this one makes too, behind its own
    documents: list[DocumentMap]


def read_map(name: str, shipped: Mapping[str, Path]) -> RecordMap:
    """The map of this name in ``shipped``, or of this file, with the documents of those in `also`.

    Raises: as :func:`_one_map`.
    """
    read = _one_map(name, shipped)
    further = [kind for other in read.also for kind in _one_map(other, shipped).documents]
    return read.model_copy(update={"documents": read.documents + further})


def _one_map(name: str, shipped: Mapping[str, Path]) -> RecordMap:
    """The map of this name in ``shipped``, or of this file.

    Raises:
        UnknownName: there is none.
        CrosscorpusError: it is not a map; says where and why.
    """
    path = shipped.get(name, Path(os.path.expanduser(name)))  # which never raises
    if not path.is_file():
        raise UnknownName(f"no map {name!r}: give a file or one of ours{suggest(name, shipped)}")
    try:
        read = RecordMap.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        why = " ".join(str(error).split())
        advice = "put an expression with [ ] { } , : or # in double quotes"
        raise CrosscorpusError(f"{path} is no YAML: {why}; {advice}") from None
    except ValidationError as error:
        errors = error.errors()  # a key that is misspelt explains the one that is missing
        first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
        where = ".".join(map(str, first["loc"])) or "the file"
        known = DocumentMap.model_fields if "documents" in first["loc"] else RecordMap.model_fields
        meant = suggest(str(first["loc"][-1]), known) if first["type"] == "extra_forbidden" else ""
        raise CrosscorpusError(f"{path}: {where}: {first['msg']}{meant}") from None
    return read if read.name else read.model_copy(update={"name": path.stem})


def value(expression: str | None, record: Any) -> Any:
    """What ``expression`` finds in ``record``; None where it finds nothing.

    Raises:
        ValueError: a function got a value that it does not take.
    """
    if expression is None:
        return None
    try:
        return jmespath.compile(expression).search(record, _OPTIONS)
    except (JMESPathError, ArithmeticError, RecursionError, TypeError) as error:
        raise ValueError(f"{expression}: {str(error).splitlines()[0]}") from None


def records_in(read: RecordMap, page: Any) -> Iterator[dict[str, Any]]:
    """The records in a JSON value that was read: a record itself, or a page of them."""
    found = page if read.records is None else value(read.records, page)
    if found is None and read.records is not None:
        found = page  # a file of records without the page around them
    kept = found if isinstance(found, list) else [found]
    yield from (one for one in kept if isinstance(one, dict))
