"""One setting of a configuration by name, for experiments.

A name is a parameter (``rrf_k``) or a stage, whose value is a variant (``merged``), for every
corpus that has it; or that of one corpus (``code.vector_weight``); or the weight of a corpus for a
trigger (``code.weights.question``); or a rule of the order, whose value is its weight
(``by_commits`` or ``signal_weights.by_commits``).
"""

from collections.abc import Mapping
from typing import Any

from dataflow.configuration.catalog import Layer
from dataflow.configuration.config_model import Config
from operators.errors import UnknownName, check_known, suggest
from operators.signals.shipped import RULES


def with_setting(config: Config, name: str, value: Any) -> Config:
    """``config`` with one parameter or variant set, in every place where the name occurs.

    Args:
        config: the base; it is not changed.
        name: ``parameter``, ``stage``, ``corpus.parameter``, ``corpus.stage``,
            ``corpus.weights.trigger`` or ``rule``. Without a corpus, it also replaces the corpora's
            own values.
        value: of the parameter's type, or a variant's name.

    Raises:
        UnknownName: no stage or parameter has the name.
        ConfigError: the value is of another type, or no variant.
    """
    return config.with_changes(setting_changes(config, name, value))


def setting_changes(config: Config, name: str, value: Any) -> dict[str, Any]:
    """The changes of :func:`with_setting`, nested as in a configuration file."""
    name = name.removeprefix("signal_weights.")
    if name in (rules := {**RULES, **config.catalog.rules}):
        return {"parameters": {"signal_weights": {name: value}}}
    corpus, weights, trigger = name.partition(".weights.")
    if weights:
        check_known("corpus", corpus, config.corpora)
        return {"corpora": {corpus: {"weights": {trigger: value}}}}
    corpus, _, key = name.rpartition(".")
    if corpus:
        check_known("corpus", corpus, config.corpora)
    layers = (config.catalog.top, config.catalog.corpus)
    around, inside = (_kind(layer, key) for layer in layers)
    if not inside and (corpus or not around):
        known = {*rules, *(k for layer in layers for k in layer.parameters | layer.variants)}
        raise UnknownName(f"no parameter or stage {name!r}{suggest(key, known)}")
    changes: dict[str, Any] = {around: {key: value}} if around and not corpus else {}
    if inside:
        every = config.corpora.items()
        own = [corpus] if corpus else [c for c, one in every if key in getattr(one, inside)]
        changes["corpora"] = {c: {inside: {key: value}} for c in own}
        changes |= {} if corpus else {"corpus_defaults": {inside: {key: value}}}
    return changes


def with_settings(config: Config, settings: Mapping[str, Any]) -> Config:
    """``config`` with several settings, applied in order."""
    for name, value in settings.items():
        config = with_setting(config, name, value)
    return config


def _kind(layer: Layer, key: str) -> str | None:
    """The attribute of ``layer`` that contains the name ``key``; None: neither."""
    return next((one for one in ("variants", "parameters") if key in getattr(layer, one)), None)
