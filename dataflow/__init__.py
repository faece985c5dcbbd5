"""What happens: the Hamilton graphs of crosscorpus and what runs them.

>>> from dataflow import build_driver, load_config
>>> load_config("default").embedding
'minilm'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataflow.configuration.config_model import Config, load_config
    from dataflow.driver.answer import Answer, Passage
    from dataflow.driver.retrieval_driver import RetrievalDriver, build_driver

__all__ = ["Answer", "Config", "Passage", "RetrievalDriver", "build_driver", "load_config"]

_HOMES = {
    "dataflow.configuration.config_model": ("Config", "load_config"),
    "dataflow.driver.answer": ("Answer", "Passage"),
    "dataflow.driver.retrieval_driver": ("RetrievalDriver", "build_driver"),
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that ``crosscorpus --help`` need not load Hamilton and Polars."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
