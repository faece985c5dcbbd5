"""Addresses and connections that ignore the caller's PG* environment variables."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg.conninfo import make_conninfo
from psycopg.pq import Conninfo

# All options of an address, so that no variable sets one.
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
# libpq applies these whatever the address contains.
STUBBORN = ("PGSERVICE", "PGTZ", "PGDATESTYLE", "PGGEQO")

_changing = threading.Lock()


def complete_dsn(host: str, port: int) -> str:
    """Return an address that sets every option, with no password to send."""
    known = {option.keyword.decode() for option in Conninfo.get_defaults()}
    fixed = {name: value for name, value in FIXED.items() if name in known}
    return make_conninfo("", **fixed, host=host, port=port)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Unset the variables that no address can override, while a connection opens."""
    if not any(name in os.environ for name in STUBBORN):
        yield
        return
    with _changing:
        hidden = {name: os.environ.pop(name) for name in STUBBORN if name in os.environ}
        try:
            yield
        finally:
            os.environ.update(hidden)
