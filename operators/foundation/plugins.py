"""Plugins of other packages: objects that they register under a name as entry points.

A package names them in its ``pyproject.toml``, in a group of entry points: ``crosscorpus.nodes``,
``crosscorpus.sources``, ``crosscorpus.embedders`` or ``crosscorpus.rerankers``. Nothing of a
package is imported before a configuration or a command names it.
"""

import importlib
from importlib.metadata import entry_points
from typing import Any

from operators.errors import CrosscorpusError


def plugin(group: str, name: str) -> Any:
    """The object that an installed package registers as ``name`` in ``group``, or None.

    Raises:
        CrosscorpusError: it does not import, or several packages have it; names them.
    """
    entries = list(entry_points(group=f"crosscorpus.{group}", name=name))
    homes = [one.dist.name if one.dist else one.module for one in entries]
    if len(entries) > 1:
        raise CrosscorpusError(f"several packages have {group} {name!r}: {', '.join(homes)}")
    if not entries:
        return None
    try:
        return entries[0].load()
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise CrosscorpusError(f"{name!r} of {homes[0]} does not import: {what}") from error


def own_object(group: str, name: str) -> Any:
    """The object at ``python:MODULE:OBJECT``, or that a package registers as ``name``, or None.

    Raises:
        CrosscorpusError: there is no such module or object, or it does not import.
    """
    kind, _, rest = name.partition(":")
    if kind != "python":
        return plugin(group, name)
    module, _, attribute = rest.rpartition(":")
    if not module:
        return None
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise CrosscorpusError(f"{name}: {error}") from error


def plugin_names(group: str) -> list[str]:
    """The names that installed packages register in a group, sorted."""
    return sorted({one.name for one in entry_points(group=f"crosscorpus.{group}")})
