"""The collection that a command only reads: on the server of questions, which may be late."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from operators.postgres.connection import resolve_dsn
from operators.postgres.replication import lateness
from operators.postgres.store import Store, open_store


@contextmanager
def open_to_read(collection: str) -> Iterator[Store]:
    """The open collection; a note on standard error says if a replica is late."""
    with open_store(resolve_dsn(reading=True), collection) as store:
        if said := lateness(store):
            typer.secho(f"note: {said}", fg="yellow", err=True)
        yield store
