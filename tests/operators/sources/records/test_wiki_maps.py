"""Pages of Notion, of GitLab's wiki and of Confluence's export, by the maps that come along."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from dataflow.configuration.loader import shipped_maps
from operators.sources.formats.html import element_text
from operators.sources.protocol import Document, ReadIssue
from operators.sources.reader import reader_source
from operators.sources.records.record_map import read_map
from operators.sources.records.record_source import records_source
from tests.support.whole_scan import read_all

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
    return read_all(records_source(folder, read_map(name, shipped_maps()), **how))


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

    (page,) = read_all(reader_source([Made()], read_map("llamaindex", shipped_maps())))
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


EXPORTED = """<!DOCTYPE html><html><head><title>Engineering : Proxy : rules</title></head><body>
<div id="page"><div id="main-header"><div id="breadcrumb-section"><ol id="breadcrumbs">
<li class="first"><span><a href="index.html">Engineering</a></span></li>
<li><span><a href="Ops_12.html">Ops - all</a></span></li></ol></div>
<h1 id="title-heading" class="pagetitle"><span id="title-text">
   Engineering : Proxy : rules </span></h1></div>
<div id="content" class="view"><div class="page-metadata">
   Created by <span class='author'> Ada</span>, last modified by <span class='editor'> Bo</span>
   on Jan 05, 2026 </div>
<div id="main-content" class="wiki-content group"><h1>Steps</h1><div><div>Trust<br>the
<b>balancer</b>.</div></div><pre>a = 1</pre></div>
<div class="pageSection group"><h2 id="attachments">Attachments:</h2></div></div></div>
<div id="footer"><p>Document generated by Confluence on Jan 07, 2026 10:00</p></div>
</body></html>"""
INDEX = '<h1 id="title-text">Engineering</h1><div id="main-content">All pages</div>'


@pytest.mark.parametrize("zipped", [False, True])
def test_a_page_of_confluences_export_is_read_without_what_surrounds_it(
    tmp_path: Path, zipped: bool
) -> None:
    pages = {"ENG/Proxy--rules_77.html": EXPORTED, "ENG/index.html": INDEX, "ENG/site.css": "b{}"}
    if zipped:
        path = tmp_path / "export.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in pages.items():
                archive.writestr(name, text)
    else:
        path = tmp_path / "export"
        (path / "ENG").mkdir(parents=True)
        for name, text in pages.items():
            (path / name).write_text(text, "utf-8")
    read = read_map("confluence", shipped_maps())
    (page,) = read_all(records_source(path, read, base_url="https://w.example/wiki"))
    assert (page.corpus, page.repo, page.document_id) == ("wiki", "ENG", "77")
    assert (page.title, page.path) == ("Proxy : rules", "Engineering/Ops - all/Proxy : rules")
    assert page.text == "# Steps\n\nTrust\nthe balancer.\n    a = 1"
    assert page.created_at.isoformat() == "2026-01-05T00:00:00+00:00"
    assert json.loads(page.metadata) == {"authors": ["Bo"], "space": "Engineering"}
    assert page.uri == "https://w.example/wiki/pages/viewpage.action?pageId=77"


def test_a_page_of_confluences_export_may_lack_an_editor_and_a_date(tmp_path: Path) -> None:
    start, end = EXPORTED.split(", last modified by")[0], EXPORTED.split("2026 ", 1)[1]
    (tmp_path / "77.html").write_text(start + end, "utf-8")
    (tmp_path / "photo.html").write_bytes(b"\0\xff")
    read = read_map("confluence", shipped_maps())
    (page,) = read_all(records_source(tmp_path, read, repo="ENG"))
    assert (page.repo, page.document_id, page.created_at) == ("ENG", "77", None)
    assert json.loads(page.metadata)["authors"] == ["Ada"]


def test_the_text_of_an_element_costs_no_more_than_its_page_and_ends_with_it() -> None:
    page = "<div>" * 100_000 + '<p class="b a">in<br><i>side</i></p>out' + "</div>" * 100_000
    assert element_text(page, "a") == "in\nside"
    assert element_text('<div id="a"><div id="a">1</div>2</div><p id="a">3', "a") == "1\n2"
    assert element_text('<img id="a">after', "a") == ""
    assert element_text("<p>no</p>", "a") == ""
