"""Licence texts below what answers, unless they are asked for."""

import polars as pl
import pytest

from operators.ranking.licence_texts import licence_factor


def factor(path: str | None, *texts: str) -> float:
    hits = pl.DataFrame(
        {"query_id": [3], "path": [path]}, {"query_id": pl.UInt32, "path": pl.String}
    )
    queries = pl.DataFrame(
        {"query_id": [3], "texts": [list(texts)]},
        {"query_id": pl.UInt32, "texts": pl.List(pl.String)},
    )
    (one,) = licence_factor(hits, queries, weight=0.5)
    return float(one)


@pytest.mark.parametrize(
    "path",
    ["LICENSE", "a/LICENCE.md", "COPYING", "NOTICE.txt", "license.rst", "UNLICENSE",
     "LICENSE-APACHE-2.0", "LICENSE-MIT.txt", "LICENSES/MIT.txt",
     "LICENSE.GPL", "COPYING.LESSER", "MIT-LICENSE"],
)  # fmt: skip
def test_a_licence_counts_less_unless_the_question_is_about_one(path: str) -> None:
    assert factor(path, "How do I add a source of my own?") == 0.5
    assert (
        factor(path, "Which license?") == factor(path, "May I sell it?", "licence, copyright") == 1
    )


@pytest.mark.parametrize(
    "path",
    [None, "src/license.py", "licenses.go", "notices/send.md", "docs/licensing.md", "NOTICE/b.c",
     "src/licenses/check.ts", "app/licenses/models.py", "license-server.md", "notice-board.md"],
)  # fmt: skip
def test_code_and_pages_about_licences_are_no_licences(path: str | None) -> None:
    assert factor(path, "How do I add a source of my own?") == 1


@pytest.mark.parametrize(
    "text",
    ["Is it GPL?", "LGPLv3 or BSD?", "MIT or not?", "Is commercial use allowed?", "Welche Lizenz?",
     "May I redistribute it?", "Qual é a licença?"],
)  # fmt: skip
def test_a_question_about_a_licence_need_not_call_it_so(text: str) -> None:
    assert factor("LICENSE", text) == 1
    assert factor("LICENSE", "Was macht man mit einem Commit?") == 0.5


def test_a_question_that_is_unknown_and_a_frame_without_rows_are_no_error() -> None:
    none = pl.DataFrame(schema={"query_id": pl.UInt32, "path": pl.String})
    queries = pl.DataFrame(schema={"query_id": pl.UInt32, "texts": pl.List(pl.String)})
    assert licence_factor(none, queries, weight=0.5).tolist() == []
    hits = pl.DataFrame({"query_id": [7], "path": ["LICENSE"]})
    assert licence_factor(hits, queries, weight=0.5).tolist() == [0.5]
