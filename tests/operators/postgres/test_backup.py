from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from operators.errors import CrosscorpusError
from operators.postgres import backup
from operators.postgres.backup import dump_collection, restore_collection
from operators.postgres.connection import connect
from operators.postgres.inspect.verify import verify
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.store import Store, collections, drop_collection, open_store
from operators.postgres.write.document_writer import write_documents
from operators.postgres.write.ingestion_runs import begin_run


@pytest.fixture
def full(store: Store, filling: Any) -> Store:
    """A collection with odd values, an index, and a run that has begun."""
    rows = [
        {"chunk_id": -(2**63), "title": "Ünï\tcode", "text": "flush the cache\n" * 9},
        {"chunk_id": 2**63 - 1, "text": "", "path": "a/b.py", "start_line": 3},
        {"corpus": "wi-ki", "document_id": "d3", "chunk_id": 1, "metadata": '{"a": [1]}'},
    ]
    chunks = filling.chunks(rows)
    write_documents(store, filling.documents(chunks), chunks)
    begin_run(store, "git", ["wi-ki"])
    make_searchable(store)
    return store


@pytest.fixture
def other(server_dsn: str, database: str) -> str:
    """The address of an empty database."""
    return make_conninfo(server_dsn, dbname=database)


def rows(dsn: str, schema: str) -> dict[str, list[Any]]:
    """All rows of all tables as text, and the names of the indexes."""
    named = "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = %s"
    with connect(dsn) as conn:
        tables = [name for (name,) in conn.execute(named, (schema, "r")).fetchall()]
        indexes = sorted(name for (name,) in conn.execute(named, (schema, "i")).fetchall())
        texts = sql.SQL("SELECT t::text FROM {} t ORDER BY 1")
        held = {t: conn.execute(texts.format(sql.Identifier(schema, t))).fetchall() for t in tables}
    return held | {"indexes": indexes}


def test_a_restored_collection_has_every_row_and_index_and_its_ingestions_go_on(
    full: Store, tmp_path: Path, other: str
) -> None:
    seen: list[str] = []
    dump_collection(full.dsn, full.collection, tmp_path / "new" / "team.dump", seen.append)
    restore_collection(other, tmp_path / "new" / "team.dump")
    assert "corpora" in seen
    assert collections(other) == [full.collection]
    assert rows(other, full.schema) == rows(full.dsn, full.schema)
    with open_store(other, full.collection) as again:
        assert verify(again).rows() == verify(full).rows()
        assert begin_run(again, "next", []) == begin_run(full, "next", [])


def test_a_collection_with_capitals_or_dots_in_its_name_is_the_one_that_is_exported(
    server_dsn: str, tmp_path: Path, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["Odd-Name", "odd-name", "odd.v2"]
    try:
        for name in names:
            open_store(server_dsn, name, create=True).close()
            dump_collection(server_dsn, name, Path(f"-{name} 'é.dump"))
            restore_collection(other, Path(f"-{name} 'é.dump"))
        assert collections(other) == sorted(names)
    finally:
        for name in names:
            drop_collection(server_dsn, name)


def test_a_damaged_file_leaves_nothing_and_is_named(
    full: Store, tmp_path: Path, other: str
) -> None:
    file = tmp_path / "team.dump"
    dump_collection(full.dsn, full.collection, file)
    whole = file.read_bytes()
    for bad in (b"", b"no dump at all\n" * 99, whole[: len(whole) // 2], whole[:-200]):
        file.write_bytes(bad)
        with pytest.raises(CrosscorpusError, match=r"team\.dump: .*: give a whole file"):
            restore_collection(other, file)
        assert collections(other) == []
    with pytest.raises(FileNotFoundError, match="nowhere"):
        restore_collection(other, tmp_path / "nowhere")


def test_a_file_is_its_owners_alone_and_never_written_over(full: Store, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        dump_collection(full.dsn, full.collection, tmp_path / "team.dump")
    finally:
        os.umask(before)
    assert (tmp_path / "team.dump").stat().st_mode & 0o777 == 0o600
    with pytest.raises(CrosscorpusError, match=r"team\.dump exists"):
        dump_collection(full.dsn, full.collection, tmp_path / "team.dump")
    assert [path.name for path in tmp_path.iterdir()] == ["team.dump"]


def test_a_dump_that_fails_leaves_no_file(full: Store, tmp_path: Path) -> None:
    with pytest.raises(CrosscorpusError, match=r"pg_dump .*no matching schemas"):
        dump_collection(full.dsn, "nowhere", tmp_path / "team.dump")
    assert list(tmp_path.iterdir()) == []


def test_a_password_is_no_argument_that_others_on_the_machine_can_read(
    full: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "pg_dump"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/seen\necho "$PGPASSWORD" > {tmp_path}/got\necho 18.0\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    dsn = make_conninfo(full.dsn, password="s3cret-word")
    dump_collection(dsn, full.collection, tmp_path / "team.dump")
    assert "s3cret-word" not in (tmp_path / "seen").read_text()
    assert (tmp_path / "got").read_text().strip() == "s3cret-word"


def test_where_no_program_fits_the_server_the_error_says_what_to_install(
    full: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "bin" / "pg_dump"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 9.6.1\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(backup, "installed", lambda: tmp_path)
    with pytest.raises(CrosscorpusError, match=r"pg_dump of Postgres \d+ is missing: install"):
        dump_collection(full.dsn, full.collection, tmp_path / "team.dump")


def test_a_restoration_that_is_killed_leaves_no_collection(
    full: Store, tmp_path: Path, other: str
) -> None:
    dump_collection(full.dsn, full.collection, tmp_path / "team.dump")
    program = f"""
import os, signal
from pathlib import Path
from operators.postgres.backup import restore_collection
restore_collection({other!r}, Path({str(tmp_path / "team.dump")!r}),
                   lambda table: os.killpg(0, signal.SIGKILL))
"""
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=False, start_new_session=True
    )
    assert done.returncode == -signal.SIGKILL
    end = time.monotonic() + 20
    while time.monotonic() < end:  # the server ends the transaction when it sees the client gone
        try:
            restore_collection(other, tmp_path / "team.dump")
            break
        except CrosscorpusError:
            time.sleep(0.2)
    assert rows(other, full.schema) == rows(full.dsn, full.schema)
