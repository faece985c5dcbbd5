"""One embedded database on disk and the Postgres processes that serve it.

Its directory holds cluster/ (the database), run/ (the socket), log/, and the lock files: lock
(starting and stopping), users (shared by every process that uses the server), held (inherited by
every server process, so that it tells whether any of them is alive, in whatever container).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping

from operators.errors import CrosscorpusError
from operators.postgres import binaries, locks
from operators.postgres.account import (
    Account,
    closed_parent,
    give,
    make_directory,
    server_account,
)
from operators.postgres.settings import machine_memory, settings, settings_file

DEFAULT_PORT = 5432
LONGEST_SOCKET = 100
ORPHAN_GRACE_S = 3.0
PAUSE_S = 0.02

# Complete, so that none of libpq's PG* environment variables can bend it.
FIXED = {
    "user": "postgres",
    "dbname": "postgres",
    "hostaddr": "",
    "options": "",
    "sslmode": "disable",
    "gssencmode": "disable",
    "channel_binding": "prefer",
    "target_session_attrs": "any",
    "require_auth": "",
    "client_encoding": "UTF8",
    "connect_timeout": "10",
    "application_name": "crosscorpus",
}


class ServerError(CrosscorpusError):
    """The embedded server cannot run here; the text says what to do."""


@dataclass(frozen=True)
class Running:
    """What a cluster's lock file says: the postmaster, its port, and whether TCP is open."""

    pid: int
    port: int
    listens: bool


class Cluster:
    """A database directory, whoever uses it."""

    def __init__(self, directory: Path, provider: str) -> None:
        """Name a cluster; nothing is touched."""
        if os.name == "nt":
            raise ServerError("the embedded server does not run on Windows: set CROSSCORPUS_DSN")
        self.directory = Path(directory).expanduser().resolve()
        self.data = self.directory / "cluster"
        self.logs = self.directory / "log"
        self.provider = provider
        self.account: Account | None = server_account()

    # -- where it is ---------------------------------------------------------------------------

    @property
    def socket_directory(self) -> Path:
        """The directory of the Unix socket; a short one when the cluster's own path is too long."""
        inside = self.directory / "run"
        if len(os.fsencode(inside / ".s.PGSQL.65535.lock")) <= LONGEST_SOCKET:
            return inside
        with contextlib.suppress(FileNotFoundError):
            return Path((self.directory / "socket-directory").read_text())
        return inside

    def socket_dsn(self, port: int) -> str:
        """Return the address over the Unix socket."""
        return make_conninfo("", **FIXED, host=str(self.socket_directory), port=port)

    def running(self) -> Running | None:
        """Read the lock file of the postmaster; it may be stale."""
        try:
            lines = (self.data / "postmaster.pid").read_text().split("\n")
            return Running(int(lines[0]), int(lines[3]), lines[5].strip() != "")
        except (FileNotFoundError, IndexError, ValueError):
            return None

    def answer(self) -> Ping:
        """Ask the server, by connecting, whether it takes connections."""
        running = self.running()
        port = running.port if running else DEFAULT_PORT
        return Ping(PGconn.ping(self.socket_dsn(port).encode()))

    def processes(self) -> list[psutil.Process]:
        """Return the living Postgres processes that work in this cluster."""
        found = []
        for process in psutil.process_iter(["name", "cwd", "status"]):
            info = process.info
            if (
                info["cwd"] == str(self.data)
                and (info["name"] or "").startswith("postgres")
                and info["status"] != psutil.STATUS_ZOMBIE
            ):
                found.append(process)
        return found

    def is_held(self) -> bool:
        """Say whether any process may still write to the database."""
        return locks.is_held(self.directory / "held") or bool(self.processes())

    # -- up and down; the caller holds the lock file `lock` ------------------------------------

    def prepare(self) -> None:
        """Make the directories, each as open as the server's account needs and no more."""
        closed = closed_parent(self.directory, self.account)
        if closed is not None and self.account is not None:
            raise ServerError(
                f"Postgres does not run as root, and user {self.account.name!r} may not enter "
                f"{closed}: set CROSSCORPUS_HOME to a place open to it, such as "
                "/var/lib/crosscorpus, or run as an ordinary user"
            )
        try:
            make_directory(self.directory, self.account)
            for name in ("run", "log"):
                give(self.directory / name, self.account)
        except OSError as error:
            raise ServerError(
                f"cannot write to {self.directory} ({error.strerror}): set CROSSCORPUS_HOME to a "
                "directory of your own"
            ) from error

    def bring_up(
        self, lock: int, port: int | None, extra: Mapping[str, str], timeout_s: float
    ) -> str:
        """Have the server answer; say how: attached, created or started.

        A server that is starting, recovering or dying is waited for. What a dead one left behind
        is removed only when no process holds the database.
        """
        deadline = time.monotonic() + timeout_s
        silent_since = time.monotonic()
        while True:
            answer = self.answer()
            if answer == Ping.OK:
                return "attached"
            if answer == Ping.REJECT:
                silent_since = time.monotonic()
            elif not self.is_held():
                break
            elif time.monotonic() - silent_since > ORPHAN_GRACE_S:
                self._end_unreachable()
                silent_since = time.monotonic()
            if time.monotonic() > deadline:
                raise ServerError(
                    f"the embedded server in {self.directory} runs but does not answer; "
                    f"its log is in {self.logs}"
                )
            time.sleep(PAUSE_S)
        installation = binaries.usable(self.provider, self.account, self.directory)
        how = "started" if (self.data / "PG_VERSION").exists() else "created"
        if how == "created":
            self._create(installation, lock)
        self._check_version(installation)
        self._start(installation, port, extra, deadline)
        return how

    def stop(self, timeout_s: float = 60.0) -> bool:
        """Stop the server; False when none ran."""
        running = self.running()
        if running is None or not self.is_held():
            return False
        installation = binaries.usable(self.provider, self.account, self.directory)
        seconds = str(int(timeout_s))
        self._run(
            installation, "pg_ctl", "-D", self.data, "-m", "fast", "-w", "-t", seconds, "stop"
        )
        deadline = time.monotonic() + timeout_s
        while self.is_held() and time.monotonic() < deadline:
            time.sleep(PAUSE_S)
        return True

    def _create(self, installation: Path, lock: int) -> None:
        """Run initdb beside the final place and rename: a half-made database never has the name."""
        if self.data.exists() and any(self.data.iterdir()):
            raise ServerError(
                f"{self.data} is not a Postgres database and not empty: move it away, or set "
                "CROSSCORPUS_HOME to another directory"
            )
        unfinished = self.directory / "cluster.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        give(unfinished, self.account)
        arguments = [
            *("--username=postgres", "--encoding=UTF8", "--no-locale"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            *("--auth-local=trust", "--auth-host=scram-sha-256", "--no-instructions"),
        ]
        if sys.platform == "linux":
            arguments.append("--sync-method=syncfs")
        # An initdb that outlives its killed parent keeps the next start waiting by this lock.
        result = self._run(installation, "initdb", *arguments, "-D", unfinished, keep_open=(lock,))
        if result.returncode != 0:
            raise ServerError(f"initdb failed: {_reason(result.stdout)}")
        if self.data.exists():
            self.data.rmdir()
        unfinished.rename(self.data)

    def _check_version(self, installation: Path) -> None:
        made_by = (self.data / "PG_VERSION").read_text().strip()
        result = self._run(installation, "postgres", "--version")
        program = result.stdout.split()[-1].split(".")[0] if result.returncode == 0 else ""
        if result.returncode != 0:
            raise ServerError(f"Postgres does not run here: {_reason(result.stdout)}")
        if program != made_by:
            raise ServerError(
                f"{self.data} was made by Postgres {made_by} and {self.provider} has {program}: "
                f"install a {self.provider} with Postgres {made_by}, or move the directory away "
                "and ingest again"
            )

    def _start(
        self, installation: Path, port: int | None, extra: Mapping[str, str], deadline: float
    ) -> None:
        sockets = self._own_socket_directory()
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        for stale in sockets.glob(".s.PGSQL.*"):
            stale.unlink(missing_ok=True)
        values = settings(sockets, self.logs, port, machine_memory()) | dict(extra)
        self._write(self.data / "postgresql.conf", settings_file(values))
        first_words = self.logs / "start.log"
        first_words.unlink(missing_ok=True)
        held = locks.hold(self.directory / "held", shared=True)
        try:
            seconds = str(max(1, int(deadline - time.monotonic())))
            result = self._run(
                installation,
                *("pg_ctl", "-D", self.data, "-l", first_words, "-w", "-t", seconds, "start"),
                keep_open=(held,),
            )
        finally:
            os.close(held)
        if result.returncode != 0 or self.answer() != Ping.OK:
            said = first_words.read_text() if first_words.exists() else result.stdout
            raise ServerError(f"Postgres did not start: {_reason(said)} (logs: {self.logs})")

    def _end_unreachable(self) -> None:
        """End server processes that no client can reach any more.

        Backends whose postmaster was killed, and a postmaster whose socket was deleted.
        """
        processes = self.processes()
        running = self.running()
        postmaster = [p for p in processes if running and p.pid == running.pid]
        if not postmaster:
            for process in processes:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGQUIT)
        elif running and not (self.socket_directory / f".s.PGSQL.{running.port}").exists():
            with contextlib.suppress(psutil.NoSuchProcess):
                postmaster[0].send_signal(signal.SIGINT)

    def _own_socket_directory(self) -> Path:
        """Return the socket directory, made anew when it is gone or belongs to somebody else."""
        inside = self.directory / "run"
        chosen = self.socket_directory
        if chosen == inside and len(os.fsencode(inside)) + 20 <= LONGEST_SOCKET:
            give(inside, self.account)
            return inside
        owner = self.account.uid if self.account else os.geteuid()
        with contextlib.suppress(FileNotFoundError):
            status = chosen.lstat()
            private = stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o700
            if chosen != inside and private and status.st_uid == owner:
                return chosen
        place = Path(tempfile.gettempdir())
        if len(os.fsencode(place)) > 60 or closed_parent(place, self.account) is not None:
            place = Path("/tmp")
        made = Path(tempfile.mkdtemp(prefix="crosscorpus-", dir=place))
        give(made, self.account)
        (self.directory / "socket-directory").write_text(str(made))
        return made

    def _write(self, path: Path, text: str) -> None:
        unfinished = path.with_name(path.name + ".new")
        unfinished.write_text(text)
        unfinished.chmod(0o600)
        if self.account is not None:
            os.chown(unfinished, self.account.uid, self.account.gid)
        unfinished.replace(path)

    def _run(
        self, installation: Path, program: str, *arguments: object, keep_open: tuple[int, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run one of Postgres's programs as the server's account, in a clean environment."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "LC_"))}
        environment |= {"TZ": "UTC", "LC_ALL": "C"}
        account = self.account
        try:
            return subprocess.run(
                [str(installation / "bin" / program), *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                cwd="/",
                env=environment,
                pass_fds=keep_open,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
                check=False,
            )
        except OSError as error:
            raise ServerError(
                f"cannot run Postgres's {program} ({error.strerror}): set CROSSCORPUS_DSN"
            ) from error


def _reason(output: str) -> str:
    """Return the line of a program's output that says what went wrong."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for mark in ("FATAL:", "PANIC:", "error:", "ERROR:"):
        for line in lines:
            if mark in line:
                return line
    return lines[-1] if lines else "it said nothing"
