from __future__ import annotations

import polars as pl
import pytest

from operators.frames import NOTES, FrameError, check


def test_a_column_of_another_type_is_named() -> None:
    with pytest.raises(FrameError, match=r"notes: .*column 'note' is Int64, expected String"):
        check(pl.DataFrame({"query_id": [1], "note": [2]}), NOTES, "notes")
