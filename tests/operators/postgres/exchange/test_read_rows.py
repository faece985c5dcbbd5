from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from operators.arrays import unfolded
from operators.errors import CrosscorpusError
from operators.postgres.exchange.read_rows import LONGEST_VALUE, file_schema, read_rows


def written(folder: Path, **columns: Any) -> tuple[Path, pa.Schema]:
    table = pa.table(columns)
    pq.write_table(table, folder / "t.parquet", compression="zstd")
    return folder / "t.parquet", table.schema


def test_every_row_comes_once_and_in_its_order(tmp_path: Path) -> None:
    texts = [None if n % 7 == 0 else f"text {n % 50}" for n in range(2500)]
    lists = [None if n % 5 == 0 else [n] * (n % 4) for n in range(2500)]
    numbered = {"number": list(range(2500)), "raw": [str(n).encode() for n in range(2500)]}
    path, schema = written(
        tmp_path, text=texts, numbers=pa.array(lists, pa.list_(pa.int32())), **numbered
    )
    assert file_schema(path) == (schema, 2500)
    got: dict[str, list[Any]] = {name: [] for name in schema.names}
    for columns in read_rows(path, list(schema)):
        for name, values in columns.items():
            got[name] += values
    assert got == {"text": texts, "numbers": lists} | numbered


def test_what_is_unfolded_at_once_has_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unfolded, "AT_ONCE", 3_000)
    path, schema = written(tmp_path, text=["a" * 1_000] * 10 + ["b" * 5_000, "c"])
    sizes = [len(columns["text"]) for columns in read_rows(path, list(schema))]
    assert sizes == [3, 3, 3, 1, 1, 1]


def test_a_text_longer_than_ingestion_makes_one_is_refused(tmp_path: Path) -> None:
    path, schema = written(tmp_path, text=["a", "b" * (LONGEST_VALUE + 1)])
    with pytest.raises(ValueError, match="text has a value of 1,048,577 bytes"):
        list(read_rows(path, list(schema)))
    path, schema = written(tmp_path, data=["a", "b" * (LONGEST_VALUE + 1)])
    assert sum(len(columns["data"]) for columns in read_rows(path, list(schema))) == 2


def test_a_file_that_unfolds_to_far_more_than_its_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, schema = written(tmp_path, text=["a" * 10_000] * 2_000)
    assert list(read_rows(path, list(schema)))
    monkeypatch.setattr(unfolded, "FREE", 1_000_000)
    with pytest.raises(ValueError, match="unfolds to over 1,000,000 bytes"):
        list(read_rows(path, list(schema)))


def test_a_list_of_millions_of_numbers_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path, schema = written(tmp_path, terms=pa.array([[0] * 3_000_000], pa.list_(pa.int32())))
    assert path.stat().st_size < 10_000
    before = pa.default_memory_pool().bytes_allocated()
    with pytest.raises(ValueError, match="terms has 3000000 values in 1 rows"):
        list(read_rows(path, list(schema)))
    assert pa.default_memory_pool().bytes_allocated() <= before + 100_000


def test_a_pipe_is_refused_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.parquet")
    with pytest.raises(CrosscorpusError, match="is no regular file"):
        file_schema(tmp_path / "t.parquet")
