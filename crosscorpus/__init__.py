"""The public names of crosscorpus: what a program imports, and nothing else.

The retrievers of other frameworks are modules beside it, such as ``crosscorpus.langchain``.

>>> import crosscorpus
>>> crosscorpus.load_config("default").embedding
'minilm'
"""

from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crosscorpus.lists import dedup, fuse, newest_first, pack
    from dataflow.configuration.config_model import Config, load_config
    from dataflow.configuration.loader import ConfigError
    from dataflow.driver.answer import Answer, Passage
    from dataflow.driver.retrieval_driver import RetrievalDriver, build_driver
    from dataflow.execution.built_graph import GraphError
    from dataflow.ingestion import sources
    from dataflow.ingestion.run import IngestReport
    from dataflow.ingestion.sources import ingest_into as ingest
    from operators.embedding.protocol import EmbeddingError
    from operators.errors import CrosscorpusError, SearchError, UnknownName
    from operators.postgres.errors import DatabaseError

__all__ = [
    "Answer",
    "Config",
    "ConfigError",
    "CrosscorpusError",
    "DatabaseError",
    "EmbeddingError",
    "GraphError",
    "IngestReport",
    "Passage",
    "RetrievalDriver",
    "SearchError",
    "UnknownName",
    "__version__",
    "build_driver",
    "dedup",
    "fuse",
    "ingest",
    "load_config",
    "newest_first",
    "pack",
    "sources",
]

__version__ = metadata.version("crosscorpus")

_HOMES = {
    "crosscorpus.lists": ("dedup", "fuse", "newest_first", "pack"),
    "dataflow.configuration.config_model": ("Config", "load_config"),
    "dataflow.configuration.loader": ("ConfigError",),
    "dataflow.driver.answer": ("Answer", "Passage"),
    "dataflow.driver.retrieval_driver": ("RetrievalDriver", "build_driver"),
    "dataflow.execution.built_graph": ("GraphError",),
    "dataflow.ingestion.run": ("IngestReport",),
    "operators.embedding.protocol": ("EmbeddingError",),
    "operators.errors": ("CrosscorpusError", "SearchError", "UnknownName"),
    "operators.postgres.errors": ("DatabaseError",),
}

for _name in ("dataflow", "operators"):
    _spec = find_spec(_name)
    _place = Path(_spec.origin).parent if _spec and _spec.origin else None
    if _place != Path(__file__).parents[1] / _name:
        raise ImportError(
            f"{_place} hides the package {_name!r} of crosscorpus: rename that folder, or run "
            "`python -P`, which does not look beside the script first"
        )


def __getattr__(name: str) -> Any:
    """Import on first use: Hamilton and Polars take a second."""
    if name in ("ingest", "sources"):
        module = import_module("dataflow.ingestion.sources")
        return module if name == "sources" else module.ingest_into
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
