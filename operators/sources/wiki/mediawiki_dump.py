"""A MediaWiki XML dump (``Special:Export``, ``dumpBackup.php``), read as a stream.

The newest revision of each page is used. The file is untrusted: the reader expands no entity,
accepts no document type and fetches nothing, and a page beyond a limit ends the scan before it
fills the memory.
"""

import bz2
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from lxml import etree

from operators.foundation.sanitize import clean_text
from operators.sources.formats.json_stream import DAMAGED, unpacked
from operators.sources.jsonl import SourceError, parse_moment
from operators.sources.protocol import (
    Document,
    Item,
    LazyDocument,
    ReadIssue,
    Source,
    metadata_json,
)
from operators.sources.wiki.wikitext import redirect_target, wikitext_text

READER = "wiki_dump/2"
CORPUS = "wiki"
MAX_PAGE = 64 * 1024 * 1024
"""Maximum bytes of XML between two pages."""

_NO_PROSE = frozenset((8, 10, 828))
"""Namespaces of interface messages, templates and Lua modules."""
_PROSE_MODELS = frozenset(("", "wikitext"))
_DAMAGED = (etree.XMLSyntaxError, OSError, *DAMAGED)


@dataclass(slots=True)
class _Wiki:
    """The head of a dump."""

    name: str | None = None
    base: str | None = None
    namespaces: dict[int, str] = field(default_factory=dict)


class _Bounded:
    """The parser's input; refuses declarations and pages beyond ``MAX_PAGE``."""

    def __init__(self, unpacked: BinaryIO) -> None:
        self.unpacked, self.since_page, self.tail = unpacked, 0, b""

    def read(self, size: int) -> bytes:
        block = self.unpacked.read(size)
        self.since_page += len(block)
        if self.since_page > MAX_PAGE:
            raise SourceError(f"a page of the dump is larger than {MAX_PAGE} bytes")
        # In a dump "<" is always escaped, so that no page can contain this.
        if b"<!DOCTYPE" in self.tail + block or b"<!ENTITY" in self.tail + block:
            raise SourceError(
                "the dump declares a document type or an entity; MediaWiki never does"
            )
        self.tail = block[-16:]
        return block


def dump_source(file: Path, repo: str | None = None, base_url: str | None = None) -> Source:
    """The pages of a dump, plain, gzipped or bzipped.

    Args:
        file: the dump.
        repo: the name to store it under; else the wiki's own (``dbname``, else ``sitename``).
        base_url: the start of the pages' addresses, before a title; else the dump's ``base``.

    Raises:
        SourceError: it is no such dump.
    """
    wiki = _head(file)
    name = clean_text(repo or wiki.name or file.name.partition(".")[0])
    own = wiki.base.rpartition("/")[0] if wiki.base else None
    base = base_url or own
    size = file.stat().st_size
    done = 0

    def scan() -> Iterator[Item]:
        nonlocal done
        with file.open("rb") as raw:
            stream = _Bounded(_unpacked(raw))
            try:
                for element in _elements(stream, "page"):
                    done = raw.tell()
                    yield _item(element, wiki, name, base)
            except _DAMAGED as exc:
                raise SourceError(f"{file}: damaged or cut: {exc}") from exc

    return Source(
        READER,
        scan,
        ((CORPUS, name),),
        lambda: min(1.0, done / size),
        (own.partition("://")[2] or own,) if own else (),
    )


def _head(file: Path) -> _Wiki:
    wiki = _Wiki()
    with file.open("rb") as raw:
        stream = _Bounded(_unpacked(raw))
        try:
            # If a dump lacks this head, its pages are read to the end or to the limit.
            for element in _elements(stream, "siteinfo", "page"):
                if etree.QName(element).localname == "siteinfo":
                    wiki.name = element.findtext("{*}dbname") or element.findtext("{*}sitename")
                    wiki.base = element.findtext("{*}base")
                    for namespace in element.iterfind(".//{*}namespace"):
                        key = namespace.get("key", "")
                        if key.lstrip("-").isdigit():
                            wiki.namespaces[int(key)] = namespace.text or ""
                break
            else:
                raise SourceError(f"{file} has no pages: give a MediaWiki XML dump or a folder")
        except _DAMAGED as exc:
            why = exc.msg if isinstance(exc, etree.XMLSyntaxError) else exc
            raise SourceError(
                f"{file} is no MediaWiki XML dump: {why}; give one, or a folder of pages"
            ) from exc
    return wiki


def _elements(stream: _Bounded, *names: str) -> Iterator[Any]:
    """Elements of these names as they end; each is emptied before the next is read."""
    context = etree.iterparse(
        stream,
        events=("end",),
        tag=[f"{{*}}{name}" for name in names],
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        encoding="utf-8",  # ignores the file's: another encoding could hide a declaration
        huge_tree=True,  # its bound of a text is 10 MB; ours is MAX_PAGE
    )
    for _, element in context:
        stream.since_page = 0
        yield element
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]


def _item(page: Any, wiki: _Wiki, repo: str, base: str | None) -> Item:
    title, page_id = clean_text(page.findtext("{*}title", "")), page.findtext("{*}id", "")
    if not title:
        return ReadIssue(f"page {page_id or '?'}", "a page without a title")
    space = page.findtext("{*}ns") or "0"
    number = int(space) if space.lstrip("-").isdecimal() and len(space) < 10 else 0
    if number in _NO_PROSE:
        return ReadIssue(title, "template, module or interface message", failed=False)
    revisions = page.findall("{*}revision")
    if not revisions:
        return ReadIssue(title, "a page without a revision", key=(CORPUS, repo, title))
    newest = max(revisions, key=_order)
    model = newest.findtext("{*}model", "")
    if model not in _PROSE_MODELS:
        return ReadIssue(title, f"no prose: {model}", failed=False)
    source = clean_text(newest.findtext("{*}text", ""))
    if page.find("{*}redirect") is not None or redirect_target(source):
        return ReadIssue(title, "redirect", failed=False)
    fields = {
        "title": title,
        "timestamp": newest.findtext("{*}timestamp", ""),
        "namespace": wiki.namespaces.get(number) or (str(number) if number else ""),
        "page_id": page_id,
        "revision": newest.findtext("{*}id", ""),
        "uri": f"{base}/{quote(title.replace(' ', '_'), safe='/:')}" if base else "",
    }
    hashed = hashlib.sha256("\0".join((source, *fields.values())).encode()).hexdigest()
    parse = partial(_document, source, fields, repo, hashed)
    return LazyDocument((CORPUS, repo, title), hashed, parse)


def _order(revision: Any) -> tuple[str, int]:
    """A revision's time, then its number: within one second the higher one is later."""
    number = revision.findtext("{*}id", "")
    known = number.isdecimal() and len(number) < 20
    return revision.findtext("{*}timestamp", ""), int(number) if known else 0


def _document(source: str, fields: dict[str, str], repo: str, hashed: str) -> Document:
    title = fields["title"]
    reduced = wikitext_text(source)
    moment = parse_moment(fields["timestamp"]) if fields["timestamp"] else None
    known = {name: fields[name] or None for name in ("namespace", "page_id", "revision")}
    changed = moment and moment.isoformat()
    return Document(
        document_id=title,
        corpus=CORPUS,
        repo=repo,
        title=title,
        text=reduced.text,
        path=f"{title}.mediawiki",
        uri=fields["uri"] or None,
        language="mediawiki",
        created_at=moment,
        doc_date=moment,
        date_source="explicit" if moment else None,
        lineage_id=title,
        metadata=metadata_json(known, categories=reduced.categories or None, last_modified=changed),
        source_hash=hashed,
    )


def _unpacked(raw: BinaryIO) -> Any:
    magic = raw.read(3)
    raw.seek(0)
    return bz2.BZ2File(raw) if magic == b"BZh" else unpacked(raw)
