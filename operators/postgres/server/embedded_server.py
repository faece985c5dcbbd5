"""The embedded server: its first user starts it, and it stops when its last user leaves."""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from operators.postgres.server import file_locks
from operators.postgres.server.cluster import DEFAULT_PORT, Cluster
from operators.postgres.server.programs import ServerError

START_S = 120.0

_in_use: list[Server] = []


def start(data_dir: Path, *, settings: Mapping[str, str] | None = None) -> Server:
    """Start the server in data_dir, or join the running one, and register as its user.

    settings are written to postgresql.conf if this call starts the server.

    Raises:
        ServerError: it cannot run here; says what to do.
    """
    server = Server(data_dir, settings=settings)
    server.join()
    return server


def server_for(dsn: str) -> Server | None:
    """Return the embedded server of a DSN, if this process has joined it, else None."""
    wanted = _address(dsn)
    return next((one for one in reversed(_in_use) if _address(one.dsn) == wanted), None)


def in_use(data_dir: Path) -> Server | None:
    """Return the server in data_dir that this process has joined, or None."""
    directory = Path(data_dir).expanduser().resolve()
    return next((s for s in reversed(_in_use) if s.cluster.directory == directory), None)


class Server(contextlib.AbstractContextManager["Server"]):
    """One use of an embedded server, registered until released; a context manager."""

    def __init__(self, data_dir: Path, *, settings: Mapping[str, str] | None = None) -> None:
        """Create the object; ``join`` starts the server."""
        self.cluster = Cluster(data_dir)
        self.settings = dict(settings or {})
        self.how = "absent"
        self._port = DEFAULT_PORT
        self._users: int | None = None

    @property
    def dsn(self) -> str:
        """The address for clients, over the Unix socket."""
        return self.cluster.socket_dsn(self._port)

    def join(self) -> None:
        """Register as a user and make the server accept connections.

        Raises:
            ServerError: it cannot run here; says what to do.
        """
        self.cluster.prepare()
        with _alone(self.cluster, START_S) as lock:
            self._users = file_locks.hold(self.cluster.directory / "users", shared=True)
            try:
                self._bring_up(lock)
            except BaseException:
                self._leave()
                raise
        _in_use.append(self)
        atexit.register(self.release)

    def ensure(self) -> None:
        """Restart a joined server if it does not answer, even after a crash.

        Raises:
            ServerError: it was released, or cannot be restarted.
        """
        if self._users is None:
            raise ServerError(f"the embedded server in {self.cluster.directory} was released")
        with _alone(self.cluster, START_S) as lock:
            self._bring_up(lock)

    def release(self) -> bool:
        """Unregister as a user; True if this was the last user and the server stopped."""
        if self._users is None:
            return False
        atexit.unregister(self.release)
        with contextlib.suppress(ValueError):
            _in_use.remove(self)
        with _alone(self.cluster, 60.0):
            self._leave()
            if file_locks.is_held(self.cluster.directory / "users"):
                return False
            return self.cluster.stop()

    def __exit__(self, *error: object) -> None:
        """Release the server."""
        self.release()

    def _bring_up(self, lock: int) -> None:
        self.how = self.cluster.bring_up(lock, self.settings, START_S)
        running = self.cluster.running()
        if running is None:
            raise ServerError(f"the embedded server in {self.cluster.directory} went away again")
        self._port = running.port

    def _leave(self) -> None:
        if self._users is not None:
            os.close(self._users)
            self._users = None


@contextlib.contextmanager
def _alone(cluster: Cluster, timeout_s: float) -> Iterator[int]:
    """Hold the lock for starting and stopping the server; yields its descriptor."""
    try:
        lock = file_locks.hold(cluster.directory / "lock", timeout_s=timeout_s)
    except TimeoutError:
        raise ServerError(
            f"another process has been starting or stopping the server in {cluster.directory} "
            f"for {timeout_s:.0f} seconds: end it and try again"
        ) from None
    except PermissionError:
        raise ServerError(
            f"{cluster.directory} belongs to another user: set CROSSCORPUS_HOME to a directory "
            "of your own"
        ) from None
    try:
        yield lock
    finally:
        os.close(lock)


def _address(dsn: str) -> tuple[object, object]:
    parts = conninfo_to_dict(dsn)
    return parts.get("host"), str(parts.get("port") or DEFAULT_PORT)
