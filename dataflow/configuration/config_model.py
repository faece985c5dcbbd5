"""The configuration: the variant of each stage, the parameters, and the corpora.

A YAML file is complete (``configs/default.yaml``) or extends another and contains only the
changes. An unknown name is an error that suggests the nearest known one; a value of a wrong type
is an error too. Configurations are printed, compared and drawn, so they never contain a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from keyword import iskeyword
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dataflow.configuration.catalog import (
    DRIVER_INPUTS,
    RUN_INPUTS,
    Catalog,
    Layer,
    retrieval_catalog,
)
from dataflow.configuration.loader import ConfigError, read_chain
from dataflow.configuration.value_checks import NotNegative, expectation, fits, out_of_bounds
from dataflow.execution.annotations import spell
from operators.context.templates import check_template
from operators.errors import CrosscorpusError, UnknownName, suggest
from operators.signals.order import check_weights
from operators.signals.shipped import RULES


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Filters(_Strict):
    """The searchable part of a corpus, for every query."""

    repos: list[str] | None = None
    path_prefix: str | None = None
    language: str | None = None
    state: str | None = None


class StageOptions(_Strict):
    """Variants and parameters of the stages that every corpus has."""

    variants: dict[str, str] = {}
    parameters: dict[str, Any] = {}


class CorpusConfig(StageOptions):
    """One corpus: labels, links and weights of its results, and its overrides.

    ``collection`` names its collection if that is not the driver's own, and ``corpus`` its name in
    it if that differs; ``embedding`` is that collection's model.
    """

    label: str = "{title}"
    link: str = "{uri}"
    collection: str | None = None
    corpus: str | None = None
    embedding: str | None = None
    weights: dict[str, NotNegative] = {}
    filters: Filters = Filters()
    deadline_s: float | None = Field(None, gt=0, allow_inf_nan=False)


class Config(_Strict):
    """A complete configuration of the retrieval graph."""

    embedding: str = "minilm"
    reranker: str | None = None
    on_corpus_error: Literal["skip", "raise"] = "skip"
    deadline_s: float | None = Field(5.0, gt=0, allow_inf_nan=False)
    workers: int = Field(8, ge=1, le=256)
    triggers: list[str] = []
    languages: dict[str, NotNegative] = {}
    modules: list[str] = []
    corpus_modules: list[str] = []
    variants: dict[str, str] = {}
    parameters: dict[str, Any] = {}
    corpus_defaults: StageOptions = StageOptions()
    collections: list[str] = []
    corpora: dict[str, CorpusConfig] = Field(min_length=1)

    @property
    def catalog(self) -> Catalog:
        """The available stages: the shipped ones, and those of the configuration's own modules."""
        return retrieval_catalog(self.modules, self.corpus_modules)

    @property
    def usual_trigger(self) -> str | None:
        """The default trigger of a query: ``question``, if the configuration has it."""
        return "question" if "question" in self.triggers else None

    @property
    def other_collections(self) -> dict[str, str]:
        """The collections of its corpora besides the driver's own, and the model of each."""
        named = [own for own in self.corpora.values() if own.collection]
        return {str(own.collection): own.embedding or self.embedding for own in named}

    def deadline_of(self, corpus: str) -> float | None:
        """The timeout of one search of ``corpus`` in seconds; None: no limit."""
        own = self.corpora[corpus].deadline_s if corpus in self.corpora else None
        return own if own is not None else self.deadline_s

    def with_changes(self, changes: Mapping[str, Any]) -> Config:
        """This configuration with ``changes`` merged in, checked like a file.

        The changes are nested like the YAML file, for instance ``{"parameters": {"top_k": 5}}``.
        """
        return check(merge(self.model_dump(exclude_unset=True), changes), "changes")


def load_config(source: str | Path | Mapping[str, Any] = "default") -> Config:
    """Read and check a configuration.

    Args:
        source: the name of a shipped configuration (``default``, ``rrf``, ...), the path of a YAML
            file, or the file's content as a mapping.

    Returns:
        The configuration merged with all files that it extends: mappings key by key; lists
        and single values replaced; a mapping set to null removed (``wiki: null`` under corpora).

    Raises:
        ConfigError: there is no such file, or a key, name or value in it is unknown or wrong.
    """
    merged: dict[str, Any] = {}
    chain = read_chain(source)
    for layer in chain:
        merged = merge(merged, layer.content)
    return check(merged, chain[-1].name)


def as_config(
    given: Config | str | Path | Mapping[str, Any], modules: Sequence[str | ModuleType] = ()
) -> Config:
    """``given``, or the result of :func:`load_config` for it, with ``modules`` besides its own."""
    names = [one if isinstance(one, str) else one.__name__ for one in modules]
    if not names:
        return given if isinstance(given, Config) else load_config(given)
    content = given.model_dump(exclude_unset=True) if isinstance(given, Config) else given
    if not isinstance(content, Mapping):
        content = {"extends": str(content)}
    chain = read_chain(content)
    before: list[list[str]] = [c.content["modules"] for c in chain if "modules" in c.content]
    return load_config({**content, "modules": [*(before or [[]])[-1], *names]})


def check(content: Mapping[str, Any], name: str) -> Config:
    """Turn a complete mapping into a :class:`Config`, or raise a one-line error."""
    if (entries := content.get("corpora")) and isinstance(entries, Mapping):
        _check_entries(entries, name)
        content = {**content, "corpora": _with_copies(entries, content.get("collections"))}
    try:
        config = Config.model_validate(_unquote_switches(content))
    except ValidationError as error:
        raise ConfigError(f"{name}: {_first_fault(error)}") from None
    try:
        check_names(config)
    except CrosscorpusError as error:
        raise ConfigError(f"{name}: {error}") from None
    return config


def _check_entries(entries: Mapping[str, Any], name: str) -> None:
    """Raise for a null that removes no entry, because there is none of that name."""
    known = [corpus for corpus, entry in entries.items() if entry is not None]
    for corpus in (one for one, entry in entries.items() if entry is None):
        raise ConfigError(
            f"{name}: corpora.{corpus} is null: a new corpus needs an entry, at least {{}}, and "
            f"null takes out one that there is{suggest(str(corpus), map(str, known))}"
        )


def _with_copies(entries: Mapping[str, Any], collections: Any) -> dict[str, Any]:
    """``entries``, and each of the driver's own corpora again for every further collection."""
    copies: dict[str, Any] = {}
    for collection in collections if isinstance(collections, list) else ():
        prefix = re.sub("[^a-z0-9]+", "_", str(collection).lower()).strip("_")
        for name, entry in entries.items():
            if isinstance(entry, Mapping) and not entry.get("collection"):
                origin = {"collection": collection, "corpus": name}
                copies[f"{prefix}_{name}"] = {**entry, **origin}
    return {**copies, **entries}


def check_names(config: Config) -> None:
    """Raise for an unknown variant, parameter, rule, corpus name or trigger in ``config``."""
    catalog = config.catalog
    _check_stages(config, catalog.top, catalog.corpus, "", "corpus_defaults.")
    _check_stages(config.corpus_defaults, catalog.corpus, catalog.top, "corpus_defaults.", "")
    _check_chosen(config.variants, catalog.top, "")
    weights, rules = config.parameters.get("signal_weights", {}), {**RULES, **catalog.rules}
    for name in weights:
        if name in catalog.top.functions and name not in rules:
            raise ConfigError(
                f"signal_weights: {name!r} is a node, not a rule: a rule has @factor, @gain or"
                " @lead of operators.signals.rule above its function"
            )
    check_weights(weights, rules)
    if config.reranker and config.variants.get("reranked") != "cross_encoder":
        raise ConfigError("reranker: only variants.reranked: cross_encoder asks one")
    for corpus, options in config.corpora.items():
        if fault := name_fault(corpus, catalog):
            raise ConfigError(f"corpora: {fault}; choose another")
        where = f"corpora.{corpus}."
        if (options.corpus or options.embedding) and not options.collection:
            raise ConfigError(f"{where}collection is missing: which one holds it?")
        _check_stages(options, catalog.corpus, catalog.top, where, "")
        chosen = {**config.corpus_defaults.variants, **options.variants}
        _check_chosen(chosen, catalog.corpus, where)
        for key, template in (("label", options.label), ("link", options.link)):
            try:
                check_template(template)
            except CrosscorpusError as error:
                raise ConfigError(f"{where}{key}: {error}") from None
        for trigger in options.weights:
            if trigger not in config.triggers:
                hint = suggest(trigger, config.triggers)
                raise UnknownName(f"unknown trigger {trigger!r} under {where}weights{hint}")


def name_fault(corpus: str, catalog: Catalog | None = None) -> str | None:
    """Why ``corpus`` can't be the name of a corpus; None: it can."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", corpus) or "__" in corpus or iskeyword(corpus):
        return (
            f"{corpus!r} is no corpus name: a lower-case letter, then at most 39 lower-case "
            "letters, digits or single underscores, and no word of Python's own"
        )
    if corpus in (catalog or retrieval_catalog()).top.nodes | DRIVER_INPUTS | RUN_INPUTS:
        return f"{corpus!r} is the name of a node"
    return None


def _check_stages(
    options: Config | StageOptions, layer: Layer, other: Layer, where: str, elsewhere: str
) -> None:
    unknown = {"variants": "no stage {!r} with variants,", "parameters": "unknown parameter {!r}"}
    for kind, template in unknown.items():
        known = getattr(layer, kind)
        for name in (one for one in getattr(options, kind) if one not in known):
            if name in getattr(other, kind):
                raise ConfigError(f"{where}{kind}.{name}: belongs under {elsewhere}{kind}")
            raise UnknownName(f"{template.format(name)} under {where}{kind}{suggest(name, known)}")
    for node, variant in options.variants.items():
        if variant not in layer.variants[node]:
            hint = suggest(variant, layer.variants[node])
            raise UnknownName(f"unknown variant {variant!r} of {where}variants.{node}{hint}")
    for name, value in options.parameters.items():
        annotation = layer.parameters[name].annotation
        if not fits(value, annotation):
            raise ConfigError(
                f"{where}parameters.{name}: expected {spell(annotation)}, got {value!r}"
            )
        if fault := out_of_bounds(name, value):
            raise ConfigError(f"{where}parameters.{name}: {fault}")


def _check_chosen(chosen: Mapping[str, str], layer: Layer, where: str) -> None:
    for node, variants in layer.variants.items():
        if node not in chosen and node not in layer.plain:
            options = ", ".join(variants)
            raise ConfigError(f"{where}variants.{node} is missing: choose one of {options}")


def merge(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with ``change`` merged in, mapping by mapping."""
    merged = dict(base)
    for key, value in change.items():
        if value is None and isinstance(merged.get(key), Mapping):
            del merged[key]
        elif isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = merge(merged[key], value)
        else:
            merged[key] = value
    return merged


def _unquote_switches(content: Any, key: str = "") -> Any:
    """Restore variants named ``off``: YAML reads a bare ``off`` as false."""
    if isinstance(content, Mapping):
        inside = {
            k: {False: "off", True: "on"}.get(v, v)
            if key == "variants" and type(v) is bool
            else _unquote_switches(v, str(k))
            for k, v in content.items()
        }
        return {str(k): v for k, v in inside.items()}
    return content


_MODELS: dict[tuple[str, ...], type[BaseModel]] = {
    (): Config,
    ("corpus_defaults",): StageOptions,
    ("corpora", "*"): CorpusConfig,
    ("corpora", "*", "filters"): Filters,
}
_SECRETS = ("dsn", "password", "token", "api_key", "secret")


def _first_fault(error: ValidationError) -> str:
    faults = error.errors(include_url=False)
    fault = faults[0]
    *parent, key = [str(part) for part in fault["loc"]] or [""]
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    where = f" under {'.'.join(parent)}" if parent else ""
    if fault["type"] == "extra_forbidden":
        if key.lower() in _SECRETS:
            return f"{key!r}{where}: no secret goes into a configuration; set CROSSCORPUS_DSN{more}"
        location = ("corpora", "*", *parent[2:]) if parent[:1] == ["corpora"] else tuple(parent)
        return f"unknown key {key!r}{where}{suggest(key, _MODELS[location].model_fields)}{more}"
    if fault["type"] == "missing":
        hint = (
            ": write `extends: default` to use the shipped ones"
            if fault["loc"] == ("corpora",)
            else ""
        )
        return f"{key!r}{where} is missing{hint}{more}"
    return f"{'.'.join([*parent, key])}: {expectation(fault)}{more}"
