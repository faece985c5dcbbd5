"""Before a run: the names that a source fills are its own, and its web address is as before."""

from __future__ import annotations

from operators.postgres.store import Store
from operators.postgres.write.source_ownership import owner_key, take_ownership
from operators.postgres.write.sync_state import save_items, sync_value
from operators.sources.protocol import Source

_NAME = "base_url"


def claimed(store: Store, source: Source, *, moved: bool = False) -> Source:
    """``source``, with the web address that an earlier run was given where this one has none.

    Args:
        store: the open collection; it keeps the address.
        source: what to read.
        moved: see :func:`operators.postgres.write.source_ownership.take_ownership`.

    Raises:
        CrosscorpusError: its name is another source's.
    """
    take_ownership(store, source.reader, source.scopes or (), source.addresses, moved=moved)
    if source.based is None or not source.scopes:
        return source
    owner = owner_key(source.reader, *source.scopes[0])
    before: str | None = sync_value(store, owner, _NAME).get("url")
    if source.base_url is None:
        return source.based(before) if before else source
    if source.base_url != before:
        save_items(store, owner, [], {_NAME: {"url": source.base_url}})
    return source
