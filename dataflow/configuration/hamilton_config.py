"""The Hamilton config of the retrieval graph: a configuration with all defaults filled in."""

from collections.abc import Mapping
from typing import Any

from dataflow.configuration.catalog import Parameter
from dataflow.configuration.config_model import Config
from dataflow.configuration.own_modules import shown_name


def hamilton_config(config: Config) -> dict[str, Any]:
    """The Hamilton config of the retrieval graph.

    Returns:
        ``<stage>_variant`` for every stage, every parameter by its name, ``source_weights``
        (corpus -> trigger -> weight), ``triggers``, ``languages``, ``embedding``,
        ``reranker_model`` and ``corpora``: for each corpus, by name, the ``config``
        (``<stage>_variant``, where it has its own) and the ``inputs``: ``corpus``, ``label``,
        ``link``, ``filters``, ``deadline_s``, the parameters that the corpus sets and those of own
        nodes that every corpus has. Corpora are in alphabetical order, so that the order in a file
        changes no result. For the provenance: ``chosen_variants``, ``top_parameters`` (names) and
        ``own_modules`` (their version or hash by name).
    """
    catalog, defaults = config.catalog, config.corpus_defaults
    top, chosen = catalog.top, {**defaults.variants, **config.variants}
    parameters = _filled(top.parameters, config.parameters)
    parameters |= _filled(top.of_corpora, defaults.parameters)
    entries = dict(sorted(config.corpora.items()))
    corpora = {}
    for name, own in entries.items():
        variants = {**defaults.variants, **own.variants}
        variants = {n: of for n, of in variants.items() if n in {**own.variants, **top.variants}}
        known = {
            n: parameter
            for n, parameter in catalog.corpus.parameters.items()
            if n in own.parameters or n not in top.of_corpora
        }
        inputs = _filled(known, {**defaults.parameters, **own.parameters})
        corpora[name] = {
            "config": {f"{node}_variant": variant for node, variant in sorted(variants.items())},
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
        **{f"{node}_variant": variant for node, variant in sorted(chosen.items())},
        **parameters,
        "chosen_variants": dict(sorted(chosen.items())),
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


def in_corpus(built: Mapping[str, Any], corpus: str, parameter: str) -> Any:
    """The value of a parameter in a corpus of a :func:`hamilton_config`: its own or that of all."""
    return built["corpora"][corpus]["inputs"].get(parameter, built[parameter])


def corpora_with(config: Config, stage: str, variant: str) -> list[str]:
    """The corpora that run ``variant`` in ``stage``, sorted."""
    usual = config.corpus_defaults.variants.get(stage)
    corpora = sorted(config.corpora.items())
    return [name for name, own in corpora if own.variants.get(stage, usual) == variant]


def _filled(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> dict[str, Any]:
    """Every parameter with its given value or its default, floats as floats."""
    filled = {}
    for name, parameter in sorted(parameters.items()):
        value = values.get(name, parameter.default)
        is_float = parameter.annotation in (float, float | None)
        filled[name] = float(value) if is_float and type(value) is int else value
    return filled
