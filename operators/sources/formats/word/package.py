"""The parts of a .docx: a ZIP of XML whose parts refer to each other.

A part is located by its relationship, as in Word. In a package without that relationship, it is
located by the name that Word gives such a part.
"""

import posixpath
import re
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, Protocol
from urllib.parse import unquote
from xml.parsers import expat

MAX_XML = 50_000_000
"""Bytes of all parts that are read, unpacked."""
MAX_DEPTH = 256
"""Elements within elements."""

_PIECE = 1 << 16
_NAMES = 2_000  # of elements that are kept: a hostile file has any number
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # of others zipfile unpacks all at once
_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w:",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w:",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m:",
    "http://purl.oclc.org/ooxml/officeDocument/math": "m:",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc:",
    "http://schemas.openxmlformats.org/package/2006/relationships": "rel:",
    "http://schemas.openxmlformats.org/package/2006/content-types": "ct:",
    "http://purl.org/dc/terms/": "dcterms:",
}
_MAIN = "/officedocument"
_MAIN_CONTENT = re.compile(r"(?:wordprocessingml|ms-word)\.(?:document|template)\S*\.main\+xml$")


class Target(Protocol):
    """Handles a parser's events. A tag is ``w:p`` in the transitional and the strict format."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins; ``attributes`` have local names."""

    def data(self, text: str) -> None:
        """Text of the innermost open element."""

    def end(self, tag: str) -> None:
        """An element ends."""


class Package:
    """The parts of an open archive.

    All parts together may unpack to ``MAX_XML`` bytes.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._left = MAX_XML
        # Names of parts do not tell capitals from small letters. Some writers use backslashes.
        self._names = {
            name.replace("\\", "/").lstrip("/").lower(): name for name in archive.namelist()
        }
        self.main = self._main_part()
        self._related = self._relations(self.main)

    def parts(self, kind: str) -> list[str]:
        """The parts of a kind (``styles``, ``footnotes``, ``header``), each once."""
        folders = {posixpath.dirname(self.main), "word"}
        usual = re.compile(rf"(?:{'|'.join(map(re.escape, folders))})/?{kind}[0-9]*\.xml")
        named = sorted(filter(usual.fullmatch, self._names))
        return list(dict.fromkeys([*_targets(self._related, f"/{kind}"), *named]))

    def core_properties(self) -> list[str]:
        """The part with the dates of the document, if there is one."""
        named = _targets(self._relations(""), "/core-properties")
        return (named or [n for n in ("docprops/core.xml",) if n in self._names])[:1]

    def parse(self, part: str, target: Target) -> None:
        """Feed a part to ``target``, piece by piece; no tree is built.

        Raises:
            ValueError: the part has a document type or is nested too deeply, it is packed in a way
                that Word does not use, or the parts unpack to more than ``MAX_XML`` bytes.
            expat.ExpatError: it is no XML.
        """
        name = self._names[part]
        if self._archive.getinfo(name).compress_type not in _PACKED:
            raise ValueError(f"{name} is packed in a way that Word does not use")
        parser = _parser(target)
        with self._archive.open(name) as stream:
            while piece := stream.read(_PIECE):
                self._left -= len(piece)
                if self._left < 0:
                    raise ValueError(f"it unpacks to more than {MAX_XML} bytes")
                parser.Parse(piece, False)
        parser.Parse(b"", True)

    def _main_part(self) -> str:
        types = _Elements("ct:Override")
        if "[content_types].xml" in self._names:
            self.parse("[content_types].xml", types)
        stated = [
            _plain(override.get("PartName", "/"))
            for override in types.found
            if _MAIN_CONTENT.search(override.get("ContentType", ""))
        ]
        named = [*_targets(self._relations(""), _MAIN), *stated, "word/document.xml"]
        main_part = next((name for name in named if name in self._names), None)
        if main_part is None:
            raise ValueError("it has no main part, such as word/document.xml")
        return main_part

    def _relations(self, part: str) -> list["_Relation"]:
        """The relationships of a part within the package; ``""`` is the package itself."""
        folder, name = posixpath.split(part)
        path = posixpath.join(folder, "_rels", f"{name}.rels")
        if path not in self._names:
            return []
        elements = _Elements("rel:Relationship")
        self.parse(path, elements)
        relations = []
        for relation in elements.found:
            target = _plain(posixpath.join("/", folder, relation.get("Target", "")))
            if target in self._names and relation.get("TargetMode") != "External":
                relations.append(_Relation(relation.get("Type", "").lower(), target))
        return relations


class _Relation(NamedTuple):
    kind: str  # ends alike in the transitional and in the strict format
    target: str


class _Elements:
    """The attributes of all elements of one name."""

    def __init__(self, tag: str) -> None:
        self._tag = tag
        self.found: list[dict[str, str]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == self._tag:
            self.found.append(dict(attributes))

    def data(self, text: str) -> None:
        pass

    def end(self, tag: str) -> None:
        pass


def _targets(relations: list[_Relation], ending: str) -> list[str]:
    return [relation.target for relation in relations if relation.kind.endswith(ending)]


def _plain(path: str) -> str:
    return posixpath.normpath(unquote(path).replace("\\", "/")).lstrip("/").lower()


def _parser(target: Target) -> expat.XMLParserType:
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"its XML is nested deeper than {MAX_DEPTH}")
        local = {_local(key): value for key, value in attributes.items()} if attributes else {}
        target.start(_tag(name), local)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        target.end(_tag(name))

    def document_type(*_: object) -> None:
        raise ValueError("its XML has a document type, which Word does not write")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = target.data
    parser.StartDoctypeDeclHandler = document_type
    return parser


@lru_cache(maxsize=_NAMES)
def _tag(name: str) -> str:
    namespace, _, local = name.rpartition(" ")
    return f"{_PREFIXES.get(namespace, '?:')}{local}"


@lru_cache(maxsize=_NAMES)
def _local(name: str) -> str:
    return name.rpartition(" ")[2]
