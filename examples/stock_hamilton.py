"""The retrieval graph built and run by Hamilton alone: its own `Builder`, its own executor.

    python examples/stock_hamilton.py COLLECTION "why is the cache flushed?"

`crosscorpus.build_driver` adds what a service needs: deadlines, other corpora that answer when one
fails, searches at the same time, and errors that name what is wrong. The nodes are the same.
"""

import importlib
import sys
from typing import Any

import polars as pl
from hamilton import driver

from dataflow import load_config
from dataflow.configuration.catalog import MODULES
from dataflow.configuration.hamilton_config import hamilton_config
from dataflow.driver.other_collections import homes_of
from operators.embedding.registry import load_embedder
from operators.postgres.connection import resolve_dsn
from operators.postgres.store import open_store

FRAMES = ["normalized", "merged", "fused", "unique", "results", "packed", "citations"]


def answer(collection: str, question: str, wanted: list[str] = FRAMES) -> dict[str, pl.DataFrame]:
    """The values of the nodes ``wanted``, by their names."""
    config = load_config("default")
    modules = [importlib.import_module(name) for name in MODULES]
    graph = driver.Builder().with_modules(*modules).with_config(hamilton_config(config)).build()
    with open_store(resolve_dsn(reading=True), collection) as store:
        inputs: dict[str, Any] = {"query": question, "trigger": "question", "other_embedders": {}}
        inputs |= {
            "homes": homes_of(config, store, {}),
            "embedder": load_embedder(config.embedding),
        }
        found: dict[str, pl.DataFrame] = graph.execute(wanted, inputs=inputs)
    return found


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("give a collection and a question")
    print(answer(*sys.argv[1:])["results"]["rank", "source_label", "score"])
