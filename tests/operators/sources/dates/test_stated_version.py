from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.sources.dates.stated_version import document_version
from operators.versions.named_version import lineage_of
from operators.versions.version_key import version_key

DATA = Path(os.environ.get("CROSSCORPUS_TEST_DATA", "../shared/data"))
if not DATA.is_absolute():
    DATA = Path(__file__).parents[4] / DATA
RAW = DATA / "versionrag" / "raw"


@pytest.mark.parametrize(
    ("path", "version", "source"),
    [
        ("assert_nodejs_18.20.8.md", "18.20.8", "name"),
        ("Spark_Release_3.5.3_Apache_Spark.pdf", "3.5.3", "name"),
        ("Release_v5.3.1_twbs_bootstrap.md", "5.3.1", "name"),
        ("_releases/0.18.0.md", "0.18.0", "name"),
        ("python-3.11.md", "3.11", "name"),
        ("gitlab-15.2.md", "15.2", "name"),
        ("config_1.2.md", "1.2", "name"),
        ("research 1.2.md", "1.2", "name"),
        ("foo-1.0.0-rc.1.md", "1.0.0-rc.1", "name"),
        ("foo-1.2.3", "1.2.3", "name"),
        ("v2.pdf", "2", "name"),
        ("docs/v1.2/guide.md", "1.2", "path"),
        ("docs/1.2.3/guide.md", "1.2.3", "path"),
        ("docs\\1.2.x\\guide.md", "1.2.x", "path"),
        ("versioned_docs/version-1.10/guide.md", "1.10", "path"),
        ("node-v18.20.8-docs/guide.md", "18.20.8", "path"),
        ("v1/docs/v2/guide.md", "2", "path"),
        ("v1/guide-3.4.5.md", "3.4.5", "name"),
        ("api/v1beta1/guide.md", "1beta1", "path"),
    ],
)
def test_a_version_is_found_in_the_path(path: str, version: str, source: str) -> None:
    assert document_version(path) == (version, source)


@pytest.mark.parametrize(
    "path",
    [
        None,
        "",
        "guide.md",
        "2019-05-01-notes.md",
        "release-2024-05-01-notes.md",
        "report_2019.05.01.pdf",
        "1.2-overview.md",
        "chapter-1.2-intro.md",
        "exercise-1.2.md",
        "course/Lab_1.2.md",
        "course/lecture 1.2/notes.md",
        "adr-1.2.md",
        "RFC-2119.txt",
        "bip-0032.mediawiki",
        "docs/18/sql.html",
        "docs/latest/guide.md",
        "python3.11/guide.md",
    ],
)
def test_a_number_that_is_no_version_is_left_alone(path: str | None) -> None:
    assert document_version(path) == (None, None)


def test_h29_front_matter_says_the_version_as_it_was_written() -> None:
    for text in ("---\nversion: 1.10\n---\n", "+++\nversion = 1.10\n+++\n"):
        assert document_version("docs/v9/a.md", text) == ("1.10", "front_matter")
    text = "---\ntitle: a: b\nversion: v1.10\n---\n"
    assert document_version("a.md", text) == ("1.10", "front_matter")


def test_h38_the_revision_line_says_the_version() -> None:
    text = "= T\nA <a@b>\nv1.0, 2025-03-15\n"
    assert document_version("a.adoc", text) == ("1.0", "asciidoc")
    assert document_version("a.adoc", "= T\n:revnumber: 2.0\n") == ("2.0", "asciidoc")
    assert document_version("a.md", text) == (None, None)


@pytest.mark.parametrize("value", ["{{ version }}", "latest", "a b c 1", "", "[1, 2]", "1" * 70])
def test_a_stated_version_that_is_none_is_passed_over(value: str) -> None:
    text = f"---\nversion: {value}\n---\n"
    assert document_version("docs/v1.2/a.md", text) == ("1.2", "path")


def test_versions_sort_from_oldest_to_newest() -> None:
    ordered = [
        "", "latest", "0.9", "1.0-SNAPSHOT", "1.0.dev3", "1.0-alpha.1", "1.0a2", "1.0-beta",
        "1.0b2", "1.0-M1", "1.0-rc.1", "1.0rc2", "1.0-rc.10", "1.0", "1.0-1", "1.0.1", "1.1.1",
        "1.1.1w", "1.2", "1.9", "1.10", "1.x", "v2.0.0", "16.20.2", "18.20.8", "19.9.0", "22.14.0",
        "2024-05-01", "2024.10.1",
    ]  # fmt: skip
    backwards = ordered[::-1]
    assert sorted(backwards, key=version_key) == ordered


def test_one_version_written_in_several_ways_is_one() -> None:
    same = ["1.0", "v1.0", "1", "1.0.0", "V1.0", "1.0+build5", "1.0.Final", "release-1.0", "01.0"]
    assert len({version_key(version) for version in same}) == 1
    assert version_key(None) == version_key("") < version_key("x") < version_key("0")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=12) | st.from_regex(r"v?[0-9.]{1,8}[-a-z0-9.]{0,8}"), max_size=6))
def test_any_texts_can_be_sorted(versions: list[str]) -> None:
    keys = sorted(map(version_key, versions))
    assert all(a <= b for a, b in pairwise(keys))


def test_a_number_of_any_length_compares() -> None:
    assert version_key("9" * 5000) < version_key("1" + "0" * 5000)
    assert version_key("²") < version_key("1")


@pytest.mark.parametrize(
    "paths",
    [
        (
            "docs/v1.2/Guide.md",
            "docs/1.3.0/guide.md",
            "docs/latest/guide.markdown",
            "docs/guide.md",
        ),
        ("assert_nodejs_18.20.8.md", "assert_nodejs_22.14.0.md", "assert-nodejs.md"),
        ("Spark_Release_2.4.7_Apache_Spark.pdf", "Spark Release 3.5.5 Apache Spark.pdf"),
        ("releases/0.18.0.md", "releases/v0.19.0.1.md", "./releases//1.2.md"),
        ("node-v18.0.0/a.md", "node-v20.0.0/a.md"),
        ("guide_v1.md", "guide-v2.0-rc.1.md"),
    ],
)
def test_the_versions_of_one_document_share_a_lineage(paths: tuple[str, ...]) -> None:
    assert len({lineage_of(path) for path in paths}) == 1


def test_different_documents_have_different_lineages() -> None:
    paths = [
        "docs/v1/a.md", "docs/v1/b.md", "other/v1/a.md", "docs/v1/a.adoc", "2019-05-01-notes.md",
        "2019-05-08-notes.md", "chapter-1.2.md", "chapter-1.3.md",
    ]  # fmt: skip
    assert len({lineage_of(path) for path in paths}) == len(paths)


def test_the_title_stands_in_where_the_path_says_nothing_else() -> None:
    assert lineage_of("v1.2.pdf", "The Guide, version 1.2") == "the-guide.pdf"
    assert lineage_of("1.3.pdf", "The Guide, version 1.3") == "the-guide.pdf"
    assert lineage_of(None, "The Guide 1.3") == lineage_of(None, "The Guide (v1.4)") == "the-guide"
    assert lineage_of(None, None) is None
    assert lineage_of("", "") is None


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40), st.none() | st.text(max_size=20))
def test_any_path_has_a_version_or_none_and_a_lineage(path: str, title: str | None) -> None:
    version, source = document_version(path)
    assert (version is None) == (source is None)
    lineage_of(path, title)


@pytest.mark.skipif(not RAW.is_dir(), reason="the judged data are not here")
def test_every_published_version_document_has_its_version_and_one_of_four_lineages() -> None:
    names = [path.name for path in RAW.iterdir()]
    assert all(document_version(name)[1] == "name" for name in names)
    assert {lineage_of(name) for name in names} == {
        "assert-nodejs.md", "errors-nodejs.md", "release-twbs-bootstrap.md",
        "spark-release-apache-spark.pdf",
    }  # fmt: skip
