"""The embedded server's settings file."""

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil

HEADER = "# Written at every start. For settings of your own: ALTER SYSTEM SET name = value.\n"
MEGABYTE = 1024 * 1024
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def settings(socket_directory: Path, log_directory: Path, memory_bytes: int) -> dict[str, str]:
    """Return the settings of a server for one user's searches, for a machine with this memory.

    Every commit is durable; the server uses less than a quarter of the memory.
    """
    buffers = _within(memory_bytes // 16, 32, 512)
    maintenance = _within(memory_bytes // 8, 64, 1024)
    return {
        "listen_addresses": "",
        "port": "5432",
        "unix_socket_directories": str(socket_directory),
        "max_connections": "100",
        "shared_buffers": f"{buffers}MB",
        "maintenance_work_mem": f"{maintenance}MB",
        "work_mem": f"{_within(memory_bytes // 256, 4, 32)}MB",
        "effective_cache_size": f"{max(memory_bytes // 2 // MEGABYTE, 64)}MB",
        "random_page_cost": "1.1",
        "effective_io_concurrency": "100",
        "max_parallel_workers_per_gather": "2",
        "max_parallel_maintenance_workers": "2",
        "jit": "off",
        "synchronous_commit": "on",
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "wal_compression": "on",
        "max_wal_size": "4GB",
        "wal_recycle": "off",  # else hundreds of megabytes of the log stay after an ingestion
        "gin_pending_list_limit": "256kB",  # its pages stay in each index of words: 4 MB by default
        # A row with a vector takes kilobytes: a fifth of dead rows is too much, minutes too long.
        "autovacuum_vacuum_scale_factor": "0.05",
        "autovacuum_naptime": "20s",
        # The default opens every file of the database at a restart after a crash.
        "recovery_init_sync_method": "syncfs" if sys.platform == "linux" else "fsync",
        "dynamic_shared_memory_type": _shared_memory(maintenance),
        "timezone": "UTC",
        "log_timezone": "UTC",
        "lc_messages": "C",
        # One log file a weekday, truncated a week later.
        "logging_collector": "on",
        "log_directory": str(log_directory),
        "log_filename": "postgres-%a.log",
        "log_rotation_age": "1d",
        "log_rotation_size": "0",
        "log_truncate_on_rotation": "on",
        "log_checkpoints": "off",
        # The text of a failing statement may contain a user's document.
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
    }


def settings_file(values: Mapping[str, str]) -> str:
    """Return the text of postgresql.conf for these values."""
    quoted = (value.replace("\\", "\\\\").replace("'", "''") for value in values.values())
    return HEADER + "".join(map("{} = '{}'\n".format, values, quoted))


def machine_memory() -> int:
    """Return the memory in bytes of this machine, or of its container where that has less."""
    memory = int(psutil.virtual_memory().total)
    for limit in LIMITS:
        with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
            memory = min(memory, int(Path(limit).read_text()))
    return memory


def _within(size_bytes: int, least: int, most: int) -> int:
    return max(least, min(most, size_bytes // MEGABYTE))


def _shared_memory(maintenance_mb: int) -> str:
    """The kind of shared memory: files, if /dev/shm is too small for a parallel index build."""
    if sys.platform != "linux":
        return "posix"
    try:
        shm = os.statvfs("/dev/shm")
    except OSError:
        return "mmap"
    room = shm.f_bavail * shm.f_frsize // MEGABYTE
    return "posix" if room >= 2 * maintenance_mb else "mmap"
