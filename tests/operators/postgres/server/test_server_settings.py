from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import Any

from operators.postgres.server.embedded_server import start


def test_keeps_the_measured_settings(machine: Any, directory: Path) -> None:
    with start(directory) as server:
        assert machine.ask(server.dsn, "SHOW synchronous_commit") == "on"
        assert machine.ask(server.dsn, "SHOW fsync") == "on"
        assert machine.ask(server.dsn, "SHOW listen_addresses") == ""
        assert machine.ask(server.dsn, "SHOW wal_level") == "minimal"
        expected = "syncfs" if sys.platform == "linux" else "fsync"
        assert machine.ask(server.dsn, "SHOW recovery_init_sync_method") == expected
        # Sorted by code point, yet letters of every language have a lower case.
        assert machine.ask(server.dsn, "SELECT lower('ÜBER')") == "über"
        assert machine.ask(server.dsn, "SELECT 'b' < 'ä' AND 'Z' < 'a'") is True
        assert stat.S_IMODE(server.cluster.socket_directory.stat().st_mode) == 0o700
        assert stat.S_IMODE(server.cluster.data.stat().st_mode) == 0o700
