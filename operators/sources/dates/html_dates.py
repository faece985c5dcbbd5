"""The dates that a web page states about itself, for machines: ``meta``, ``time`` and JSON-LD.

Dates in the page's text do not count: a page has many, and few are its own.
"""

import json
from contextlib import suppress
from typing import Any

from operators.foundation.sanitize import clean_text
from operators.sources.formats.html import feed_html

HEAD = 128 * 1024
"""Maximum characters of a page that are read."""

_LONGEST_JSON = 1 << 16
_LONGEST_DATE = 100

# Names that publishing systems use, and the front matter's key that means the same.
_NAMES = {
    "date": "date", "dc.date": "date", "dcterms.date": "date",
    "article:modified_time": "updated", "og:updated_time": "updated", "datemodified": "updated",
    "dcterms.modified": "updated", "dc.date.modified": "updated", "modified": "updated",
    "last-modified": "updated", "last_modified": "updated", "lastmod": "updated",
    "last-updated": "updated", "updated_at": "updated", "revised": "updated", "ms.date": "ms.date",
    "article:published_time": "published", "datepublished": "published",
    "dcterms.issued": "published", "dc.date.issued": "published", "pubdate": "published",
    "publish_date": "published", "publish-date": "published", "citation_publication_date": "date",
    "dcterms.created": "created", "dc.date.created": "created", "datecreated": "created",
}  # fmt: skip


def html_dates(source: str) -> dict[str, str]:
    """The dates of a page as written, by what they mean: the first of each.

    Keys: ``date``, ``updated``, ``ms.date``, ``published``, ``created``.

    >>> html_dates('<meta property="article:modified_time" content="2024-05-06T07:08:09Z">')
    {'updated': '2024-05-06T07:08:09Z'}
    """
    target = _Dates()
    feed_html(clean_text(source[:HEAD]), target)
    return target.found


class _Dates:
    """A parser target: gathers dates."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self.script: list[str] | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "script" and attributes.get("type", "").lower() == "application/ld+json":
            self.script = []
        value = attributes.get("content") if tag == "meta" else attributes.get("datetime")
        for name in ("name", "property", "itemprop", "http-equiv"):
            self._keep(attributes.get(name), value)
        if tag == "time" and "pubdate" in attributes:
            self._keep("pubdate", value)

    def end(self, tag: str) -> None:
        if tag == "script" and self.script is not None:
            text, self.script = "".join(self.script), None
            with suppress(ValueError, RecursionError):
                self._linked_data(json.loads(text[:_LONGEST_JSON]))

    def data(self, text: str) -> None:
        if self.script is not None:
            self.script.append(text)

    def close(self) -> None:
        pass

    def _linked_data(self, value: Any) -> None:
        """A thing, a list of things, or a graph of things."""
        for thing in value if isinstance(value, list) else [value]:
            if isinstance(thing, dict):
                for name in ("dateModified", "datePublished", "dateCreated"):
                    self._keep(name, thing.get(name))
                if isinstance(thing.get("@graph"), list):
                    self._linked_data(thing["@graph"])

    def _keep(self, name: str | None, value: object) -> None:
        key = _NAMES.get((name or "").strip().lower())
        if key and isinstance(value, str) and 0 < len(value.strip()) <= _LONGEST_DATE:
            self.found.setdefault(key, value.strip())
