from __future__ import annotations

import polars as pl
import pytest

from operators.frames import NOTES, FrameError, check, empty, frame_of, stacked


def test_an_empty_frame_is_the_callers_own() -> None:
    first = empty(NOTES)
    first.insert_column(0, pl.Series("more", [], dtype=pl.String))
    assert empty(NOTES).schema == NOTES


def test_columns_come_in_the_schemas_order_and_the_last_of_a_name_counts() -> None:
    columns = [pl.Series("note", ["a"]), pl.Series("query_id", [1], dtype=pl.UInt32)]
    made = frame_of([*columns, pl.Series("note", ["b"])], NOTES)
    assert made.schema == NOTES
    assert made.rows() == [(1, "b")]


def test_frames_are_stacked_in_their_order() -> None:
    parts = [pl.DataFrame({"a": [n, -n]}) for n in range(3)]
    assert stacked(parts).equals(pl.concat(parts))
    assert [part.height for part in parts] == [2, 2, 2]


def test_a_column_of_another_type_is_named() -> None:
    with pytest.raises(FrameError, match=r"notes: .*column 'note' is Int64, expected String"):
        check(pl.DataFrame({"query_id": [1], "note": [2]}), NOTES, "notes")
