"""The stages behind the searches, for a Hamilton graph of one's own with searches of its own.

>>> from hamilton import driver
>>> from crosscorpus import stages
>>> graph = (
...     driver.Builder()
...     .with_modules(*stages.MODULES)
...     .allow_module_overrides()
...     .with_config(stages.settings(fused="comb_sum"))
...     .build()
... )
>>> hits = [{"id": "a", "text": "The cache is flushed twice.", "score": 0.9}]
>>> asked = {"query": "why twice?", "found": {"words": hits}}
>>> graph.execute(["results"], inputs=asked)["results"]["document_id", "score"].rows()
[('a', 0.9)]
"""

from typing import Any

from crosscorpus.stages import own_hits
from dataflow.configuration.config_model import load_config
from dataflow.configuration.hamilton_config import hamilton_config
from dataflow.retrieval import assembly, fusion, queries

__all__ = ["MODULES", "assembly", "fusion", "own_hits", "queries", "settings"]

MODULES = (queries, fusion, assembly, own_hits)
"""The question, the fused and ordered list, the context, and the nodes that stand for a store."""

_WITHOUT_STORE = {
    **dict.fromkeys(("weighted", "relevant_hits", "whole_passages"), "off"),
    "fused": "rrf",
}


def settings(**variants: str) -> dict[str, Any]:
    """What ``Builder.with_config`` takes: the default configuration, without corpora.

    Args:
        variants: of stages, such as ``fused="comb_sum"`` or ``unique="jaccard"``.

    Raises:
        ConfigError: a stage or a variant that there is not.
    """
    changes = {"variants": {**_WITHOUT_STORE, **variants}}
    return {**hamilton_config(load_config("default").with_changes(changes)), "corpora": {}}
