"""Write every page of the site, and the file that the generator reads: ``make docs``."""

import shutil
import sys
from importlib import metadata
from pathlib import Path

from tools.docs_site.api_pages import api_pages
from tools.docs_site.cli_pages import cli_pages
from tools.docs_site.config_pages import config_pages
from tools.docs_site.frame_pages import frame_pages
from tools.docs_site.navigation import settings
from tools.docs_site.node_pages import graph_on_one_page, node_pages
from tools.docs_site.own_pages import own_pages
from tools.docs_site.pictures import Draw, svg

ROOT = Path(__file__).parents[2]
FILES = ("site.css", "iframe-worker.js")


def all_pages(draw: Draw) -> dict[str, str | bytes]:
    """Every page by its path; ``draw`` makes the pictures."""
    written, made = own_pages(ROOT), reference(draw)
    if twice := sorted(written.keys() & made.keys()):
        raise ValueError(f"a page of this name is made from the code: {', '.join(twice)}")
    return {
        **written,
        **made,
        **{name: (Path(__file__).parent / name).read_bytes() for name in FILES},
    }


def reference(draw: Draw) -> dict[str, str]:
    """The pages that are made from the code."""
    return {
        **cli_pages(),
        **config_pages(),
        **api_pages(),
        **frame_pages(),
        **node_pages(draw),
        "graph.md": graph_on_one_page(draw),
    }


def main(folder: Path) -> None:
    """Write the pages and ``mkdocs.yml`` to a folder, which loses what it has."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = all_pages(svg)
    for name, text in pages.items():
        path = folder / "pages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (folder / "mkdocs.yml").write_text(settings(pages, metadata.version("crosscorpus")), "utf-8")
    print(f"{folder}: {sum(name.endswith('.md') for name in pages)} pages")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
