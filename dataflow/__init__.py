"""What happens: the Hamilton graphs of crosscorpus and what runs them.

>>> from dataflow import build_driver, load_config
>>> load_config("default").embedding
'minilm'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataflow.runtime.config import Config, load_config
    from dataflow.runtime.driver import RetrievalDriver, build_driver

__all__ = ["Config", "RetrievalDriver", "build_driver", "load_config"]

_HOMES = {
    "Config": "dataflow.runtime.config",
    "RetrievalDriver": "dataflow.runtime.driver",
    "build_driver": "dataflow.runtime.driver",
    "load_config": "dataflow.runtime.config",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that ``crosscorpus --help`` need not load Hamilton and Polars."""
    import importlib

    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
