"""The filters of a configuration as views of its collections: the only definition of visibility.

Searches get the filters from their graph. Everything else that reports documents, their versions,
sources or counts reads the collection through these views.
"""

from collections.abc import Mapping
from typing import Any

from dataflow.configuration.config_model import Config
from operators.postgres.store import Home


def visible_filters(config: Config) -> dict[str, dict[str, Any]]:
    """The filters of each corpus."""
    return {name: of.filters.model_dump(exclude_none=True) for name, of in config.corpora.items()}


def visible_homes(homes: Mapping[str, Home], config: Config) -> dict[str, Home]:
    """``homes``, each with a view of its collection restricted by the filters of ``config``."""
    filters, seen = visible_filters(config), dict[str, dict[str, Any]]()
    for name, (store, corpus) in homes.items():
        seen.setdefault(store.collection, {}).setdefault(corpus, filters[name])
    return {
        name: Home(store.showing({**seen[store.collection], corpus: filters[name]}), corpus)
        for name, (store, corpus) in homes.items()
    }
