"""Before a run: the source owns the names that it fills, and has the web address it had before."""

from operators.postgres.store import Store
from operators.postgres.write.source_ownership import owner_key, take_ownership
from operators.postgres.write.sync_state import save_items, sync_value
from operators.sources.protocol import Source

_NAME = "base_url"


def owned_source(store: Store, source: Source, *, relocated: bool = False) -> Source:
    """``source``; if it has no web address, with the one that an earlier run gave.

    Args:
        store: the open collection; it keeps the address.
        source: what to read.
        relocated: see :func:`operators.postgres.write.source_ownership.take_ownership`.

    Raises:
        CrosscorpusError: another source owns its name.
    """
    take_ownership(store, source.reader, source.scopes or (), source.addresses, relocated=relocated)
    if source.based is None or not source.scopes:
        return source
    owner = owner_key(source.reader, *source.scopes[0])
    before: str | None = sync_value(store, owner, _NAME).get("url")
    if source.base_url is None:
        return source.based(before) if before else source
    if source.base_url != before:
        save_items(store, owner, [], {_NAME: {"url": source.base_url}})
    return source
