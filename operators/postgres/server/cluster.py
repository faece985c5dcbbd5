"""One embedded database on disk and the Postgres processes that serve it.

Its directory holds cluster/ (the database), run/ (the socket), log/, and the lock files: lock
(starting and stopping), users (shared by every process that uses the server), held (inherited by
every server process: it is locked while one of them is alive, in any container).
"""

import contextlib
import logging
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
from psycopg.pq import PGconn, Ping

from operators.foundation.os_user import (
    Account,
    closed_parent,
    give,
    make_directory,
    server_account,
)
from operators.postgres.server import file_locks
from operators.postgres.server.binaries import PACKAGE, usable
from operators.postgres.server.pg_environment import complete_dsn, undisturbed
from operators.postgres.server.programs import ServerError, names_a_reason, reason, run
from operators.postgres.server.server_settings import machine_memory, settings, settings_file
from operators.postgres.server.sockets import make_socket_directory, socket_directory

DEFAULT_PORT = 5432
GRACE_S = 3.0
YOUNG_S = 5.0
ORDERLY_S = 20.0
PAUSE_S = 0.01
LARGEST_LOG = 10_000_000

_NO_PATH = re.compile(r"[$`\"\\,\x00-\x1f]")
"""Not allowed in a path: Postgres's programs put it into shell quotes, and sockets into a list."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Running:
    """The contents of a cluster's lock file: the postmaster and its port."""

    pid: int
    port: int


class Cluster:
    """A database directory and its server, for any of its users."""

    def __init__(self, directory: Path) -> None:
        """Create the object; changes nothing on disk."""
        if os.name == "nt":
            raise ServerError("the embedded server does not run on Windows: set CROSSCORPUS_DSN")
        self.directory = Path(directory).resolve()
        if bad := _NO_PATH.search(str(self.directory)):
            raise ServerError(
                f"the embedded server cannot live in {str(self.directory)!r}: {bad[0]!r} would end"
                " or change its path in a command of Postgres; set CROSSCORPUS_HOME to another"
            )
        self.data = self.directory / "cluster"
        self.logs = self.directory / "log"
        self.account: Account | None = _owner(self.data, server_account())

    # -- paths and processes --------------------------------------------------------------------

    @property
    def socket_directory(self) -> Path:
        """The directory of the Unix socket."""
        return socket_directory(self.directory)

    def socket_dsn(self, port: int) -> str:
        """Return the address over the Unix socket."""
        return complete_dsn(str(self.socket_directory), port)

    def running(self) -> Running | None:
        """Read the lock file of the postmaster; it may be stale."""
        try:
            lines = (self.data / "postmaster.pid").read_text().split("\n")
            return Running(int(lines[0]), int(lines[3]))
        except (FileNotFoundError, IndexError, ValueError):
            return None

    def answer(self) -> Ping:
        """Check whether the server accepts connections, by connecting."""
        port = running.port if (running := self.running()) else DEFAULT_PORT
        with undisturbed():
            return Ping(PGconn.ping(self.socket_dsn(port).encode()))

    def processes(self) -> list[psutil.Process]:
        """Return the living Postgres processes of this cluster, each with ``info``.

        They may end at any time: psutil then has only their ``info``.
        """
        return [
            process
            for process in psutil.process_iter(["name", "cwd", "status", "create_time"])
            if process.info["cwd"] == str(self.data)
            and (process.info["name"] or "").startswith("postgres")
            and process.info["status"] != psutil.STATUS_ZOMBIE
        ]

    def is_held(self) -> bool:
        """Say whether any process may still write to the database."""
        return file_locks.is_held(self.directory / "held") or bool(self.processes())

    # -- start and stop; the caller holds the lock file `lock` ----------------------------------

    def prepare(self) -> None:
        """Create the directories, with the least privileges that the server's account needs."""
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

    def bring_up(self, lock: int, extra: Mapping[str, str], timeout_s: float) -> str:
        """Make the server accept connections; return ``attached``, ``created`` or ``started``.

        It waits for a server that is starting, recovering or stopping. It removes the files of a
        dead server only when no process uses the database.
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
            elif time.monotonic() - silent_since > GRACE_S:
                self._end_unreachable()
                silent_since = time.monotonic()
            if time.monotonic() > deadline:
                raise ServerError(
                    f"the embedded server in {self.directory} runs but does not answer; "
                    f"its log is in {self.logs}"
                )
            time.sleep(PAUSE_S)
        installation = usable(self.account, self.directory)
        whole = all((self.data / name).exists() for name in ("PG_VERSION", "global/pg_control"))
        how = "started" if whole else "created"
        if how == "created":
            self._create(installation, lock)
        self._start(installation, extra, deadline)
        return how

    def stop(self, timeout_s: float = 60.0) -> bool:
        """Stop the server; False when none ran.

        Raises:
            ServerError: it does not stop in time.
        """
        if not self.is_held():
            return False
        began = time.monotonic()
        running = self.running()
        postmaster = [p for p in self.processes() if running is not None and p.pid == running.pid]
        if postmaster:
            self._signal(postmaster, signal.SIGINT)
        else:
            self._end_unreachable()
        while self.is_held():
            waited = time.monotonic() - began
            if waited > timeout_s:
                raise ServerError(f"the embedded server in {self.directory} does not stop")
            if waited > ORDERLY_S:
                # Postgres 18 waits forever if it is stopped during crash recovery.
                self._signal(postmaster, signal.SIGQUIT)
                postmaster = []
            time.sleep(PAUSE_S)
        return True

    def _create(self, installation: Path, lock: int) -> None:
        """Run initdb in a temporary directory, then rename it, so no partial database is used."""
        if self.data.exists():
            aside = self.directory / f"cluster.broken-{int(time.time())}"
            log.warning("%s is not a whole database: it is set aside as %s", self.data, aside)
            self.data.rename(aside)
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
        arguments += ["-D", str(unfinished)]
        # If initdb survives its killed parent, this lock makes the next start wait.
        result = run(installation, "initdb", *arguments, account=self.account, keep_open=(lock,))
        if "could not look up effective user" in result.stdout:
            raise ServerError(
                f"user number {os.geteuid()} has no name on this machine, which Postgres needs: "
                "add it to /etc/passwd, or set CROSSCORPUS_DSN to a server"
            )
        if result.returncode != 0:
            raise ServerError(f"initdb failed: {reason(result.stdout)}")
        unfinished.rename(self.data)

    def _start(self, installation: Path, extra: Mapping[str, str], deadline: float) -> None:
        sockets = make_socket_directory(self.directory, self.account)
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        for stale in sockets.glob(".s.PGSQL.*"):
            stale.unlink(missing_ok=True)
        values = settings(sockets, self.logs, machine_memory()) | dict(extra)
        self._write(self.data / "postgresql.conf", settings_file(values))
        first_words = self.logs / "start.log"
        first_words.unlink(missing_ok=True)
        for old in self.logs.glob("*.log"):
            if old.stat().st_size > LARGEST_LOG:
                old.unlink()
        lock = file_locks.hold(self.directory / "held", shared=True)
        try:
            command = ("pg_ctl", "-D", self.data, "-l", first_words, "-W", "start")
            run(installation, *command, account=self.account, keep_open=(lock,))
        finally:
            os.close(lock)
        # pg_ctl itself polls only ten times a second.
        while self.answer() != Ping.OK:
            if not file_locks.is_held(self.directory / "held"):
                raise ServerError(self._why_not(first_words))
            if time.monotonic() > deadline:
                raise ServerError(f"Postgres takes too long to start (logs: {self.logs})")
            time.sleep(PAUSE_S)

    def _why_not(self, first_words: Path) -> str:
        """Return the reason, in one line, why the server did not start."""
        output = first_words.read_text(errors="replace") if first_words.exists() else ""
        if "incompatible with server" in output:
            made_by = (self.data / "PG_VERSION").read_text().strip()
            return (
                f"{self.data} was made by Postgres {made_by}, which {PACKAGE} is not: install an "
                f"{PACKAGE} of version {made_by}, or move the directory away and ingest again"
            )
        recent = sorted(self.logs.glob("postgres-*.log"), key=lambda path: path.stat().st_mtime)
        if recent and not names_a_reason(output):
            output = recent[-1].read_text(errors="replace")[-4000:]
        return f"Postgres did not start: {reason(output)} (logs: {self.logs})"

    def _end_unreachable(self) -> None:
        """End server processes that no client can reach.

        These are backends whose postmaster was killed, and a postmaster whose socket was deleted.
        """
        running = self.running()
        processes = self.processes()
        postmaster = [p for p in processes if running is not None and p.pid == running.pid]
        if running is not None and not postmaster:
            self._signal(processes, signal.SIGQUIT)
            return
        # A server that is just starting has no lock file or no socket yet. One that was started in
        # the future is old: the clock was set back.
        grown = [p for p in processes if abs(time.time() - p.info["create_time"]) > YOUNG_S]
        if running is None:
            self._signal(grown, signal.SIGQUIT)
        elif not (self.socket_directory / f".s.PGSQL.{running.port}").exists():
            self._signal([p for p in postmaster if p in grown], signal.SIGINT)

    def _signal(self, processes: list[psutil.Process], number: signal.Signals) -> None:
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def _write(self, path: Path, text: str) -> None:
        """Write a file into the account's directory without following links."""
        unfinished = path.with_name(path.name + ".new")
        unfinished.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            with open(os.open(unfinished, flags, 0o600), "w") as file:
                if self.account is not None:
                    os.fchown(file.fileno(), self.account.uid, self.account.gid)
                file.write(text)
        except OSError as error:
            message = reason(error.strerror or "")
            raise ServerError(f"cannot write to {self.directory}: {message}") from error
        unfinished.replace(path)


def _owner(data: Path, account: Account | None) -> Account | None:
    """Return the account for a server of root: an existing database's owner, else ``account``."""
    if account is None:
        return None
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        status = data.stat()
        if status.st_uid != 0:
            return Account(f"number {status.st_uid}", status.st_uid, status.st_gid)
    return account
