"""A user's own nodes: modules that a configuration names, imported and checked like ours.

A function ``NODE__NAME`` is the variant ``NAME`` of a shipped or own node, and a configuration
chooses it. So a shipped node is never replaced by accident, and the configuration, its errors, a
diff and the provenance show every replacement. A function with another new name is a new node.
Only modules that a configuration names are imported.
"""

import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
import typing
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from hamilton import registry
from hamilton.function_modifiers import config
from hamilton.function_modifiers.base import NodeResolver
from hamilton.graph_utils import find_functions

from dataflow.configuration.loader import ConfigError
from dataflow.execution.annotations import spell
from operators.signals.rule import Rule
from operators.signals.shipped import RULES

_FILE_PREFIX = "own_nodes_"


def own_module(name: str) -> ModuleType:
    """The module ``name``: a dotted name, or a path of a ``.py``.

    A file is read again when it has changed.

    Raises:
        ConfigError: there is no such module, or it does not import (says where and why).
    """
    if name.endswith(".py") and not Path(name).is_file():
        raise ConfigError(f"modules: there is no file {name}")
    if not registry.INITIALIZED:  # see light_hamilton
        registry.initialize()
    try:
        is_file = name.endswith(".py")
        module = _file_module(Path(name)) if is_file else importlib.import_module(name)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = len(frames) > 1 and not frames[-1].filename.startswith("<frozen")
        location = f" ({frames[-1].filename} line {frames[-1].lineno})" if own else ""
        if isinstance(error, SyntaxError):
            location = f" ({error.filename} line {error.lineno})"
        what = f"{type(error).__name__}: {error}"
        raise ConfigError(f"modules: {name} does not import: {what}{location}") from error
    return module


def variant_of(function: Any, name: str) -> tuple[str, str]:
    """The node and the variant in a function's name; no variant: ``""``.

    A function ``NODE__NAME`` without ``@config.when`` gets the one for its name.
    """
    node, _, variant = name.partition("__")
    if variant and not config_keys(function):
        config.when(**{f"{node}_variant": variant})(function)
    return node, variant


def config_keys(function: Any) -> set[str]:
    """The keys that its ``@config.when`` reads; a stage may depend on another stage's variant."""
    resolvers = getattr(function, NodeResolver.get_lifecycle_name(), [])
    return {key for resolver in resolvers for key in resolver.optional_config() or ()}


def check_functions(
    modules: Sequence[ModuleType], ours: Mapping[str, Any], variants: Mapping[str, Sequence[str]]
) -> None:
    """Raise unless the modules' functions fit ``ours``, the functions by node, and each other.

    Raises:
        ConfigError: a function has the name of a shipped node or variant or of another module's, no
            return type, or another type than the node whose variant it is.
    """
    homes: dict[str, str] = {}
    for module, name, function in ((m, *one) for m in modules for one in find_functions(m)):
        home = shown_name(module.__name__)
        where = f"{home}: {name}"
        node, variant = variant_of(function, name)
        if homes.setdefault(name, home) != home:
            raise ConfigError(f"{where}: {homes[name]} has that name too: choose another")
        if variant in variants.get(node, ()):
            raise ConfigError(f"{where}: is a variant of ours: choose another name behind __")
        if not variant and node in ours:
            raise ConfigError(
                f"{where}: {node!r} is a node of ours: call yours {node}__NAME and choose it, "
                f"variants: {{{node}: NAME}}"
            )
        hints = typing.get_type_hints(function)
        untyped = [one for one in [*inspect.signature(function).parameters] if one not in hints]
        if untyped or "return" not in hints:
            form = f"{untyped[0]!r} a type: {untyped[0]}: pl.DataFrame" if untyped else ""
            raise ConfigError(f"{where}: give {form or 'what it returns a type: -> pl.DataFrame'}")
        expected = typing.get_type_hints(ours[node]).get("return") if node in ours else None
        if expected is not None and hints["return"] != expected:
            actual, wanted = spell(hints["return"]), spell(expected)
            raise ConfigError(f"{where}: returns {actual}, and {node!r} is a {wanted}")


def own_rules(modules: Sequence[ModuleType]) -> dict[str, Rule]:
    """The rules of the order that the modules define, by name.

    Raises:
        ConfigError: two rules have one name, or one has that of a shipped rule.
    """
    rules: dict[str, Rule] = {}
    for module in modules:
        for rule in vars(module).values():
            if isinstance(rule, Rule) and rule.function.__module__ == module.__name__:
                if rule.name in RULES or rule.name in rules:
                    home = shown_name(module.__name__)
                    raise ConfigError(f"{home}: there is a rule {rule.name!r}: choose another name")
                rules[rule.name] = rule
    return rules


def origin(module: ModuleType) -> str:
    """The version of a module: that of its distribution, else a hash of its file."""
    top = module.__name__.partition(".")[0]
    if not top.startswith(_FILE_PREFIX):
        for distribution in metadata.packages_distributions().get(top, ()):
            return f"{distribution} {metadata.version(distribution)}"
    file = getattr(module, "__file__", None)
    return f"sha256 {_digest(Path(file))}" if file and Path(file).is_file() else "unknown"


def shown_name(module: str) -> str:
    """The name of a module for its user: its dotted name, or its file name."""
    return f"{module.rpartition('.')[2]}.py" if module.startswith(_FILE_PREFIX) else module


def _file_module(path: Path) -> ModuleType:
    name = f"{_FILE_PREFIX}{_digest(path)}.{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Hamilton looks a function's module up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _digest(path: Path) -> str:
    return hashlib.sha256(str(path).encode() + path.read_bytes()).hexdigest()[:12]
