"""Imports Hamilton without Pandas, which its result builders use, and without extensions.

Importing either takes longer than a query. A user's own nodes get them: Pandas at its first use,
the extensions from ``own_modules``.
"""

import importlib
import sys
from types import ModuleType
from typing import Any, ForwardRef


def import_hamilton() -> None:
    """Import Hamilton's driver without both, unless it or Pandas is already imported."""
    if sys.modules.keys() & {"pandas", "hamilton.base"}:
        return
    later = [_Later(f"pandas{name}") for name in ("", ".core.indexes", ".core.indexes.extension")]
    vars(later[1])["extension"] = later[2]
    sys.modules.update((module.__name__, module) for module in later)
    try:
        from hamilton import registry

        known, registry.INITIALIZED = registry.INITIALIZED, True
        importlib.import_module("hamilton.driver")
        registry.INITIALIZED = known
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise
        for name in [one for one in sys.modules if one.partition(".")[0] == "hamilton"]:
            del sys.modules[name]  # with Pandas it does more: whoever imports it gets both
    finally:
        for module in later:
            del sys.modules[module.__name__]


class _Later(ModuleType):
    """A module that is imported at its first use; a type annotation does not import it."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is not self:
            return getattr(importlib.import_module(self.__name__), name)
        if name.startswith("__"):
            raise AttributeError(name)
        return ForwardRef(f"pd.{name}")
