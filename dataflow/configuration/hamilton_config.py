"""The Hamilton config of the retrieval graph: a configuration with all defaults filled in."""

from collections.abc import Mapping
from typing import Any

from dataflow.configuration.catalog import Layer
from dataflow.configuration.config_model import Config
from dataflow.configuration.own_modules import shown_name


def hamilton_config(config: Config) -> dict[str, Any]:
    """The Hamilton config of the retrieval graph.

    Returns:
        ``<stage>_variant`` for every stage around the corpora, every parameter by its name,
        ``source_weights`` (corpus -> trigger -> weight), ``triggers``, ``languages``,
        ``embedding``, ``reranker_model`` and ``corpora``: for each corpus, by name, the ``config``
        (``<stage>_variant``) and the ``inputs`` (every parameter, ``corpus``, ``label``, ``link``,
        ``filters`` and ``deadline_s``) of its sub-graph. Corpora are in alphabetical order, so that
        the order in a file changes no result. For the provenance: ``chosen_variants``,
        ``top_parameters`` (names) and ``own_modules`` (their version or hash by name).
    """
    catalog, defaults = config.catalog, config.corpus_defaults
    parameters = _filled(catalog.top, config.parameters)
    entries = dict(sorted(config.corpora.items()))
    corpora = {}
    for name, own in entries.items():
        variants = {**defaults.variants, **own.variants}
        inputs = _filled(catalog.corpus, {**defaults.parameters, **own.parameters})
        corpora[name] = {
            "config": {
                "merged_variant": config.variants.get("merged"),
                **{f"{node}_variant": variant for node, variant in sorted(variants.items())},
            },
            "inputs": {
                **inputs,
                "corpus": name,
                "label": own.label,
                "link": own.link,
                "filters": own.filters.model_dump(exclude_none=True),
                "deadline_s": config.deadline_of(name),
            },
        }
    return {
        "hamilton.enable_power_user_mode": True,
        **{f"{node}_variant": variant for node, variant in sorted(config.variants.items())},
        **parameters,
        "chosen_variants": dict(sorted(config.variants.items())),
        "languages": dict(config.languages),
        "top_parameters": [*parameters, "languages"],
        "corpus_modules": catalog.inside,
        "own_modules": {shown_name(name): state for name, state in catalog.own.items()},
        "own_rules": catalog.rules,
        "source_weights": {name: dict(own.weights) for name, own in entries.items()},
        "triggers": list(config.triggers),
        "embedding": config.embedding,
        "on_corpus_error": config.on_corpus_error,
        "reranker_model": config.reranker,
        "corpora": corpora,
    }


def corpora_with(config: Config, stage: str, variant: str) -> list[str]:
    """The corpora that run ``variant`` in ``stage``, sorted."""
    corpora = hamilton_config(config)["corpora"]
    return [n for n, own in corpora.items() if own["config"].get(f"{stage}_variant") == variant]


def _filled(layer: Layer, values: Mapping[str, Any]) -> dict[str, Any]:
    """Every parameter of ``layer`` with its given value or its default, floats as floats."""
    filled = {}
    for name, parameter in sorted(layer.parameters.items()):
        value = values.get(name, parameter.default)
        is_float = parameter.annotation in (float, float | None)
        filled[name] = float(value) if is_float and type(value) is int else value
    return filled
