"""What a name says of a version, and the topic that is left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.sources.dates.stated_version import document_version
from operators.versions.named_version import lineage_of

DATA = Path(os.environ.get("CROSSCORPUS_TEST_DATA", "../shared/data"))


if not DATA.is_absolute():
    DATA = Path(__file__).parents[4] / DATA


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
