"""Further collections of a configuration, besides the driver's own, each with its model.

For example, code can have a model for code, and one query can search the collections of several
teams: a corpus names its collection. Query texts are embedded once per vector space.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from dataflow.execution.built_graph import GraphError

if TYPE_CHECKING:
    from dataflow.configuration.config_model import Config
    from operators.embedding.protocol import Embedder
    from operators.postgres.store import Home, Store


def open_others(
    config: Config, own: Store, embedder: Embedder, opened: ExitStack
) -> tuple[dict[str, Store], dict[str, Embedder]]:
    """The other collections of ``config`` by name, and the models of other vector spaces by space.

    Args:
        own: the driver's collection; the others are on its server.
        embedder: its model, that of ``config.embedding``.
        opened: closes them.

    Raises:
        UnknownName: there is no such collection.
        ModelMismatch: a collection was made with another model.
    """
    from operators.embedding.registry import load_embedder
    from operators.postgres.store import open_store

    models = {config.embedding: embedder}
    others = {}
    for name, model in config.other_collections.items():
        if name != own.collection:
            if model not in models:
                models[model] = load_embedder(model)
            other = open_store(own.dsn, name, max_size=config.workers)
            others[name] = with_model(opened.enter_context(other), models[model])
    return others, {one.space: one for one in models.values() if one.space != embedder.space}


def with_model(store: Store, embedder: Embedder) -> Store:
    """``store`` for vectors of ``embedder``; ``ModelMismatch`` if it has vectors of another model.

    If the collection's database node is down, the search reports it.
    """
    from operators.postgres.errors import DatabaseError
    from operators.postgres.store import collection_info, mismatch

    store.forget_info()
    try:
        info = collection_info(store)
    except DatabaseError as error:
        if error.kind != "node_away":
            raise
        return store.embedding_in(embedder.space)
    stored = (info.model, info.space, info.dimensions)
    given = (embedder.model, embedder.space, embedder.dimensions)
    if info.space is not None and stored[1:] != given[1:]:
        raise mismatch(store.collection, stored, given)
    return store.embedding_in(embedder.space)


def homes_of(config: Config, own: Store, others: Mapping[str, Store]) -> dict[str, Home]:
    """The collection of each corpus of ``config``, by corpus name.

    Raises:
        GraphError: a collection is not open, or two corpora are the same.
    """
    from operators.postgres.store import Home

    homes: dict[str, Home] = {}
    names: dict[tuple[str, str], str] = {}
    for name, options in sorted(config.corpora.items()):
        collection, corpus = options.collection or own.collection, options.corpus or name
        if collection != own.collection and collection not in others:
            raise GraphError(f"collection {collection!r} is not open: build another driver")
        if (same := names.setdefault((collection, corpus), name)) != name:
            raise GraphError(
                f"corpora {same!r} and {name!r} are both {corpus!r} of "
                f"collection {collection!r}: leave one out"
            )
        homes[name] = Home(others.get(collection, own), corpus)
    return homes
