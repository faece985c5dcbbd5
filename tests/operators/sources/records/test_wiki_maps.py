"""Pages of Notion, of GitLab's wiki and of Confluence's export, by the maps that come along."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dataflow.configuration.loader import shipped_maps
from operators.sources.protocol import Document, ReadIssue
from operators.sources.reader import reader_source
from operators.sources.records.record_map import read_map
from operators.sources.records.record_source import records_source

NAME = {"type": "title", "title": [{"plain_text": "Proxy "}, {"plain_text": "rules"}]}
PAGE = {
    "object": "page",
    "id": "5983-3787",
    "created_time": "2025-01-05T10:00:00.000Z",
    "last_edited_time": "2026-02-05T10:00:00.000Z",
    "created_by": {"object": "user", "id": "u1"},
    "parent": {"type": "page_id", "page_id": "1111"},
    "archived": False,
    "url": "https://www.notion.so/Proxy-rules-59833787",
    "properties": {"Tags": {"type": "multi_select", "multi_select": []}, "Name": NAME},
}


def block(kind: str, *texts: str, **more: Any) -> dict[str, Any]:
    """A block of :data:`PAGE`, as Notion lists it."""
    parent = {"type": "page_id", "page_id": PAGE["id"]}
    content = {"rich_text": [{"plain_text": one} for one in texts]} | more
    edited = {"created_time": PAGE["created_time"], "last_edited_time": PAGE["last_edited_time"]}
    return {"object": "block", "type": kind, "parent": parent, kind: content} | edited


BLOCKS = [
    block("heading_2", "Steps"),
    block("paragraph", "Trust ", "the balancer."),
    block("to_do", "tell all", checked=False),
    block("code", "# a = 1", language="python"),
]
TEXT = "## Steps\n\nTrust the balancer.\n\n- tell all\n\n~~~\n# a = 1\n~~~"


def read(folder: Path, name: str, *values: Any, **how: Any) -> list[Any]:
    """What the map ``name`` makes of files with one value each, in this order."""
    for number, one in enumerate(values):
        (folder / f"{number}.json").write_text(json.dumps(one), "utf-8")
    return list(records_source(folder, read_map(name, shipped_maps()), **how).scan())


def test_a_page_of_notion_has_the_blocks_that_were_listed_beside_it(tmp_path: Path) -> None:
    (tmp_path / "users.json").write_text(json.dumps([{"id": "u1", "name": "Ada"}]), "utf-8")
    (page,) = read(tmp_path, "notion", {"object": "list", "results": BLOCKS}, PAGE)
    assert (page.corpus, page.document_id, page.title) == ("wiki", "5983-3787", "Proxy rules")
    assert page.text == TEXT
    assert page.uri == PAGE["url"]
    assert page.created_at.isoformat() == "2026-02-05T10:00:00+00:00"
    metadata = {"authors": ["Ada"], "created": PAGE["created_time"], "parent": "1111"}
    assert json.loads(page.metadata) == metadata


def test_a_page_of_notion_may_have_its_text_in_it_or_as_markdown(tmp_path: Path) -> None:
    written = {"object": "page_markdown", "id": "m", "markdown": "# Why\n\nIt looped."}
    pages = [PAGE | {"blocks": BLOCKS}, PAGE | {"id": "t", "text": "Said."}, PAGE | {"id": "m"}]
    gone = [PAGE | {"id": "a", "archived": True}, PAGE | {"id": "b", "in_trash": True}]
    untitled = PAGE | {"id": "u", "text": "x", "properties": {}}
    found = read(tmp_path, "notion", {"results": [*pages, *gone, untitled]}, written)
    assert {one.document_id: (one.title, one.text) for one in found} == {
        "5983-3787": ("Proxy rules", TEXT),
        "t": ("Proxy rules", "Said."),
        "m": ("Proxy rules", "# Why\n\nIt looped."),
        "u": ("Untitled", "x"),
    }


def test_blocks_of_notion_without_their_page_leave_the_stored_page(tmp_path: Path) -> None:
    (issue,) = read(tmp_path, "notion", {"results": BLOCKS})
    assert isinstance(issue, ReadIssue)
    assert issue.key == ("wiki", "", "5983-3787")


def test_a_page_of_llamaindexs_reader_of_notion_has_a_title_and_an_address() -> None:
    class Made:
        id_, text, metadata = "5983-3787", "\nProxy rules\n\nTrust.\n", {"page_id": "5983-3787"}

    (page,) = reader_source([Made()], read_map("llamaindex", shipped_maps())).scan()
    assert isinstance(page, Document)
    assert (page.title, page.uri) == ("Proxy rules", "https://www.notion.so/59833787")


def test_a_page_of_gitlabs_wiki_has_its_place_and_address(tmp_path: Path) -> None:
    page = {"slug": "ops/proxy", "title": "proxy", "format": "markdown", "encoding": "UTF-8"}
    home = "https://gitlab.example/g/app"
    pages = [page | {"content": "# Proxy\n\nTrust.<!-- no -->"}, page | {"slug": "listed-only"}]
    (found,) = read(tmp_path, "gitlab", pages, repo="g/app", base_url=home)
    assert (found.corpus, found.repo, found.document_id) == ("wiki", "g/app", "ops/proxy")
    assert (found.title, found.path, found.uri) == (
        "proxy",
        "ops/proxy",
        f"{home}/-/wikis/ops/proxy",
    )
    assert found.text == "# Proxy\n\nTrust."
