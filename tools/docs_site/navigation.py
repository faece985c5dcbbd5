"""The order of the pages, and the file that tells the generator of it."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tools.docs_site.node_pages import stages
from tools.docs_site.nodes import GRAPHS

SECTIONS = {
    "Start": ("index", "start", "changelog"),
    "Concepts": ("concepts", "graph", "architecture"),
    "Guides": (
        *("ingest", "ask", "experiment", "evaluate", "benchmark", "extend", "own_pipeline"),
        *("records", "serve", "review", "rights", "scale", "backup", "frameworks", "models"),
        *("contributing", "security"),
    ),
    "Explanations": ("versions", "fusion", "near_duplicates", "measured", "quality"),
}
"""The pages of each section; one that there is not yet is left out."""

_TITLES = {
    "index.md": "crosscorpus",
    "reference/nodes/index.md": "All graphs",
    "reference/cli/index.md": "All commands",
}


def navigation(pages: Mapping[str, str | bytes]) -> list[dict[str, Any]]:
    """The sections with their pages; a written page of no section is a guide."""
    named = {f"{page}.md" for of in SECTIONS.values() for page in of}
    others = [page for page in pages if "/" not in page and page.endswith(".md")]
    sections = []
    for section, of in SECTIONS.items():
        listed = [f"{page}.md" for page in of]
        if section == "Guides":
            listed += [page for page in others if page not in named]
        sections.append({section: _titled(pages, (page for page in listed if page in pages))})
    sections.insert(3, {"Reference": _reference(pages)})
    return sections


def _reference(pages: Mapping[str, str | bytes]) -> list[dict[str, Any]]:
    commands = sorted(page for page in pages if page.startswith("reference/cli/"))
    commands.sort(key=lambda page: page != "reference/cli/index.md")
    nodes: list[dict[str, Any]] = _titled(pages, ["reference/nodes/index.md"])
    for graph in GRAPHS:
        of = [f"reference/nodes/{graph}.md"]
        of += [f"reference/nodes/{graph}_{stage}.md" for stage in stages(graph)]
        nodes.append({graph.capitalize(): _titled(pages, of)})
    alone = [f"reference/{name}.md" for name in ("python", "stages", "frames")]
    configuration = [f"reference/{name}.md" for name in ("configuration", "configurations")]
    return [
        {"Command line": _titled(pages, commands)},
        *_titled(pages, [*configuration, *alone]),
        {"Nodes": nodes},
    ]


def _titled(pages: Mapping[str, str | bytes], names: Iterable[str]) -> list[dict[str, Any]]:
    return [{_title(name, pages[name]): name} for name in names]


def _title(name: str, text: str | bytes) -> str:
    """The title of a page: its first heading, without the name of its graph."""
    match = re.search(r"^# (.+)$", str(text), re.MULTILINE)
    title = match[1] if match else name.removesuffix(".md")
    return _TITLES.get(name) or re.sub(r"\s\(\w+\)$|^crosscorpus (?=\w)", "", title)


def settings(pages: Mapping[str, str | bytes], version: str) -> str:
    """The text of ``mkdocs.yml``, as JSON, which is YAML too.

    Zensical reads it, and so does MkDocs with Material. Links are files, so that a folder of the
    built site opens without a server; ``offline`` makes the search work there. Fonts are those of
    the reader's machine.
    """
    return json.dumps(
        {
            "site_name": f"crosscorpus {version}",
            "docs_dir": "pages",
            "site_dir": "site",
            "use_directory_urls": False,
            "nav": navigation(pages),
            "theme": {
                "name": "material",
                "font": False,
                "features": ["navigation.tabs", "navigation.top", "toc.follow", "search.highlight"],
                "palette": [
                    _palette("(prefers-color-scheme: light)", "default", "dark", "weather-sunny"),
                    _palette("(prefers-color-scheme: dark)", "slate", "light", "weather-night"),
                ],
            },
            # where a script of this name is set, the generator fetches none from elsewhere
            "extra": {"generator": False, "polyfills": ["iframe-worker.js"]},
            "extra_css": ["site.css"],
            "plugins": ["search", "offline"],
            "markdown_extensions": [
                *("attr_list", "tables", "md_in_html", {"toc": {"permalink": True}}),
                *("pymdownx.highlight", "pymdownx.superfences", "sane_lists"),
            ],
            "validation": {
                "nav": {"omitted_files": "ignore", "not_found": "warn"},
                "links": {"not_found": "warn", "anchors": "warn", "unrecognized_links": "warn"},
            },
        },
        indent=1,
    )


def _palette(media: str, scheme: str, other: str, icon: str) -> dict[str, Any]:
    toggle = {"icon": f"material/{icon}", "name": f"Switch to {other} mode"}
    return {"media": media, "scheme": scheme, "primary": "indigo", "toggle": toggle}
