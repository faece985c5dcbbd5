"""The dates that a web page states about itself in elements ``meta``.

Dates in the page's text do not count: a page has many, and few are its own.
"""

from operators.foundation.sanitize import clean_text
from operators.sources.formats.html import feed_html

HEAD = 128 * 1024
"""Maximum characters of a page that are read."""

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

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        value = attributes.get("content", "").strip() if tag == "meta" else ""
        for name in ("name", "property", "itemprop", "http-equiv"):
            key = _NAMES.get(attributes.get(name, "").strip().lower())
            if key and 0 < len(value) <= _LONGEST_DATE:
                self.found.setdefault(key, value)

    def end(self, tag: str) -> None:
        pass

    def data(self, text: str) -> None:
        pass

    def close(self) -> None:
        pass
