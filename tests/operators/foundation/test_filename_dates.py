from __future__ import annotations

import pytest

from operators.foundation.filename_dates import filename_date


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("_posts/2019-05-01-#15557.md", "2019-05-01"),
        ("minutes_20190501.pdf", "2019-05-01"),
        ("20190501T101112-log.txt", "2019-05-01"),
        ("report 2019.05.01.pdf", "2019-05-01"),
        ("a_2019_05_01_b.md", "2019-05-01"),
        ("minutes-01-May-2019.md", "2019-05-01"),
        ("May-01-2019.md", "2019-05-01"),
        ("newsletter-March-2025.pdf", "2025-03"),
        ("newsletter-2025-03.pdf", "2025-03"),
        ("blog/2019/05/01/title.md", "2019-05-01"),
        ("blog\\2019\\05\\title.md", "2019-05"),
    ],
)
def test_the_date_in_a_name_is_found(path: str, expected: str) -> None:
    assert filename_date(path) == expected


@pytest.mark.parametrize(
    "path",
    [
        "",
        "guide.md",
        "report-2019.md",
        "2019-13-01.md",
        "2019-02-30.md",
        "01-02-2019.md",
        "assert_nodejs_18.20.8.md",
        "app-2023.11.05.2.md",
        "sha-120190501.md",
        "a20190501234567890.md",
        "maybe-2025.md",
        "2019-05-01/guide.md",
        "backup/2019/05/01/docs/guide.md",
        "1234-56-78.md",
    ],
)
def test_a_name_without_a_whole_date_has_none(path: str) -> None:
    assert filename_date(path) is None
