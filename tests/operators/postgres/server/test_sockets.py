from __future__ import annotations

import shutil
import stat
from pathlib import Path
from typing import Any

from operators.postgres.server.embedded_server import start


def test_a_long_path_gets_a_short_private_socket_directory(
    machine: Any, crosscorpus_home: Path
) -> None:
    directory = crosscorpus_home / ("long" * 30)
    with start(directory) as server:
        sockets = server.cluster.socket_directory
        assert len(str(sockets)) < 80
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        assert machine.ask(server.dsn, "SELECT 1") == 1
        with start(directory) as second:
            assert second.how == "attached"
    with start(directory) as later:
        assert later.cluster.socket_directory == sockets
    # Temporary directories are swept; and somebody else may sit down on the name.
    shutil.rmtree(sockets)
    sockets.mkdir(mode=0o755)
    try:
        with start(directory) as moved:
            assert moved.cluster.socket_directory != sockets
            assert machine.ask(moved.dsn, "SELECT 1") == 1
        shutil.rmtree(moved.cluster.socket_directory)
    finally:
        sockets.rmdir()
