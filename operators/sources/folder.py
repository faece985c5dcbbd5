"""A folder of documents: PDF, Office, notebooks, Markdown, AsciiDoc, reStructuredText, HTML, text.

Every file is read once and hashed; it is parsed only if the hash is new. The scan of an empty or
missing folder fails, because it is probably not mounted, and its documents must not be deleted.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from posixpath import basename, splitext
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote

from operators.foundation.front_matter import stated_title
from operators.foundation.sanitize import clean_text, shown_path
from operators.sources import files
from operators.sources.also import Also, also_read, kind_of
from operators.sources.dates.document_date import HTML, document_date
from operators.sources.dates.stated_version import document_version
from operators.sources.encodings import decode_file, with_plain_line_ends
from operators.sources.formats.asciidoc import asciidoc_text, asciidoc_title
from operators.sources.formats.headings import prose_title
from operators.sources.formats.html import html_text
from operators.sources.formats.languages import CONVERTED, is_prose, prose_format
from operators.sources.formats.notebook import notebook_text
from operators.sources.formats.pandoc import CONVERTER, converted, why_missing
from operators.sources.formats.pdf import PdfReader, PdfRefused, pdf_text, pdf_title
from operators.sources.formats.shown_text import shown_text
from operators.sources.generated import why_generated
from operators.sources.ignore_file import without_ignored
from operators.sources.jsonl import SourceError, is_corpus_name
from operators.sources.protocol import (
    MAX_TEXT,
    Document,
    Item,
    Key,
    LazyDocument,
    ReadIssue,
    Source,
    metadata_json,
)

READER = "folder/4"
_PDF_END, _PDF_TAIL = b"%%EOF", 2048  # last bytes, in which a complete PDF has its end mark
_FIRST_PAGE = 1500  # characters, in which a page must name the release whose date it states
_DAY = r"\((?P<day>[A-Z][a-z]{2,8}\.? [0-9]{1,2}, [0-9]{4}|[0-9]{4}-[0-9]{2}-[0-9]{2})\)"
MAX_PDF = 200_000_000
"""Maximum bytes; a larger file is left out without reading it."""


class _Parsed(NamedTuple):
    """The content of a file of any format."""

    text: str
    title: str | None
    stated: str  # where a date or a version may be stated
    pdf_dates: tuple[str | None, str | None] | None = None
    note: str | None = None
    metadata: Mapping[str, object] = MappingProxyType({})


class _Folder(NamedTuple):
    """The settings that all files of a folder share."""

    root: bytes
    base_url: str | None
    also: Also
    pdf: PdfReader


def folder_source(
    path: Path | str,
    corpus: str = "docs",
    repo: str | None = None,
    *,
    base_url: str | None = None,
    also: Sequence[str] | None = None,
) -> Source:
    """The documents of the folder at ``path``, each named by its path within it.

    Args:
        path: a folder.
        corpus: their corpus.
        repo: the name to store them under; default: the folder's.
        base_url: web address of the folder, if it has one; a document's address is made from it.
        also: further endings to read as texts, each ``.ENDING`` or ``.ENDING=KIND``, besides those
            of earlier runs; a single empty one drops those.

    Raises:
        SourceError: ``path`` is not a folder, or ``corpus`` is no valid name.
        SourceError, UnknownName: as :func:`~operators.sources.also.also_read`.
    """
    if not is_corpus_name(corpus):
        raise SourceError(
            f"corpus {corpus!r} is not lower-case letters, digits and _: name it otherwise"
        )
    root = os.path.realpath(os.path.expanduser(path))
    if not os.path.isdir(root):
        what = "is not a folder" if os.path.exists(root) else "does not exist; is it mounted?"
        raise SourceError(f"{path} {what}")
    name = clean_text(repo or shown_path(os.fsencode(os.path.basename(root))))
    walk = files.Walk(os.fsencode(root), (corpus, name))

    endings = also_read([one for one in also or () if one])

    def scan() -> Iterator[Item]:
        with closing(PdfReader()) as pdf:
            root = walk.root
            folder = _Folder(root, base_url or None, endings, pdf)
            yield from walk.items(partial(_item, folder))

    source = Source(
        READER,
        scan,
        (walk.scope,),
        lambda: walk.done / walk.found,
        (shown_path(walk.root),),
        choices={"base_url": base_url, "also": None if also is None else " ".join(also)},
        choosing=lambda chosen: folder_source(
            path, corpus, repo, base_url=chosen["base_url"], also=chosen["also"].split()
        ),
        adding=frozenset(("also",)),
    )
    return without_ignored(source, root)


def document_format(path: str) -> str | None:
    """The format of the document at ``path``: pdf, html, docx, ipynb, markdown, ...; else None.

    >>> document_format("a/Guide.PDF"), document_format("README"), document_format("a.png")
    ('pdf', 'text', None)
    """
    suffix = splitext(path)[1].lower()
    if suffix in (".pdf", ".tex"):
        return suffix[1:]
    return "html" if suffix in HTML else prose_format(path)


def _kind(folder: _Folder, shown: str) -> str:
    """The format of a document or, for an additional ending, its language."""
    extension = files.ending(shown)
    name = extension.lower().removeprefix(".")
    if name in folder.also and (chosen := kind_of(shown, folder.also)):
        return chosen
    if kind := document_format(shown):
        return kind
    if not extension:
        raise files.NoDocument("no known document type: no ending")
    raise files.UnknownEnding(extension, "document")


def _item(folder: _Folder, path: bytes, key: Key) -> Item:
    root, base_url, shown = folder.root, folder.base_url, key[2]
    kind = _kind(folder, shown)
    if kind in CONVERTED and (why := why_missing(kind)):
        raise files.NotInstalled(why)
    content = files.read_file(root, path, MAX_PDF if kind in ("pdf", *CONVERTED) else MAX_TEXT)
    how: tuple[str, ...] = ()
    note = None
    if kind == "pdf":
        read = partial(parse_pdf, content.data, folder.pdf)
    elif kind in CONVERTED:
        read, how = partial(_parse_converted, content.data, kind), (CONVERTER,)
    elif kind == "ipynb":
        read = partial(_parse_notebook, content.data)
    else:
        decoded = decode_file(content.data, shown)
        text = decoded.text if kind == "html" else shown_text(decoded.text, kind, shown)
        judged = kind != "html"  # its text has no pictures and no scripts
        whole = text if is_prose(kind) else decoded.text  # a picture in code is the code's own
        if judged and (why := why_generated(whole, kind, prose=is_prose(kind))):
            raise files.Generated(why)
        parser = _PARSERS.get(kind, _PARSERS["text"])
        read, how, note = partial(parser, text), decoded.how, decoded.note
    if kind != document_format(shown):
        how += (kind,)
    hashed = files.content_key(content, shown, base_url, *how)
    uri = None if base_url is None else f"{base_url.rstrip('/')}/{quote(path)}"
    file = os.fsdecode(os.path.join(root, path))
    parse = partial(_document, file, key, kind, read, hashed, uri, note)
    return LazyDocument(key, hashed, parse)


def _document(
    file: str,
    key: Key,
    kind: str,
    read: Callable[[], _Parsed],
    hashed: str,
    uri: str | None,
    note: str | None,
) -> Document | ReadIssue:
    corpus, repo, shown = key
    try:
        parsed = read()
    except PdfRefused as refused:
        content = None if refused.passing else hashed  # the next ingestion tries it again
        return ReadIssue(shown, refused.reason, key=key, content=content, state=refused.state)
    except ChildProcessError as killed:  # the next ingestion tries it again
        return ReadIssue(shown, str(killed), key=key)
    title = clean_text(parsed.title or basename(shown))
    version = document_version(shown, parsed.stated)
    dated = document_date(
        file,
        within=shown,
        text=parsed.stated,
        pdf_info=parsed.pdf_dates,
        release=stated_release(parsed.text, version) if kind == "pdf" else None,
    )
    return Document(
        document_id=shown,
        corpus=corpus,
        repo=repo,
        title=title,
        text=clean_text(parsed.text),
        path=shown,
        uri=uri,
        language=kind,
        # A clone or a copy gives every file today's date, which must not count as recent.
        created_at=None if dated.source == "mtime" else dated.value,
        doc_date=dated.value,
        date_source=dated.source if dated.value else None,
        version=version,
        lineage_id=shown,
        metadata=metadata_json(parsed.metadata, date_trust=dated.trust),
        source_hash=hashed,
        note=note or parsed.note,
    )


def parse_pdf(data: bytes, reader: PdfReader) -> _Parsed:
    """A PDF's text with its pages and bookmarks.

    Raises:
        PdfRefused: as :meth:`PdfReader.read`.
    """
    pdf = reader.read(data)
    pages, note = len(pdf.pages), None
    incomplete = None if _PDF_END in data[-_PDF_TAIL:] else True
    if pdf.unread:
        note = f"{len(pdf.unread)} of {pages} pages could not be read"
    elif incomplete:
        note = f"the file is cut: only {pages} pages of it could be found"
    metadata = {
        "pages": pages,
        "unread_pages": pdf.unread or None,
        "author": pdf.info.get("Author"),
        "incomplete": incomplete,
    }
    dates = (pdf.info.get("CreationDate"), pdf.info.get("ModDate"))
    return _Parsed(pdf_text(pdf), pdf_title(pdf), "", dates, note, metadata)


def stated_release(text: str, version: str | None) -> str | None:
    r"""The release date of ``version`` as written in ``text``; None if it states none.

    A page printed to a PDF has the date of printing, years after the release, so that an old
    version looks like the newest. Such a page often lists its release among its news, with a date.

    >>> news = "Foo Release 3.5.4\n...\nFoo 3.5.4 released (/news/3-5-4.html) (Dec 20, 2024)"
    >>> stated_release(news, "3.5.4"), stated_release(news, "3.5.5")
    ('Dec 20, 2024', None)
    """
    name = rf"(?<![\w.]){re.escape(version or '')}(?![\w.]*\w)"
    if not version or not re.search(name, text[:_FIRST_PAGE]):
        return None
    matches = re.finditer(rf"{name} (?:is )?released\b[^\n]{{0,120}}?{_DAY}", text)
    days = {match["day"] for match in matches}
    return days.pop() if len(days) == 1 else None


def _parse_html(source: str) -> _Parsed:
    page = html_text(source)
    return _Parsed(page.text, page.title, source)


def _parse_asciidoc(source: str) -> _Parsed:
    source = with_plain_line_ends(source)
    text = asciidoc_text(source)
    return _Parsed(text, asciidoc_title(text), source)


def _parse_prose(source: str, path: str) -> _Parsed:
    text = with_plain_line_ends(source)
    return _Parsed(text, stated_title(text) or prose_title(text, path), text)


def _parse_converted(data: bytes, kind: str) -> _Parsed:
    text, dates, note = converted(data, kind)
    title = prose_title(text, "a.md" if kind == "tex" else f"a.{kind}")
    return _Parsed(text, title, text, dates, note)


def _parse_notebook(data: bytes) -> _Parsed:
    text = notebook_text(data)
    return _Parsed(text, prose_title(text, "a.md"), text)


_PARSERS: Mapping[str, Callable[[str], _Parsed]] = {
    "html": _parse_html,
    "asciidoc": _parse_asciidoc,
    "markdown": partial(_parse_prose, path="a.md"),
    "rst": partial(_parse_prose, path="a.rst"),
    "org": partial(_parse_prose, path="a.org"),
    "text": partial(_parse_prose, path="a.txt"),
}
