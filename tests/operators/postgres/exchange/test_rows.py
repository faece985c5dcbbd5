"""Rows, columns and the head of an exported collection."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from operators.errors import CrosscorpusError
from operators.postgres.exchange.columns import (
    TABLES,
    table_schema,
)
from operators.postgres.exchange.import_collection import read_rows
from operators.postgres.exchange.manifest import MANIFEST, read_manifest
from operators.postgres.store import Store


def test_every_table_of_a_collection_is_written_or_stands_in_the_manifest(store: Store) -> None:
    made = store.rows(
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
        " AND relnamespace = quote_ident(current_schema())::regnamespace"
    )
    assert {*TABLES, "collection", "migrations"} == {name for (name,) in made}


def test_the_page_of_the_format_names_every_file_and_column(store: Store) -> None:
    page = (Path(__file__).parents[4] / "docs/exchange.md").read_text("utf-8")
    told: dict[str, set[str]] = {}
    for line in page.partition("| file |")[2].splitlines():
        if (cells := line.split(" | "))[0].startswith("| `"):
            told[cells[0].strip("| `")] = rows = set()
        if len(cells) == 4:
            rows |= set(re.findall(r"`(\w+)`", cells[1]))
    made = {t: {*store.run(lambda conn, t=t: table_schema(conn, t)).names} for t in TABLES}
    assert told == made


def written(folder: Path, **columns: Any) -> tuple[Path, pa.Schema]:
    table = pa.table(columns)
    pq.write_table(table, folder / "t.parquet", compression="zstd")
    return folder / "t.parquet", table.schema


def test_a_list_of_millions_of_numbers_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path, schema = written(tmp_path, terms=pa.array([[0] * 17_000_000], pa.list_(pa.int32())))
    assert path.stat().st_size < 10_000
    before = pa.default_memory_pool().bytes_allocated()
    with pytest.raises(ValueError, match=r"terms\.list\.element has 17,000,000 values"):
        list(read_rows(path, schema.names))
    assert pa.default_memory_pool().bytes_allocated() <= before + 100_000


WRITTEN_HEAD: dict[str, Any] = {
    "format": 1,
    "name": "team",
    "model": None,
    "space": None,
    "dimensions": None,
    "migrations": ["0001_collection.sql"],
    "rows": {"chunks": 0},
}


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"\xff\xfe", b"[]", b"null", b"{}", json.dumps(WRITTEN_HEAD).encode()[:-9]]
    + [
        json.dumps(WRITTEN_HEAD | wrong).encode()
        for wrong in ({"format": 0}, {"format": "x"}, {"dimensions": -1}, {"rows": {"chunks": -1}})
    ],
)
def test_a_damaged_manifest_is_an_error_of_one_line(tmp_path: Path, text: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(text)
    with pytest.raises(CrosscorpusError, match="is damaged") as refused:
        read_manifest(tmp_path)
    assert "\n" not in str(refused.value)
