"""What is wrong with a built site: a link that leads nowhere, or a file fetched from elsewhere.

The generator checks the links of Markdown; here those of pictures and of tables are too.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_FETCHED = {
    **{"script": ("src",), "img": ("src", "srcset"), "iframe": ("src",), "source": ("src",)},
    **{"image": ("href", "xlink:href"), "use": ("href", "xlink:href"), "video": ("src",)},
}
_LINK_RELS = (
    "stylesheet",
    "preload",
    "icon",
    "preconnect",
    "dns-prefetch",
    "manifest",
    "modulepreload",
)
_OF_CSS = re.compile(r"(?:url\(\s*|@import\s+)[\"']?((?:https?:)?//[^\"')\s]+)")


class _Page(HTMLParser):
    """The anchors of a page, where its links lead, and what it fetches."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what a tag names."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        rels = values.get("rel", "").split()
        names = _FETCHED.get(tag, ())
        if tag == "link" and any(rel in _LINK_RELS for rel in rels):
            names = ("href",)
        self.fetched += [values[name] for name in names if name in values]
        self.fetched += _OF_CSS.findall(values.get("style", ""))
        if tag == "a":
            self.links += [values[name] for name in ("href", "xlink:href") if name in values]


def faults(site: Path) -> Iterator[str]:
    """Each fault of the site in a folder, in a line."""
    pages = {path.resolve(): _read(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        yield from (f"{where} fetches {one}" for one in page.fetched if _elsewhere(one))
        for link in [*page.links, *(one for one in page.fetched if not _elsewhere(one))]:
            if where.name != "404.html" and (fault := _broken(path, link, pages)):
                yield f"{where} links {link}: {fault}"
    for path in sorted(site.rglob("*.css")):
        for one in _OF_CSS.findall(path.read_text("utf-8")):
            yield f"{path.relative_to(site)} fetches {one}"


def _read(path: Path) -> _Page:
    page = _Page()
    text = path.read_text("utf-8")
    page.feed(text)
    for style in re.findall(r"<style[^>]*>(.*?)</style>", text, re.DOTALL):
        page.fetched += _OF_CSS.findall(style)
    return page


def _elsewhere(address: str) -> bool:
    return bool(urlsplit(address).netloc)


def _broken(path: Path, link: str, pages: dict[Path, _Page]) -> str:
    """Why a link leads nowhere; "" where it does not, or leads out of the site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return "no such file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "no such anchor"
    return ""


if __name__ == "__main__":
    lines = list(faults(Path(sys.argv[1])))
    print("\n".join(lines) or f"{sys.argv[1]}: every link holds, and nothing is fetched elsewhere")
    sys.exit(bool(lines))
