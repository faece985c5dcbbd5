from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ledger_rows import ledger
from psycopg.conninfo import make_conninfo

from operators.errors import CrosscorpusError
from operators.postgres.connection import connect
from operators.postgres.exchange.export_collection import export_collection
from operators.postgres.exchange.import_collection import import_collection
from operators.postgres.exchange.manifest import MANIFEST
from operators.postgres.inspect.verify import verify
from operators.postgres.store import Store, collections, drop_collection, open_store
from operators.postgres.write.ingestion_runs import begin_run

Change = Callable[[Path], None]


@pytest.fixture
def exported(full: Store, tmp_path: Path) -> Path:
    export_collection(full, tmp_path / "team")
    return tmp_path / "team"


@pytest.fixture(scope="module")
def exported_once(
    make_store: Callable[[], Store],
    fill_all: Callable[[Store, Any], None],
    filling: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """What :func:`exported` is, to be copied."""
    folder = tmp_path_factory.mktemp("exported") / "team"
    with make_store() as store:
        fill_all(store, filling)
        export_collection(store, folder)
    return folder


@pytest.fixture
def again(server_dsn: str) -> Iterator[str]:
    """The name of a collection to make; it is dropped afterwards."""
    yield "again"
    if "again" in collections(server_dsn):
        drop_collection(server_dsn, "again")


def indexes(store: Store) -> set[str]:
    named = "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()"
    return {name for (name,) in store.rows(named)}


def test_an_import_has_every_row_weight_and_index_of_the_exported_collection(
    full: Store, exported: Path, again: str, server_dsn: str, tables: Any
) -> None:
    told: dict[str, int] = {}
    assert import_collection(exported, server_dsn, name=again, progress=told.__setitem__) == again
    with open_store(server_dsn, again) as store:
        assert tables(store) == tables(full)
        assert indexes(store) == indexes(full)
        assert store.row("SELECT name, model, space, dimensions FROM collection") == (
            *(again, "test", "test-space", 8),
        )
        assert verify(store).rows() == verify(full).rows()
        assert ledger(store, "docs", "o/r").equals(ledger(full, "docs", "o/r"))
        runs = [run for (run,) in store.rows("SELECT run_id FROM runs")]
        assert begin_run(store, "next", []) == max(runs) + 1
    assert told == json.loads((exported / MANIFEST).read_text())["rows"]


def test_a_collection_without_a_model_is_imported_into_another_database_under_its_name(
    make_store: Any, tmp_path: Path, server_dsn: str, database: str
) -> None:
    with make_store(None) as store:
        export_collection(store, tmp_path / "none")
        name = store.collection
    other = make_conninfo(server_dsn, dbname=database)
    assert import_collection(tmp_path / "none", other) == name
    assert collections(other) == [name]


def test_a_collection_that_exists_is_refused_and_stays(
    full: Store, exported: Path, server_dsn: str, tables: Any
) -> None:
    before = tables(full)
    with pytest.raises(CrosscorpusError, match=f"{full.collection}' exists.*--as.*or drop it"):
        import_collection(exported, server_dsn)
    assert tables(full) == before


def test_of_two_imports_under_one_name_at_once_one_is_refused_and_one_is_whole(
    full: Store, exported: Path, again: str, server_dsn: str, tables: Any
) -> None:
    with ThreadPoolExecutor(2) as threads:
        done = [threads.submit(import_collection, exported, server_dsn, name=again) for _ in "ab"]
        refused = [d.exception() for d in done if d.exception()]
    assert len(refused) == 1
    assert "exists" in str(refused[0])
    with open_store(server_dsn, again) as store:
        assert tables(store) == tables(full)


def leftovers(dsn: str) -> list[str]:
    left = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, 'import_')"
    with connect(dsn) as conn:
        return [name for (name,) in conn.execute(left).fetchall()]


def test_a_killed_import_leaves_no_collection_and_the_next_one_is_whole(
    full: Store, exported: Path, again: str, server_dsn: str, tables: Any
) -> None:
    program = f"""
import os, signal
from operators.postgres.exchange.import_collection import import_collection
for last in ("corpora", "chunks", "versioned_corpora"):
    def die(table, rows):
        if table == last:
            os.kill(os.getpid(), signal.SIGKILL)
    if not (child := os.fork()):
        import_collection({str(exported)!r}, {server_dsn!r}, name={again!r}, progress=die)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == [str(-signal.SIGKILL)] * 3
    assert again not in collections(server_dsn)
    import_collection(exported, server_dsn, name=f"{again}2")  # clears up after every other name
    drop_collection(server_dsn, f"{again}2")
    assert leftovers(server_dsn) == []
    import_collection(exported, server_dsn, name=again)
    with open_store(server_dsn, again) as store:
        assert tables(store) == tables(full)
        assert indexes(store) == indexes(full)


def test_a_column_and_a_table_that_an_older_export_lacks_get_their_defaults(
    full: Store, exported: Path, again: str, server_dsn: str, tables: Any
) -> None:
    head = json.loads((exported / MANIFEST).read_text())
    head["migrations"] = []  # of a version from before a migration
    del head["rows"]["document_sketches"]
    head["rows"]["version_corrections"] = 3  # a table that was dropped since
    (exported / MANIFEST).write_text(json.dumps(head))
    (exported / "document_sketches.parquet").unlink()
    documents = pq.read_table(exported / "documents.parquet")
    old = documents.drop_columns(["failed_with", "failed_reason"])
    pq.write_table(old, exported / "documents.parquet")
    corpora = pq.read_table(exported / "corpora.parquet")
    dropped_since = corpora.append_column("average_length", [[95.0] * len(corpora)])
    pq.write_table(dropped_since, exported / "corpora.parquet")
    import_collection(exported, server_dsn, name=again)
    with open_store(server_dsn, again) as store:
        assert store.rows("SELECT * FROM document_sketches") == []
        assert store.rows("SELECT rules FROM versioned_corpora") == [(-1,)]  # detected again
        assert store.rows("SELECT DISTINCT failed_with FROM documents") == [(None,)]
        assert tables(store)["chunks"] == tables(full)["chunks"]


def manifest(**changed: Any) -> Change:
    def change(folder: Path) -> None:
        path = folder / MANIFEST
        path.write_text(json.dumps(json.loads(path.read_text()) | changed))

    return change


def column(table: str, name: str, make: Callable[[pa.ChunkedArray], Any]) -> Change:
    def change(folder: Path) -> None:
        path = folder / f"{table}.parquet"
        held = pq.read_table(path)
        place = held.column_names.index(name)
        pq.write_table(held.set_column(place, name, make(held[name])), path)

    return change


def cut(table: str, end: int) -> Change:
    def change(folder: Path) -> None:
        path = folder / f"{table}.parquet"
        path.write_bytes(path.read_bytes()[:end])

    return change


def flip(folder: Path) -> None:
    path = folder / "chunks.parquet"
    pages = pq.read_metadata(path).row_group(0).column(6)
    data = bytearray(path.read_bytes())
    data[pages.dictionary_page_offset + pages.total_compressed_size - 1] ^= 0xFF
    path.write_bytes(data)


def fewer_rows(folder: Path) -> None:
    path = folder / "terms.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)


def without(table: str) -> Change:
    return lambda folder: (folder / f"{table}.parquet").unlink()


def vectors_with(number: float, size: int = 8) -> Callable[[pa.ChunkedArray], pa.Array]:
    def make(held: pa.ChunkedArray) -> pa.Array:
        rows = np.ones((len(held), size), dtype=np.float16)
        rows[-1, -1] = number
        return pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), size)

    return make


def each(table: str, name: str, value: Any) -> Change:
    """Every row gets ``value`` in a column."""
    return column(table, name, lambda held: pa.array([value] * len(held), held.type))


def pipe(name: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return change


def rows(table: str, make: Callable[[pa.Table], pa.Table]) -> Change:
    """The rows of a table are others, and the manifest says how many."""

    def change(folder: Path) -> None:
        path, head = folder / f"{table}.parquet", folder / MANIFEST
        made = make(pq.read_table(path))
        pq.write_table(made, path)
        told = json.loads(head.read_text())
        told["rows"][table] = made.num_rows
        head.write_text(json.dumps(told))

    return change


CACHED = np.eye(1, 8, dtype="<f2").tobytes()

BAD: dict[str, tuple[Change, str]] = {
    "no manifest": (lambda folder: (folder / MANIFEST).unlink(), "no complete export"),
    "a newer format": (manifest(format=2), "newer version .format 2.: upgrade"),
    "an older migration": (
        manifest(migrations=["0001_collection.sql"]),
        "older version .0001",
    ),
    "a name that is none": (manifest(name="../x"), "collection name '../x': use"),
    "a dimension too many": (
        manifest(dimensions=9),
        "embedding is .*8.* instead of .*9",
    ),
    "vectors without a model": (manifest(model=None), "the collection has no column embedding"),
    "a column that no collection has": (
        rows("runs", lambda held: held.append_column("later", held["run_id"])),
        "runs.parquet is damaged .the collection has no column later",
    ),
    "a missing file": (without("terms"), "terms.parquet does not exist: export"),
    "a file cut off": (cut("chunks", 2000), "chunks.parquet is damaged"),
    "a page that is not what was written": (flip, "chunks.parquet is damaged"),
    "a row too few": (fewer_rows, "terms.parquet is damaged .* rows instead of"),
    "NaN in a vector": (
        column("chunks", "embedding", vectors_with(float("nan"))),
        "chunks.parquet is damaged .a vector is not finite",
    ),
    "vectors of another dimension": (
        column("chunks", "embedding", vectors_with(1, 4)),
        "embedding is .*4.* instead of .*8",
    ),
    "a text that no server takes": (
        column("sync_state", "value", lambda held: pa.array(["\0"] * len(held))),
        r"\w",
    ),
    "a posting of no corpus": (
        column("postings", "corpus", lambda held: pa.array(["other"] * len(held))),
        "no partition of relation .postings",
    ),
    "a pipe instead of a file": (pipe("chunks.parquet"), "chunks.parquet is no regular file"),
    "a manifest without end": (
        lambda folder: (folder / MANIFEST).write_text(" " * 2_000_000),
        r"collection.json is damaged \(over 1,048,576 bytes",
    ),
    "a model's name on two lines": (manifest(model="a\nb\x1b[0m"), "model Value error, has char"),
    "a vector of zeros": (
        column("chunks", "embedding", lambda held: pa.array([[0.0] * 8] * len(held), held.type)),
        "chunks.parquet is damaged .a vector has length 0 instead of 1",
    ),
    "NaN in the cache": (
        each("embedding_cache", "embedding", b"\x00\x7e" * 8),
        "embedding_cache.parquet is damaged .a vector is not finite",
    ),
    "a cached vector cut off": (
        each("embedding_cache", "embedding", CACHED[:-2]),
        "embedding_cache.parquet is damaged .embedding has 14 bytes instead of 16",
    ),
    "a negative count": (each("corpora", "chunks", -5), "corpora.parquet is damaged .chunks can't"),
    "other counts": (each("corpora", "total_length", 1), "damaged .text_index in code"),
    "metadata with a number that is none": (
        each("documents", "metadata", '{"a": NaN}'),
        "documents.parquet is damaged .metadata can't be",
    ),
    "metadata that is no JSON": (
        each("documents", "metadata", "{not json"),
        "documents.parquet is damaged .metadata can't be '{not json",
    ),
    "metadata nested without end": (each("documents", "metadata", "[" * 100_000), "can't be"),
    "a fetched item that is no JSON": (each("sync_items", "data", "x"), "data can't be 'x'"),
    "a column that is missing": (
        rows("runs", lambda held: held.drop_columns("run_id")),
        "runs.parquet is damaged .it has no column run_id",
    ),
    "a sketch cut off": (each("document_sketches", "sketch", b"abc"), "sketch can't be"),
    "a corpus without a name": (
        each("corpora", "corpus", ""),
        "corpora.parquet is damaged .corpus can't",
    ),
    "a state that does not exist": (
        each("documents", "state", "'; --"),
        "documents.parquet is damaged .*documents_state_check",
    ),
    "a commit that is an option": (
        each("runs", "revision", "--output=x"),
        "runs.parquet is damaged .revision can't be '--output=x'",
    ),
    "terms in another order": (
        column(
            "postings",
            "terms",
            lambda held: pa.array([list(reversed(x)) for x in held.to_pylist()], held.type),
        ),
        "damaged .text_index in code",
    ),
    "weights that are none": (
        each("postings", "bm25", b"\xff" * 40),
        "postings.parquet is damaged",
    ),
    "a text that no ingestion makes": (
        each("chunks", "text", "a" * 5_000_000),
        "chunks.parquet is damaged .a row has 5,000,",
    ),
    "passages twice": (
        rows("chunks", lambda held: pa.concat_tables([held, held])),
        "chunks.parquet is damaged .duplicate key",
    ),
    "no passages": (
        lambda folder: [rows(t, lambda x: x.slice(0, 0))(folder) for t in ("chunks", "postings")],
        "superseded_chunks.parquet is damaged .1 rows of nothing",
    ),
    "passages of no document": (
        each("chunks", "document_id", "other"),
        "document_key is not the one of document 'other'",
    ),
    "a version of another corpus": (
        each("document_versions", "corpus", "code"),
        "document_versions.parquet is damaged .1 rows of nothing",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_export_is_refused_in_one_line_and_leaves_nothing(
    what: str, exported_once: Path, again: str, server_dsn: str, tmp_path: Path
) -> None:
    spoil, said = BAD[what]
    spoiled = shutil.copytree(exported_once, tmp_path / "team")
    spoil(spoiled)
    name = None if what == "a name that is none" else again
    with pytest.raises(CrosscorpusError, match=said) as refused:
        import_collection(spoiled, server_dsn, name=name)
    assert "\n" not in str(refused.value)
    assert "--as" not in str(refused.value), "the name was taken"
    with psycopg.connect(server_dsn) as conn:
        assert not conn.execute("SELECT FROM pg_namespace WHERE nspname ~ 'again'").fetchall()


def test_a_working_tree_and_a_command_stay_with_the_machine_that_has_them(
    full: Store, again: str, server_dsn: str, tmp_path: Path
) -> None:
    begin_run(full, "git", ["docs"], "0" * 40, "/home/ada/app", ["/home/ada", "ingest", "git", "."])
    export_collection(full, tmp_path / "team")
    import_collection(tmp_path / "team", server_dsn, name=again)
    with open_store(server_dsn, again) as store:
        read = store.rows("SELECT revision, folder, command FROM runs WHERE revision IS NOT NULL")
        assert read == [("0" * 40, None, None)]


def test_words_that_an_earlier_version_read_in_another_way_are_read_again(
    full: Store, exported: Path, again: str, server_dsn: str, tables: Any
) -> None:
    each("postings", "length", 999)(exported)
    with pytest.raises(CrosscorpusError, match="text_index"):
        import_collection(exported, server_dsn, name=again)
    migrations = json.loads((exported / MANIFEST).read_text())["migrations"]
    manifest(migrations=migrations[:-1])(exported)
    import_collection(exported, server_dsn, name=again)
    with open_store(server_dsn, again) as store:
        assert tables(store)["postings"] == tables(full)["postings"]
        assert verify(store).is_empty()


def test_a_small_file_that_stands_for_gigabytes_is_refused_in_little_memory(
    exported: Path, again: str, server_dsn: str
) -> None:
    one = pq.read_table(exported / "sync_state.parquet").slice(0, 1)
    long = pa.array([json.dumps("a" * 1_000_000)])
    filler = one.set_column(one.column_names.index("value"), "value", long)
    repeated = filler.take(pa.array([0] * 100))
    names = one.column_names.index("name")
    with pq.ParquetWriter(exported / "sync_state.parquet", one.schema, compression="zstd") as to:
        for start in range(0, 200, 100):
            named = pa.array([f"n{n}" for n in range(start, start + 100)])
            to.write_table(repeated.set_column(names, "name", named))
    told = json.loads((exported / MANIFEST).read_text())
    manifest(rows=told["rows"] | {"sync_state": 200})(exported)
    program = f"""
import resource
from operators.arrays import parquet_batches
from operators.errors import CrosscorpusError
from operators.postgres.exchange.import_collection import import_collection
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
parquet_batches.FREE >>= 3  # as much less as the file stands for
try:
    import_collection({str(exported)!r}, {server_dsn!r}, name={again!r})
except CrosscorpusError as error:
    print(error)
status = open("/proc/self/status").read()  # what getrusage says counts the parent before exec
print(int(status.partition("VmHWM:")[2].split()[0]) // 1024)
"""
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    said, megabytes = done.stdout.splitlines()
    assert "sync_state.parquet is damaged (it unfolds to over 134,217,728 bytes)" in said
    assert int(megabytes) < 400
    assert again not in collections(server_dsn)


def test_memory_does_not_grow_with_a_table(
    store: Store, again: str, server_dsn: str, tmp_path: Path
) -> None:
    store.execute(
        "INSERT INTO sync_items SELECT 's', 'k', n, n, now(), '', (SELECT json_build_object("
        " 'a', string_agg(md5(m::text), '')) FROM generate_series(n * 40, n * 40 + 40) m)"
        " FROM generate_series(1, 40000) n"
    )
    export_collection(store, tmp_path / "team")
    pool = pa.default_memory_pool()
    size = (tmp_path / "team" / "sync_items.parquet").stat().st_size
    held, before = pool.bytes_allocated(), pool.max_memory()  # of other tests in this process
    import_collection(tmp_path / "team", server_dsn, name=again)
    assert pool.max_memory() <= max(before, held + size / 2)
