"""Addresses and connections that the caller's PG* environment variables cannot change."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg.conninfo import make_conninfo
from psycopg.pq import Conninfo

# All options of an address, so that no variable fills one in.
FIXED = {
    "user": "postgres",
    "dbname": "postgres",
    "hostaddr": "",
    "options": "",
    "sslmode": "disable",
    "sslnegotiation": "postgres",
    "sslcertmode": "disable",
    "sslrootcert": "",
    "ssl_min_protocol_version": "TLSv1.2",
    "ssl_max_protocol_version": "",
    "gssencmode": "disable",
    "channel_binding": "prefer",
    "target_session_attrs": "any",
    "load_balance_hosts": "disable",
    "require_auth": "none",
    "requirepeer": "",
    "client_encoding": "UTF8",
    "connect_timeout": "10",
    "application_name": "crosscorpus",
}
# libpq obeys these whatever the address says.
STUBBORN = ("PGSERVICE", "PGTZ", "PGDATESTYLE", "PGGEQO")

_changing = threading.Lock()


def complete_dsn(host: str, port: int) -> str:
    """Return an address that no environment variable completes; the client sends no password."""
    known = {option.keyword.decode() for option in Conninfo.get_defaults()}
    fixed = {name: value for name, value in FIXED.items() if name in known}
    return make_conninfo("", **fixed, host=host, port=port)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hide the variables that no address can override, while a connection opens."""
    if not any(name in os.environ for name in STUBBORN):
        yield
        return
    with _changing:
        hidden = {name: os.environ.pop(name) for name in STUBBORN if name in os.environ}
        try:
            yield
        finally:
            os.environ.update(hidden)
