"""Pages of a MediaWiki dump."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whole_scan import read_all

from operators.sources.protocol import Document, ReadIssue
from operators.sources.wiki.wiki_source import wiki_source

PAGE = """<page><title>{title}</title><ns>{ns}</ns><id>7</id>{redirect}
  <revision><id>1</id><timestamp>2020-01-02T03:04:05Z</timestamp><model>{model}</model>
    <text>old</text></revision>
  <revision><id>2</id><timestamp>2021-01-02T03:04:05Z</timestamp><model>{model}</model>
    <text>{text}</text></revision></page>"""


def page(title: str, text: str = "x", ns: int = 0, **other: str) -> str:
    return PAGE.format(
        title=title, text=text, ns=ns, **{"redirect": "", "model": "wikitext"} | other
    )


def documents(path: Path, **options: Any) -> dict[str, Document]:
    found = read_all(wiki_source(path, **options))
    return {item.document_id: item for item in found if isinstance(item, Document)}


def faults(path: Path) -> dict[str, tuple[str, bool]]:
    found = read_all(wiki_source(path))
    return {item.where: (item.reason, item.failed) for item in found if isinstance(item, ReadIssue)}
