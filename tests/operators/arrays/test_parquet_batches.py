"""Real Parquet files, and the sizes of Arrow arrays."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from operators.arrays import parquet_batches
from operators.arrays.parquet_batches import check_columns, row_sizes, slices

PAIRS = pa.map_(pa.string(), pa.string())


@pytest.mark.parametrize(
    ("values", "kind", "sizes"),
    [
        (["ab", None, "c"], pa.string(), [2, 0, 1]),
        ([["ab", "c"], None, []], pa.list_(pa.string()), [3, 0, 0]),
        ([[["a"], ["bcd"]], [], None], pa.large_list(pa.list_(pa.string())), [4, 0, 0]),
        ([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int32(), 2), [8, 8, 8]),
        ([{"a": "xy", "b": [1]}, None, {"a": "z"}], None, [10, 0, 1]),
        ([[("k", "vv")], None, [("a", "b")]], PAIRS, [3, 0, 2]),
        ([1, None, 2], pa.int16(), [2, 2, 2]),
        ([None, None, None], pa.null(), [1, 1, 1]),
    ],
)
def test_a_value_takes_the_bytes_of_all_that_is_in_it(
    values: list[Any], kind: pa.DataType | None, sizes: list[int]
) -> None:
    column = pa.array(values, kind)
    assert row_sizes(column).tolist() == sizes
    assert row_sizes(column.slice(1)).tolist() == sizes[1:]
    assert row_sizes(column.slice(0, 2)).tolist() == sizes[:2]


@pytest.mark.parametrize("kind", [pa.string_view(), pa.list_view(pa.string())])
def test_a_kind_whose_size_is_not_known_is_refused(kind: pa.DataType) -> None:
    with pytest.raises(ValueError, match="which is not read"):
        row_sizes(pa.array([None], kind))


def test_slices_hold_so_many_bytes_or_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_batches, "AT_ONCE", 10)
    batch = pa.record_batch({"n": list(range(6))})
    parts = [part["n"].to_pylist() for part, _ in slices(batch, np.array([4, 6, 1, 50, 3, 3]))]
    assert parts == [[0, 1], [2], [3], [4, 5]]


def test_pages_that_unfold_to_far_more_than_their_size_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"text": [f"{number}" + "x" * 2_000_000 for number in range(5)]})
    pq.write_table(table, tmp_path / "t.parquet", compression="zstd")
    group = pq.read_metadata(tmp_path / "t.parquet").row_group(0)
    check_columns(group)
    monkeypatch.setattr(parquet_batches, "LARGE_COLUMN", 1_000_000)
    with pytest.raises(ValueError, match="text unfolds to over 1,000,000 bytes"):
        check_columns(group)
