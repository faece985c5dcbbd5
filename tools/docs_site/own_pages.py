"""The pages that people wrote, with links that hold inside the site.

A file of the repository that a page links, such as an example, becomes a page that shows it.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

_LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
_IMAGES = (".png", ".svg")
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".toml": "toml", ".sh": "bash", ".service": "ini"}
_CODE = re.compile(r"^```.*?^```$|^    [^\n]*$", re.DOTALL | re.MULTILINE)

OTHERS = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "measured.md",
    "benchmarks/notes/measurements.md": "notes.md",
    "benchmarks/quality.md": "quality.md",
}
"""Pages outside of ``docs/``, and what they are in the site."""


def own_pages(root: Path) -> dict[str, str | bytes]:
    """Every written page of the repository at ``root``, and what they show and link.

    Raises:
        FileNotFoundError: a page links a file that there is not.
    """
    homes = {f"docs/{page.name}": page.name for page in sorted((root / "docs").glob("*.md"))}
    homes |= {page: to for page, to in OTHERS.items() if (root / page).is_file()}
    linked: dict[str, str] = {}
    pages: dict[str, str | bytes] = {
        to: _with_links(root, page, to, homes, linked) for page, to in homes.items()
    }
    for path, to in linked.items():
        one = root / path
        pages[to] = one.read_bytes() if path.endswith(_IMAGES) else _shown(one, path)
    return pages


def _with_links(
    root: Path, page: str, to: str, homes: dict[str, str], linked: dict[str, str]
) -> str:
    """The text of a page; files that it links are added to ``linked``."""

    def changed(match: re.Match[str]) -> str:
        link = match[1]
        if re.match(r"[a-z]+:|#", link):
            return link
        path, mark, anchor = link.partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if target not in homes:
            if not (root / target).exists():
                raise FileNotFoundError(f"{page} links {link}, which there is not")
            linked[target] = target if target.endswith(_IMAGES) else f"files/{target}.md"
        there = homes.get(target) or linked[target]
        return posixpath.relpath(there, posixpath.dirname(to) or ".") + mark + anchor

    text = (root / page).read_text("utf-8")
    parts = []
    place = 0
    for block in _CODE.finditer(text):  # code has no links
        parts += [_LINK.sub(changed, text[place : block.start()]), block[0]]
        place = block.end()
    return "".join([*parts, _LINK.sub(changed, text[place:])])


def _shown(path: Path, name: str) -> str:
    """A page that shows a file, or every text of a folder."""
    if path.is_file():
        return f"# {path.name}\n\n`{name}`\n\n{_code(path)}"
    files = [one for one in _texts(path) if not one.name.startswith(".")]
    sections = (f"## {one.relative_to(path).as_posix()}\n\n{_code(one)}" for one in files)
    return f"# {path.name}\n\n`{name}/`\n\n" + "".join(sections)


def _texts(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in (*_LANGUAGES, ".md", ".txt"):
            yield path


def _code(path: Path) -> str:
    language = _LANGUAGES.get(path.suffix, "docker" if path.name == "Dockerfile" else "text")
    return f"````{language}\n{path.read_text('utf-8').rstrip()}\n````\n\n"
