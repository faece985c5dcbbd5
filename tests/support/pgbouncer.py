"""A pgbouncer that gives every transaction another connection, before a server."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

SETTINGS = """[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
"""

DEFAULTS = {"pool_mode": "transaction", "default_pool_size": "4"}


@contextmanager
def pooled(tcp_dsn: str, **settings: str) -> Iterator[str]:
    """The address of a pooler before ``tcp_dsn``; skips where there is no pgbouncer."""
    if not shutil.which("pgbouncer"):
        pytest.skip("there is no program pgbouncer")
    server = conninfo_to_dict(tcp_dsn)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        own = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as name:
        users, ini = Path(name) / "users", Path(name) / "pgbouncer.ini"
        users.write_text(f'"{server["user"]}" "{server["password"]}"\n')
        place = {"host": server["host"], "port": server["port"], "own": own, "users": users}
        lines = [f"{name} = {value}\n" for name, value in (DEFAULTS | settings).items()]
        ini.write_text(SETTINGS.format(**place) + "".join(lines))
        for one in (Path(name), users, ini):
            one.chmod(0o755)
        # It does not run as root.
        account = ["-u", "nobody"] if os.getuid() == 0 else []
        with subprocess.Popen(["pgbouncer", "-q", *account, str(ini)]) as running:
            try:
                address = {"host": "127.0.0.1", "port": own, "dbname": server["dbname"]}
                login = {"user": server["user"], "password": server["password"]}
                for _ in range(100):
                    with suppress(OSError), socket.create_connection(("127.0.0.1", own)):
                        break
                    time.sleep(0.1)
                yield make_conninfo("", **address, **login)
            finally:
                running.terminate()
