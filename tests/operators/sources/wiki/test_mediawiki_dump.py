"""A MediaWiki XML dump, read as a stream."""

from __future__ import annotations

import bz2
import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from wiki_pages import documents, faults, page

from operators.sources.jsonl import SourceError
from operators.sources.wiki import mediawiki_dump
from operators.sources.wiki.wiki_source import wiki_source

DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/"><siteinfo>
  <sitename>Team wiki</sitename><dbname>team</dbname><base>https://wiki.example.org/wiki/Main</base>
  <namespaces><namespace key="0" /><namespace key="12">Help</namespace></namespaces></siteinfo>
{pages}</mediawiki>"""


def dump(folder: Path, *pages: str, name: str = "dump.xml") -> Path:
    file = folder / name
    file.write_text(DUMP.format(pages="".join(pages)))
    return file


def test_the_newest_revision_of_a_dumps_page_counts(tmp_path: Path) -> None:
    found = documents(dump(tmp_path, page("Über uns", "== A ==\n''b'' &amp;lt;"), page("C", ns=12)))
    about = found["Über uns"]
    assert about.text == "== A ==\nb <\n"
    assert about.created_at == datetime(2021, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert about.uri == "https://wiki.example.org/wiki/%C3%9Cber_uns"
    assert (about.repo, about.path) == ("team", "Über uns.mediawiki")
    assert json.loads(found["C"].metadata)["namespace"] == "Help"
    assert json.loads(about.metadata)["revision"] == "2"


@pytest.mark.parametrize("ids", [("10", "9"), ("9", "10"), ("", "9"), ("9" * 20, "9")])
def test_of_two_revisions_of_one_second_the_one_with_the_higher_number_counts(
    tmp_path: Path, ids: tuple[str, str]
) -> None:
    revisions = [
        f"<revision><id>{number}</id><timestamp>2021-01-02T03:04:05Z</timestamp>"
        f"<model>wikitext</model><text>revision {number}</text></revision>"
        for number in ids
    ]
    file = dump(tmp_path, f"<page><title>A</title><ns>0</ns>{''.join(revisions)}</page>")
    number = "10" if "10" in ids else "9"
    assert documents(file)["A"].text == f"revision {number}\n"


def test_pages_of_a_dump_that_are_no_prose_are_left_out(tmp_path: Path) -> None:
    file = dump(
        tmp_path,
        page("Old", redirect='<redirect title="New"/>'),
        page("Template:A", ns=10),
        page("User:A/a.css", model="css"),
        page("New"),
        page("New", "again"),
    )
    assert list(documents(file)) == ["New"]
    assert faults(file) == {
        "Old": ("redirect", False),
        "Template:A": ("template, module or interface message", False),
        "User:A/a.css": ("no prose: css", False),
        "New": ("a page has this name already", True),
    }


@pytest.mark.parametrize(
    ("pack", "name"), [(gzip.compress, "d.xml.gz"), (bz2.compress, "d.xml.bz2")]
)
def test_a_packed_dump_is_read(tmp_path: Path, pack: Any, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(pack(DUMP.format(pages=page("A")).encode()))
    assert list(documents(file)) == ["A"]


@pytest.mark.parametrize(
    "head",
    [
        '<!DOCTYPE m [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;">]>',
        '<!DOCTYPE m SYSTEM "file:///etc/passwd">',
        "<!-- " + "x" * 70_000 + ' --><!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    ],
)
def test_a_dump_that_declares_anything_is_refused(tmp_path: Path, head: str) -> None:
    file = tmp_path / "dump.xml"
    file.write_text(head + DUMP.format(pages=page("A", "&b;")))
    with pytest.raises(SourceError, match="declares"):
        documents(file)


def test_a_declaration_in_another_encoding_is_no_xml(tmp_path: Path) -> None:
    file = tmp_path / "dump.xml"
    text = '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE m [<!ENTITY a "x">]>'
    file.write_bytes((text + DUMP.format(pages=page("A", "&a;"))).encode("utf-16"))
    with pytest.raises(SourceError):
        documents(file)


def test_a_cut_dump_is_no_complete_scan(tmp_path: Path) -> None:
    file = dump(tmp_path, page("A"), page("B"))
    file.write_text(file.read_text()[:-200])
    with pytest.raises(SourceError, match="damaged or cut"):
        documents(file)


def test_what_is_no_dump_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    badly_packed = gzip.compress(b"")[:10] + b"\xff" * 50
    for content in (b"", b"text", b"<html/>", b"\x1f\x8bdamaged", badly_packed):
        file.write_bytes(content)
        with pytest.raises(SourceError):
            wiki_source(file)


def test_a_page_beyond_the_bound_ends_the_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = dump(tmp_path, page("A"), page("B", "x" * 500_000))
    monkeypatch.setattr(mediawiki_dump, "MAX_PAGE", 200_000)
    with pytest.raises(SourceError, match="larger than 200000 bytes"):
        documents(file)
