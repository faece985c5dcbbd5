"""Behind a real pgbouncer that gives each transaction another connection."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from operators.postgres.connection import connect, is_pooled, open_pool
from operators.postgres.store import drop_collection, open_store


@pytest.fixture
def pooled_dsn(tcp_server_dsn: str) -> Iterator[str]:
    program = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    if program is None:
        pytest.skip("pgbouncer is not installed on this machine")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = conninfo_to_dict(tcp_server_dsn)
    keys = ("host", "port", "dbname", "user", "password")
    address = " ".join(f"{key}='{server[key]}'" for key in keys if key in server)
    settings = Path(tempfile.mkdtemp(prefix="crosscorpus-pooler-")) / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n{server['dbname']} = {address}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        "auth_type = any\npool_mode = transaction\ndefault_pool_size = 3\n"
    )
    settings.chmod(0o644)
    settings.parent.chmod(0o755)  # whoever it runs as reads it
    command = [program, str(settings)]
    if os.geteuid() == 0:  # it refuses to run as root
        command[1:1] = ["-u", "nobody"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        dsn = make_conninfo(
            host="127.0.0.1", port=port, dbname=server["dbname"], user=server["user"]
        )
        _wait(dsn)
        yield dsn
        process.terminate()
    shutil.rmtree(settings.parent)


def _wait(dsn: str) -> None:
    for _ in range(100):
        try:
            psycopg.connect(dsn, connect_timeout=1).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("pgbouncer does not answer")


def test_a_pooler_is_noticed_and_a_server_is_none(pooled_dsn: str, server_dsn: str) -> None:
    for dsn, pooled in ((pooled_dsn, True), (server_dsn, False)):
        with connect(dsn) as conn:
            assert is_pooled(conn) is pooled


def test_a_prepared_statement_would_be_lost_behind_it(pooled_dsn: str) -> None:
    with (
        open_pool(pooled_dsn, max_size=6) as pool,
        pytest.raises(psycopg.Error, match="prepared statement"),
        ThreadPoolExecutor(6) as threads,
    ):
        for _ in threads.map(lambda _: _asked(pool), range(200)):
            pass


def _asked(pool: object) -> None:
    with pool.connection() as conn:  # type: ignore[attr-defined]
        conn.execute("SELECT 1 + %s", (1,))


def test_a_collection_is_made_and_read_by_many_behind_it(pooled_dsn: str) -> None:
    def ask(number: int) -> tuple[int, ...] | None:
        count = "SELECT count(*) + %s FROM chunks"
        return store.run(lambda conn: conn.execute(count, (number,)).fetchone())

    with open_store(pooled_dsn, "behind-a-pooler", create=True, max_size=6) as store:
        with ThreadPoolExecutor(6) as threads:
            assert [row[0] for row in threads.map(ask, range(200)) if row] == list(range(200))
        drop_collection(store, store.collection)
