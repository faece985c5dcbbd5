"""Wikis: pages in a folder, in a clone and in a dump."""

from __future__ import annotations

import bz2
import gzip
import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wiki_pages import documents, faults, page
from working_tree import EPOCH, git

from operators.sources.formats.headings import headings
from operators.sources.jsonl import SourceError
from operators.sources.wiki import mediawiki_dump
from operators.sources.wiki.wiki_source import wiki_source
from operators.sources.wiki.wikitext import redirect_target, wikitext_text


def text(source: str) -> str:
    return wikitext_text(source).text.removesuffix("\n")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[[Page]]s, [[Page|the page]], [[:Category:A]]", "Pages, the page, Category:A"),
        ("{{Note|Do not|type=x}}", "Do not x"),
        ("a<ref name='x'>cite</ref>b<br/>c <b>d</b>", "ab\nc d"),
        ("a<!-- b -->c<!-- never closed", "ac"),
        ("<nowiki>[[a]] {{b}} ''c''</nowiki>", "[[a]] {{b}} ''c''"),
        ("[[File:a.png|thumb|200px|A [[nice|fine]] one]]", "A fine one"),
        ("{|\n|+ Cap\n! A !! style='x' | B\n|-\n| 1 || 2\n|}", " Cap\nA | B\n1 | 2"),
    ],
)
def test_markup_becomes_text(source: str, expected: str) -> None:
    assert text(source) == expected


def test_categories_are_told_apart_from_the_text() -> None:
    made = wikitext_text("a [[Category:B c|sort]]\n[[Kategorie:D]]")
    assert (made.text, made.categories) == ("a\n", ["B c", "D"])


def test_headings_stay_and_none_is_made_from_code() -> None:
    made = text(
        "== A ==\nx\n<pre>\n== no ==\n</pre>\n<nowiki>== no ==</nowiki>\n"
        "<!--\n== no ==\n-->\n=== B ==="
    )
    assert [(h.level, h.text) for h in headings(made, "a.wiki")] == [(2, "A"), (3, "B")]
    assert made.count("== no ==") == 2


def test_what_is_never_closed_is_text() -> None:
    assert text("a {{b|c") == "a b|c"
    assert text("a ]] b }} c") == "a  b  c"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a &#xE000;7&#xE000; b", "a  7  b"),
        ("<nowiki>kept</nowiki> x &#xE000;0&#xE000;", "kept x  0"),
        ("<nowiki>&#57344;0&#57344;</nowiki>&amp;lt;", "\ue0000\ue000&lt;"),
    ],
)
def test_an_entity_never_repeats_what_was_kept(source: str, expected: str) -> None:
    assert text(source) == expected


def test_a_redirect_is_known() -> None:
    assert redirect_target("#REDIRECT [[Other|x]]") == "Other"
    assert redirect_target("#WEITERLEITUNG [[Andere]]") == "Andere"
    assert redirect_target("# item [[x]]") is None


@pytest.mark.parametrize(
    "hostile",
    [
        "{{" * 30_000, "[[" * 30_000, "'''a " * 20_000, "{|\n" * 20_000,
        "{{[[" * 10_000 + "]]}}" * 10_000, "|" + "a=" * 30_000, "== a" + " " * 50_000 + "b",
        "<nowiki>" * 20_000, "[http://a " * 20_000, "<syntaxhighlight>" * 10_000,
    ],
    ids=lambda text: text[:9],
)  # fmt: skip
def test_a_hostile_page_costs_no_more_than_its_length(hostile: str) -> None:
    began = time.process_time()
    made = text(hostile)
    headings(made, "a.wiki")
    assert time.process_time() - began < 3


@given(
    st.lists(
        st.text(alphabet="ab={}[]|'<>!-/& \nrefnowik\ue000" + "1")
        | st.sampled_from(["&#xE000;", "<nowiki>", "</nowiki>"])
    ).map("".join)
)
def test_any_text_is_read(source: str) -> None:
    wikitext_text(source)


def test_pages_of_a_folder_have_names_namespaces_and_text(tmp_path: Path) -> None:
    (tmp_path / "guides").mkdir()
    (tmp_path / "guides/How-to-start.md").write_text("# Start\n")
    (tmp_path / "Help:Editing.mediawiki").write_text("== A ==\n'''b''' [[Category:C]]\n")
    found = documents(tmp_path)
    assert {(d.title, d.text, d.language) for d in found.values()} == {
        ("How to start", "# Start\n", "markdown"),
        ("Editing", "== A ==\nb\n", "mediawiki"),
    }
    editing = json.loads(found["Help:Editing.mediawiki"].metadata)
    assert (editing["namespace"], editing["categories"]) == ("Help", ["C"])
    assert json.loads(found["guides/How-to-start.md"].metadata)["namespace"] == "guides"
    assert {(d.corpus, d.repo) for d in found.values()} == {("wiki", tmp_path.name)}


def test_a_clone_dates_a_page_by_its_last_commit_and_links_to_the_forge(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "remote", "add", "origin", "https://github.com/org/app.wiki.git")
    for name, when in (("Home.md", EPOCH), ("Set up.md", EPOCH + 1000)):
        (tmp_path / name).write_text("# A\n")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", "m", when=when)
    found = documents(tmp_path)
    home = found["Home.md"]
    assert home.created_at == datetime.fromtimestamp(EPOCH + 60, UTC)  # of the committer
    assert (home.date_source, home.repo) == ("git", "org/app")
    assert json.loads(home.metadata)["last_modified"].startswith("2020-09-13")
    assert {d.uri for d in found.values()} == {
        "https://github.com/org/app/wiki/Home",
        "https://github.com/org/app/wiki/Set%20up",
    }


def test_what_is_no_page_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "Home.md").write_text("x")
    (tmp_path / "_Sidebar.md").write_text("x")
    (tmp_path / "a.png").write_text("x")
    (tmp_path / "a.").write_text("x")
    (tmp_path / "b.wiki").write_text("#REDIRECT [[Home]]")
    (tmp_path / "c.md").symlink_to("/etc/passwd")
    assert faults(tmp_path) == {
        "_Sidebar.md": ("part of every page, no page of its own", False),
        "a.png": ("no wiki page: .png", False),
        "a.": ("no wiki page: no ending", False),
        "b.wiki": ("redirect to Home", False),
        "c.md": ("symbolic link", False),
    }
    assert list(documents(tmp_path)) == ["Home.md"]


def test_an_empty_or_missing_wiki_is_no_complete_scan(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is it mounted"):
        list(wiki_source(tmp_path).scan())
    with pytest.raises(SourceError, match="does not exist"):
        wiki_source(tmp_path / "none")


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


@pytest.mark.parametrize("ids", [("10", "9"), ("", "9")])
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
    )
    assert list(documents(file)) == ["New"]
    assert faults(file) == {
        "Old": ("redirect", False),
        "Template:A": ("template, module or interface message", False),
        "User:A/a.css": ("no prose: css", False),
    }


def test_a_packed_dump_is_read(tmp_path: Path) -> None:
    file = tmp_path / "d.xml.bz2"
    file.write_bytes(bz2.compress(DUMP.format(pages=page("A")).encode()))
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
