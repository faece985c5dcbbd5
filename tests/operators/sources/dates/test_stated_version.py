""""""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from operators.sources.dates.stated_version import document_version
from operators.versions.named_version import lineage_of

DATA = Path(os.environ.get("CROSSCORPUS_TEST_DATA", "../shared/data"))


if not DATA.is_absolute():
    DATA = Path(__file__).parents[4] / DATA


RAW = DATA / "versionrag" / "raw"


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


@pytest.mark.skipif(not RAW.is_dir(), reason="the judged data are not here")
def test_every_published_version_document_has_its_version_and_one_of_four_lineages() -> None:
    names = [path.name for path in RAW.iterdir()]
    assert all(document_version(name)[1] == "name" for name in names)
    assert {lineage_of(name) for name in names} == {
        "assert-nodejs.md", "errors-nodejs.md", "release-twbs-bootstrap.md",
        "spark-release-apache-spark.pdf",
    }  # fmt: skip
