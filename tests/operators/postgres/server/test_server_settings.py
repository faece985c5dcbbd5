from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from operators.postgres.server import server_settings
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


def test_a_container_with_little_memory_gets_a_small_server(
    machine: Any, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memory.max").write_text(f"{2**30}\n")
    monkeypatch.setattr(server_settings, "LIMITS", (tmp_path / "none", tmp_path / "memory.max"))
    with start(directory) as server:
        assert machine.ask(server.dsn, "SHOW shared_buffers") == "64MB"
        assert machine.ask(server.dsn, "SHOW maintenance_work_mem") == "128MB"


def test_a_container_without_a_limit_has_the_machines_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    limits = (tmp_path / "memory.max", tmp_path / "memory.limit_in_bytes")
    monkeypatch.setattr(server_settings, "LIMITS", limits)
    assert server_settings.machine_memory() == psutil.virtual_memory().total
