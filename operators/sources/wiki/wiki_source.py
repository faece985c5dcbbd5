"""A wiki: a folder or a git clone of Markdown or MediaWiki pages, or a MediaWiki XML dump.

A page has its name, its namespace and the date of its last change: the revision's in a dump, the
last commit's in a clone, in a folder the date that the page states or the file's own. GitHub's and
GitLab's wikis are git repositories; a clone's pages link to their addresses there.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from posixpath import basename, dirname, splitext
from urllib.parse import quote

from operators.foundation.disk_dict import DiskDict
from operators.foundation.front_matter import stated_title
from operators.foundation.sanitize import clean_text, shown_path
from operators.sources import files
from operators.sources.dates.document_date import document_date
from operators.sources.dates.stated_version import document_version
from operators.sources.encodings import decode_file, with_plain_line_ends
from operators.sources.formats.languages import prose_format
from operators.sources.formats.shown_text import shown_text
from operators.sources.git.commit_log import LastCommit, read_commits, remember_last_commit
from operators.sources.git.repository import (
    clone_addresses,
    cut_commits,
    open_repository,
    origin_url,
    parse_origin,
)
from operators.sources.git.tracked_files import tracked_files, tracked_names
from operators.sources.ignore_file import without_ignored
from operators.sources.jsonl import SourceError
from operators.sources.protocol import Document, Item, Key, LazyDocument, Source, metadata_json
from operators.sources.wiki.mediawiki_dump import dump_source
from operators.sources.wiki.wikitext import redirect_target, wikitext_text

READER = "wiki/2"
CORPUS = "wiki"
MAX_PAGE = 5_000_000
"""Maximum bytes; a larger page is left out without reading it."""

_MARKDOWN = frozenset((".md", ".markdown", ".mkd"))
_MEDIAWIKI = frozenset((".mediawiki", ".wiki"))
_PAGE_PARTS = frozenset(("_sidebar", "_footer", "_header"))


def wiki_source(
    path: Path | str, repo: str | None = None, *, base_url: str | None = None
) -> Source:
    """The pages of the wiki at ``path``.

    Args:
        path: a folder, the top of a git clone, or a MediaWiki XML dump (plain, .gz or .bz2).
        repo: the name to store it under; else that of a clone's ``origin``, of a dump's wiki, or
            of the folder.
        base_url: the start of the pages' addresses, before a name; else that of the clone's
            ``origin`` or the dump, if they have one.

    Raises:
        SourceError: neither a folder nor a dump.
    """
    source = _wiki(path, repo, base_url)
    return replace(
        source,
        choices={"base_url": base_url},
        choosing=lambda chosen: wiki_source(path, repo, **chosen),
    )


def _wiki(path: Path | str, repo: str | None, base_url: str | None) -> Source:
    root = os.path.realpath(os.path.expanduser(path))
    if os.path.isfile(root):
        return dump_source(Path(root), repo, base_url)
    if not os.path.isdir(root):
        raise SourceError(
            f"{path} does not exist: give a folder of pages, a clone of a wiki, or an XML dump"
        )
    is_clone = os.path.exists(os.path.join(root, ".git"))
    url = origin_url(Path(root)) if is_clone else ""
    origin, address = wiki_address(url)
    name = clean_text(repo or origin or shown_path(os.fsencode(os.path.basename(root))))
    address = base_url or address
    walk = files.Walk(os.fsencode(root), (CORPUS, name))

    def scan() -> Iterator[Item]:
        with closing(_last_commits(root)) as commits:
            yield from walk.items(partial(_item, walk.root, address, commits))

    @cache
    def tracked() -> frozenset[str] | None:
        return tracked_names(Path(root)) if is_clone else None

    def left_out(key: Key) -> bool:
        return (names := tracked()) is not None and key[2] not in names

    source = Source(
        READER,
        scan,
        (walk.scope,),
        lambda: walk.done / walk.found,
        clone_addresses(Path(root), url),
        left_out=left_out,
    )
    return without_ignored(source, root)


def page_name(path: str) -> tuple[str, str | None]:
    """A page's name and its namespace, from the path of its file.

    >>> page_name("guides/How-to-start.md"), page_name("Help:Editing.mediawiki")
    (('How to start', 'guides'), ('Editing', 'Help'))
    """
    stem = splitext(basename(path))[0]
    namespace, colon, rest = stem.partition(":")
    name = rest if colon and rest else stem
    folder = dirname(path) or None
    shown = name.replace("_", " ") if " " in name or "_" in name else name.replace("-", " ")
    return shown, namespace if colon and rest else folder


def _item(
    root: bytes,
    base_url: str | None,
    commits: Mapping[bytes, LastCommit],
    path: bytes,
    key: Key,
) -> Item:
    shown = key[2]
    stem, suffix = splitext(basename(shown).lower())
    if suffix not in _MARKDOWN | _MEDIAWIKI:
        raise files.NoDocument(f"no wiki page: {files.ending(shown).lower() or 'no ending'}")
    if stem in _PAGE_PARTS:
        raise files.NoDocument("part of every page, no page of its own")
    content = files.read_file(root, path, MAX_PAGE)
    decoded = decode_file(content.data, shown)
    source = with_plain_line_ends(decoded.text)
    if suffix in _MEDIAWIKI and (target := redirect_target(source)):
        raise files.NoDocument(f"redirect to {target}")
    last = commits.get(path)
    moment = last.moment if last else None
    if moment:  # then the file's own time does not count
        content = files.Content(content.data, 0.0)
    hashed = files.content_key(
        content, shown, base_url, moment.isoformat() if moment else None, *decoded.how
    )
    # Wikis on forges name a page by its file alone, whatever folder it is in.
    name = quote(os.path.splitext(os.path.basename(path))[0])
    uri = base_url and f"{base_url.rstrip('/')}/{name}"
    file = os.fsdecode(os.path.join(root, path))
    return LazyDocument(
        key, hashed, partial(_document, file, key, source, moment, hashed, uri, decoded.note)
    )


def _document(
    file: str,
    key: Key,
    source: str,
    moment: datetime | None,
    hashed: str,
    uri: str | None,
    note: str | None,
) -> Document:
    _, repo, shown = key
    name, namespace = page_name(shown)
    text, categories, title = source, None, name
    if splitext(shown)[1].lower() in _MEDIAWIKI:
        text, categories = wikitext_text(source)
    else:
        title = stated_title(source) or name
        text = shown_text(source, prose_format(shown) or "markdown", shown)
    dated = document_date(file, within=shown, text=source, git_date=moment)
    changed = moment or dated.value
    version = document_version(shown, source)
    return Document(
        document_id=shown,
        corpus=CORPUS,
        repo=repo,
        title=clean_text(title),
        text=text,
        path=shown,
        uri=uri,
        language="markdown" if categories is None else "mediawiki",
        created_at=None if dated.source == "mtime" else dated.value,
        doc_date=dated.value,
        date_source=dated.source if dated.value else None,
        version=version,
        lineage_id=shown,
        metadata=metadata_json(
            namespace=namespace,
            categories=categories or None,
            last_modified=changed and changed.isoformat(),
            date_trust=dated.trust,
        ),
        source_hash=hashed,
        note=note,
    )


def wiki_address(origin: str) -> tuple[str | None, str | None]:
    """The name of the wiki that a clone's ``origin`` names, and the start of its pages' addresses.

    >>> wiki_address("https://github.com/org/app.wiki.git")
    ('org/app', 'https://github.com/org/app/wiki')
    >>> wiki_address("git@gitlab.example.org:group/app.wiki.git")
    ('group/app', 'https://gitlab.example.org/group/app/-/wikis')
    """
    name, forge = parse_origin(origin)
    if name is None:
        return None, None
    short = name.removesuffix(".wiki")
    if forge is None or short == name:
        return short, None
    if forge.endswith("/-"):
        return short, f"{forge.removesuffix('.wiki/-')}/-/wikis"
    return short, f"{forge.removesuffix('.wiki')}/wiki"


def _last_commits(root: str) -> DiskDict[LastCommit]:
    """The last commit of each tracked page; empty for a folder that is no clone."""
    last = DiskDict[LastCommit]()
    if os.path.exists(os.path.join(root, ".git")):
        repository = open_repository(root)
        with closing(tracked_files(repository)) as tracked:
            cuts = cut_commits(repository.root)  # of a shallow clone: they date no page
            on_file = partial(remember_last_commit, tracked, last, cuts=cuts)
            for _ in read_commits(repository, on_file):
                pass
    return last
