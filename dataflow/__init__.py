"""What happens: the Hamilton graphs of crosscorpus and what runs them.

>>> from dataflow import build_driver, load_config
>>> load_config("default").embedding
'minilm'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataflow.configuration.config_model import Config, load_config
    from dataflow.driver.answer import Answer, Passage
    from dataflow.driver.retrieval_driver import RetrievalDriver, build_driver

__all__ = ["Answer", "Config", "Passage", "RetrievalDriver", "build_driver", "load_config"]

_HOMES = {
    "Answer": "dataflow.driver.answer",
    "Passage": "dataflow.driver.answer",
    "Config": "dataflow.configuration.config_model",
    "RetrievalDriver": "dataflow.driver.retrieval_driver",
    "build_driver": "dataflow.driver.retrieval_driver",
    "load_config": "dataflow.configuration.config_model",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that ``crosscorpus --help`` need not load Hamilton and Polars."""
    import importlib

    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
