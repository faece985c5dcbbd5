"""One choice of a configuration by its name, as an experiment varies it.

A name is a parameter (``rrf_k``) or a stage, whose value is a variant (``merged``), wherever the
graph has it; or that of one corpus (``code.vector_weight``).
"""

from collections.abc import Mapping
from typing import Any

from dataflow.configuration.catalog import Catalog, Layer
from dataflow.configuration.config_model import Config
from operators.errors import UnknownName, check_known, suggest


def with_setting(config: Config, name: str, value: Any) -> Config:
    """``config`` with one parameter or variant set, in every place that the name stands for.

    Args:
        config: what is changed; it stays as it is.
        name: ``parameter``, ``stage``, ``corpus.parameter`` or ``corpus.stage``. Without a corpus,
            a corpus's own value gives way too.
        value: of the parameter's type, or a variant's name.

    Raises:
        UnknownName: no stage or parameter has the name.
        ConfigError: the value is of another type, or no variant.
    """
    catalog = config.catalog
    corpus, _, key = name.rpartition(".")
    if corpus:
        check_known("corpus", corpus, config.corpora)
        kind = _kind(catalog.corpus, key, name, catalog)
        return config.with_changes({"corpora": {corpus: {kind: {key: value}}}})
    changes: dict[str, Any] = {}
    if _has(catalog.top, key):
        changes[_kind(catalog.top, key, name, catalog)] = {key: value}
    if _has(catalog.corpus, key) or not changes:
        kind = _kind(catalog.corpus, key, name, catalog)
        own = [c for c, options in config.corpora.items() if key in getattr(options, kind)]
        changes["corpus_defaults"] = {kind: {key: value}}
        changes["corpora"] = {c: {kind: {key: value}} for c in own}
    return config.with_changes(changes)


def with_settings(config: Config, settings: Mapping[str, Any]) -> Config:
    """``config`` with several set, one after the other."""
    for name, value in settings.items():
        config = with_setting(config, name, value)
    return config


def _has(layer: Layer, key: str) -> bool:
    return key in layer.parameters or key in layer.variants


def _kind(layer: Layer, key: str, name: str, catalog: Catalog) -> str:
    if not _has(layer, key):
        known = {k for one in (catalog.top, catalog.corpus) for k in one.parameters | one.variants}
        raise UnknownName(f"no parameter or stage {name!r}{suggest(key, known)}")
    return "variants" if key in layer.variants else "parameters"
