from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pgvector import HalfVector

from operators.postgres.exchange.columns import (
    TABLES,
    copied_as,
    from_arrow,
    table_schema,
    to_arrow,
)
from operators.postgres.store import Store

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
