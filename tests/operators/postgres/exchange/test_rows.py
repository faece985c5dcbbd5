"""Rows, columns and the head of an exported collection."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pgvector import HalfVector

from operators.arrays import parquet_batches
from operators.errors import CrosscorpusError
from operators.postgres.exchange.check_rows import check_rows, unreferenced
from operators.postgres.exchange.columns import (
    TABLES,
    copied_as,
    from_arrow,
    table_schema,
    to_arrow,
)
from operators.postgres.exchange.import_collection import LONGEST_ROW, read_rows
from operators.postgres.exchange.manifest import MANIFEST, Manifest, read_manifest
from operators.postgres.row_writer import vector_bytes
from operators.postgres.store import Store
from operators.postgres.write.document_writer import document_key

HALF = st.floats(width=16, allow_nan=False, allow_infinity=False)


def vectors(size: int) -> pa.DataType:
    return pa.list_(pa.float16(), size)


def test_every_table_of_a_collection_is_written_or_stands_in_the_manifest(store: Store) -> None:
    made = store.rows(
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
        " AND relnamespace = quote_ident(current_schema())::regnamespace"
    )
    assert {*TABLES, "collection", "migrations"} == {name for (name,) in made}


def test_a_vector_is_a_list_of_the_collection_s_dimensions(store: Store) -> None:
    schema = store.run(lambda conn: table_schema(conn, "chunks"))
    assert schema.field("embedding").type == pa.list_(pa.float16(), 8)
    assert schema.field("chunk_id").type == pa.int64()
    kinds = copied_as(schema)
    assert (kinds["embedding"], kinds["document_key"]) == ("bytea", "bytea")
    assert (kinds["chunk_id"], kinds["created_at"]) == ("bigint", "timestamp with time zone")


@settings(deadline=None)
@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.none() | st.lists(HALF, min_size=n, max_size=n), min_size=1)
    )
)
def test_vectors_come_back_as_the_bytes_that_the_server_gave(
    given_: list[list[float] | None],
) -> None:
    size = next((len(v) for v in given_ if v), 1)
    sent = [v and HalfVector(v).to_binary() for v in given_]
    array = to_arrow(sent, vectors(size))
    assert array.to_pylist() == given_
    assert from_arrow(array) == sent


@settings(deadline=None)
@given(st.lists(st.none() | st.binary(min_size=16, max_size=16)))
def test_keys_come_back_as_the_bytes_that_the_server_gave(keys: list[bytes | None]) -> None:
    assert from_arrow(to_arrow(keys, pa.binary(16))) == keys


@pytest.mark.parametrize("number", [float("nan"), float("inf"), None])
def test_a_vector_with_a_number_that_is_none_is_refused(number: float | None) -> None:
    array = pa.array([[1.0, 2.0], [number, 0.0]], vectors(2))
    with pytest.raises(ValueError, match="a vector is not finite"):
        from_arrow(array)


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


def test_every_row_comes_once_and_in_its_order(tmp_path: Path) -> None:
    texts = [None if n % 7 == 0 else f"text {n % 50}" for n in range(2500)]
    lists = [None if n % 5 == 0 else [n] * (n % 4) for n in range(2500)]
    numbered = {"number": list(range(2500)), "raw": [str(n).encode() for n in range(2500)]}
    path, schema = written(
        tmp_path, text=texts, numbers=pa.array(lists, pa.list_(pa.int32())), **numbered
    )
    got: dict[str, list[Any]] = {name: [] for name in schema.names}
    for columns in read_rows(path, schema.names):
        for name, values in columns.items():
            got[name] += values
    assert got == {"text": texts, "numbers": lists} | numbered


def test_what_is_unfolded_at_once_has_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_batches, "AT_ONCE", 3_000)
    path, schema = written(tmp_path, text=["a" * 1_000] * 10 + ["b" * 5_000, "c"])
    sizes = [len(columns["text"]) for columns in read_rows(path, schema.names)]
    assert (max(sizes), sizes[-2:], sum(sizes)) == (3, [1, 1], 12)


def test_a_row_longer_than_ingestion_makes_one_is_refused(tmp_path: Path) -> None:
    path, schema = written(tmp_path, text=["a", "b" * (LONGEST_ROW + 1)])
    with pytest.raises(ValueError, match="a row has 4,194,305 bytes"):
        list(read_rows(path, schema.names))
    path, schema = written(tmp_path, data=["a", "b" * (LONGEST_ROW + 1)])
    assert sum(len(columns["data"]) for columns in read_rows(path, schema.names)) == 2


def test_a_file_that_unfolds_to_far_more_than_its_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, schema = written(tmp_path, text=["a" * 10_000] * 2_000)
    assert list(read_rows(path, schema.names))
    monkeypatch.setattr(parquet_batches, "FREE", 1_000_000)
    with pytest.raises(ValueError, match="unfolds to over 1,000,000 bytes"):
        list(read_rows(path, schema.names))


def test_a_list_of_millions_of_numbers_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path, schema = written(tmp_path, terms=pa.array([[0] * 17_000_000], pa.list_(pa.int32())))
    assert path.stat().st_size < 10_000
    before = pa.default_memory_pool().bytes_allocated()
    with pytest.raises(ValueError, match=r"terms\.list\.element has 17,000,000 values"):
        list(read_rows(path, schema.names))
    assert pa.default_memory_pool().bytes_allocated() <= before + 100_000


HEAD = Manifest(name="a", model="m", space="s", dimensions=4, migrations=[], rows={})


def cached(space: str, vector: Any) -> dict[str, list[Any]]:
    raw = vector if isinstance(vector, bytes) else np.array(vector, "<f2").tobytes()
    return {"space": [space], "text_hash": ["h"], "embedding": [raw]}


def chunk(*, key: bytes | None = None, vector: list[float] | None = None) -> dict[str, list[Any]]:
    own = key or document_key("docs", "o/r", "d").bytes
    return {
        "document_key": [own],
        "corpus": ["docs"],
        "repo": ["o/r"],
        "document_id": ["d"],
        "embedding": vector_bytes([vector] if vector else [], [vector is not None]),
    }


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("corpora", {"corpus": ["docs"], "chunks": [0], "total_length": [1]}),
        ("documents", chunk() | {"metadata": ['{"a": [1, {"b": null}]}'], "chunks": [None]}),
        ("chunks", chunk(vector=[0.5, -0.5, 0.5, 0.5]) | {"metadata": [None]}),
        ("chunks", chunk()),
        ("sync_state", {"value": ["[]"]}),
        ("runs", {"revision": ["0f" * 20], "corpora": [["docs"]]}),
        ("runs", {"revision": ["0f" * 32], "corpora": [[]]}),
        ("embedding_cache", cached("s", [0, 0, 0, 1])),
        ("embedding_cache", cached("an earlier one", [0.6, 0.8])),
    ],
)
def test_what_ingestion_makes_is_taken(table: str, columns: dict[str, list[Any]]) -> None:
    check_rows(table, columns, HEAD)


@pytest.mark.parametrize(
    ("table", "columns", "said"),
    [
        ("corpora", {"corpus": [""]}, "corpus can't be ''"),
        ("corpora", {"total_length": [-1]}, "total_length can't be -1"),
        ("repos", {"repo": ["r" * 513]}, "repo can't be 'rrr"),
        ("documents", {"metadata": ["1"]}, "metadata can't be '1'"),
        ("documents", {"metadata": ['{"a": NaN}']}, "metadata can't be"),
        ("documents", {"metadata": ["\x1b\n"]}, r"metadata can't be '\\x1b\\n'"),
        ("runs", {"revision": ["HEAD"]}, "revision can't be 'HEAD'"),
        ("runs", {"failed": [-1]}, "failed can't be -1"),
        ("runs", {"corpora": [["c" * 600]]}, "corpora can't be"),
        ("chunks", chunk(key=b"k" * 16), "document_key is not the one of document 'd'"),
        ("chunks", chunk(vector=[0, 0, 0, 0]), "length 0 instead of 1"),
        ("chunks", chunk(vector=[1, 1, 1, 1]), "length 2 instead of 1"),
        ("embedding_cache", cached("s", [1, 0]), "4 bytes instead of 8"),
        ("embedding_cache", cached("other", b"\0"), "1 bytes instead of"),
        ("embedding_cache", cached("other", b""), "0 bytes instead of a vector"),
        ("embedding_cache", cached("s", [np.nan, 0, 0, 0]), "not finite"),
    ],
)
def test_what_no_ingestion_makes_is_refused(
    table: str, columns: dict[str, list[Any]], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        check_rows(table, columns, HEAD)


def test_rows_of_a_document_that_is_not_there_are_counted(full: Store) -> None:
    assert full.run(unreferenced) is None
    full.execute("UPDATE document_sketches SET corpus = 'wi-ki'")
    assert full.run(unreferenced) == ("document_sketches", 1)


WRITTEN_HEAD: dict[str, Any] = {
    "format": 1,
    "name": "team",
    "model": None,
    "space": None,
    "dimensions": None,
    "migrations": ["0001_collection.sql"],
    "rows": {"chunks": 0},
}


def test_a_manifest_comes_back_as_it_was_written(tmp_path: Path) -> None:
    manifest = Manifest(**WRITTEN_HEAD)
    (tmp_path / MANIFEST).write_text(manifest.model_dump_json())
    assert read_manifest(tmp_path) == manifest


def test_a_folder_without_a_manifest_is_no_complete_export(tmp_path: Path) -> None:
    with pytest.raises(CrosscorpusError, match=r"no complete export: it has no collection\.json"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("version", [2, 99])
def test_a_newer_format_is_refused_whatever_else_it_says(tmp_path: Path, version: int) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps({"format": version}))
    with pytest.raises(CrosscorpusError, match=f"newer version .format {version}.: upgrade"):
        read_manifest(tmp_path)


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
