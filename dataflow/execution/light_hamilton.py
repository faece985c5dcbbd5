"""Hamilton without what a single question has no use for: Pandas, and Hamilton's extensions.

Hamilton imports Pandas for its result builders, and an extension for every library that it finds;
both take longer than a question. A user's own nodes still get them: Pandas at the first use, the
extensions from ``own_modules``.
"""

import importlib
import sys
from types import ModuleType
from typing import Any, ForwardRef


def import_hamilton() -> None:
    """Import Hamilton's driver; where Pandas is imported already, with all that belongs to it."""
    if sys.modules.keys() & {"pandas", "hamilton.base"}:
        return
    names = ("pandas", "pandas.core.indexes", "pandas.core.indexes.extension")
    later = {name: _Later(name) for name in names}
    vars(later[names[1]])["extension"] = later[names[2]]
    sys.modules.update(later)
    try:
        from hamilton import registry

        known, registry.INITIALIZED = registry.INITIALIZED, True
        importlib.import_module("hamilton.driver")
        registry.INITIALIZED = known
    except Exception:  # this Hamilton does more with Pandas: who needs it imports both
        for name in [one for one in sys.modules if one.partition(".")[0] == "hamilton"]:
            del sys.modules[name]
    finally:
        for name in names:
            del sys.modules[name]


class _Later(ModuleType):
    """A module that is imported when it is used; what annotations name is no use."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is not self:
            return getattr(importlib.import_module(self.__name__), name)
        if name.startswith("__"):
            raise AttributeError(name)
        return ForwardRef(f"pd.{name}")
