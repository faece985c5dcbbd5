import os
from datetime import date
from pathlib import Path

import pytest
from whole_scan import read_all

from operators.sources.dates.release_dates import stated_release
from operators.sources.folder import folder_source
from operators.sources.protocol import Document

RAW = Path(os.environ.get("CROSSCORPUS_TEST_DATA", Path(__file__).parents[5] / "shared/data"))
RAW = RAW / "versionrag" / "raw"
PAGE = "Foo Release 3.5.4\nfixes\n{}\n"


@pytest.mark.parametrize(
    ("news", "found"),
    [
        ("Foo 3.5.4 released (/news/3-5-4.html) (Dec 20, 2024)", "Dec 20, 2024"),
        ("3.5.4 is released (2024-12-20)", "2024-12-20"),
        ("Foo 3.5.4.1 released (Dec 20, 2024)", None),
        ("Foo 13.5.4 released (Dec 20, 2024)", None),
        ("Foo 3.5.5 released (Feb 27, 2025)", None),
        ("3.5.4 released (Dec 20, 2024)\nFoo 3.5.4 released (Dec 21, 2024)", None),
        ("3.5.4 released\n(Dec 20, 2024)", None),
    ],
)
def test_the_day_is_that_of_the_page_s_own_release(news: str, found: str | None) -> None:
    assert stated_release(PAGE.format(news), "3.5.4") == found


def test_a_page_that_does_not_begin_with_the_release_is_not_dated_by_it() -> None:
    news = "Foo 3.5.4 released (Dec 20, 2024)"
    assert stated_release("x" * 2000 + PAGE.format(news), "3.5.4") is None
    assert stated_release(PAGE.format(news), None) is None


def test_real_release_pages_are_dated_by_their_release_and_not_by_their_print() -> None:
    if not RAW.is_dir():
        pytest.skip("the raw files of versionrag are not on this machine")
    found = {
        item.version: (item.doc_date.date(), item.date_source)
        for item in read_all(folder_source(RAW))
        if isinstance(item, Document) and item.path and item.path.endswith(".pdf") and item.doc_date
    }
    assert found["3.4.4"] == (date(2024, 10, 27), "release")
    assert found["3.5.4"] == (date(2024, 12, 20), "release")
    assert found["3.5.5"] == (date(2025, 2, 27), "release")
    assert {found[v][1] for v in ("2.4.7", "3.3.4", "3.5.3")} == {"pdf"}
