"""The versions of one passage in a context: the newest first, and both say what they are."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from operators.context.passage_versions import newest_first
from operators.frames import SHOWN


def results(*rows: dict[str, Any]) -> pl.DataFrame:
    plain = {"query_id": 0, "corpus": "docs", "lineage_id": "guide", "anchor": "A"}
    return pl.DataFrame(
        [
            {**plain, "chunk_id": n, "rank": n, "source_label": f"[docs: {n}]", **row}
            for n, row in enumerate(rows)
        ],
        schema=SHOWN,
    )


def test_a_later_date_is_no_later_version() -> None:
    early, late = datetime(2025, 2, 11, tzinfo=UTC), datetime(2025, 3, 27, tzinfo=UTC)
    found = newest_first(
        results({"version": "18.20.8", "doc_date": late}, {"version": "22.14.0", "doc_date": early})
    )
    assert found["version"].to_list() == ["22.14.0", "18.20.8"]


def test_what_is_of_one_version_another_heading_topic_or_question_stays() -> None:
    frame = results(
        {"version": "1"},
        {"version": "1"},
        {"version": "2", "anchor": "B"},
        {"version": "2", "lineage_id": "other"},
        {"version": "2", "lineage_id": None},
        {"version": "2", "query_id": 1, "rank": 0},
    )
    assert newest_first(frame).equals(frame)
    assert newest_first(frame.clear()).equals(frame.clear())


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "version": st.one_of(st.none(), st.text(max_size=8)),
                "lineage_id": st.sampled_from([None, "a", "b"]),
                "anchor": st.sampled_from([None, "A"]),
            }
        ),
        max_size=9,
    )
)
def test_whatever_the_versions_nothing_is_lost_and_what_has_no_topic_stays(
    rows: list[dict[str, Any]],
) -> None:
    frame = results(*rows)
    found = newest_first(frame)
    assert sorted(found["chunk_id"]) == frame["chunk_id"].to_list()
    assert found["rank"].to_list() == list(range(len(rows)))
    for number, row in enumerate(rows):
        if row["lineage_id"] is None:
            assert found["chunk_id"][number] == number
    assert newest_first(found)["chunk_id"].to_list() == found["chunk_id"].to_list()
